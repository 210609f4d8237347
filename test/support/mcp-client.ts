/** The SDK's own client, on `stopgate mcp`, on the service's `/mcp`, or on a server in this process. */
import { PassThrough } from 'node:stream';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js';
import type { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { ReadBuffer, serializeMessage } from '@modelcontextprotocol/sdk/shared/stdio.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { type StartCommand, startCommand } from './command.ts';

export type ToolAnswer = {
  readonly isError: boolean;
  readonly text: string;
  /** The structured content; `{}` of an error. */
  readonly data: Record<string, unknown>;
};
export type McpClient = {
  readonly client: Client;
  call(tool: string, input?: object): Promise<ToolAnswer>;
  /** Its data. @throws Error where the tool says one */
  ok(tool: string, input?: object): Promise<Record<string, unknown>>;
  close(): Promise<void>;
};

/** @param start where the command runs; default: in this process */
export const openStdioClient = (args: readonly string[], cwd: string, start = startCommand): Promise<McpClient> =>
  open(openPipe(args, cwd, start));

/** A transport over a command's stdin and stdout. */
function openPipe(args: readonly string[], cwd: string, start: StartCommand): Transport {
  const stdin = new PassThrough();
  const buffer = new ReadBuffer();
  const onStdout = (text: string) => {
    buffer.append(Buffer.from(text));
    for (let message = buffer.readMessage(); message !== null; message = buffer.readMessage())
      transport.onmessage?.(message);
  };
  const command = start(['mcp', ...args], { cwd, stdin, onStdout });
  const transport: Transport = {
    start: async () => undefined,
    async send(message) {
      stdin.write(serializeMessage(message));
    },
    async close() {
      stdin.end();
      await command.ended;
      transport.onclose?.();
    },
  };
  return transport;
}

export const openHttpClient = (url: string, headers: Record<string, string> = {}): Promise<McpClient> =>
  // Its type says `sessionId: string | undefined`, the interface `sessionId?: string`.
  open(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }) as Transport);

/** On a server in this process. */
export async function openServerClient(server: McpServer): Promise<McpClient> {
  const [ours, theirs] = InMemoryTransport.createLinkedPair();
  await server.connect(theirs);
  return open(ours);
}

async function open(transport: Transport): Promise<McpClient> {
  const client = new Client({ name: 'test', version: '1' });
  await client.connect(transport);
  // The client checks what comes against the output schemas that it has listed.
  await client.listTools();
  const call = async (tool: string, input: object = {}): Promise<ToolAnswer> => {
    const result = await client.callTool({ name: tool, arguments: { ...input } });
    const content = result.content as { type: string; text: string }[];
    const data = (result.structuredContent ?? {}) as Record<string, unknown>;
    return { isError: result.isError === true, text: content.map((it) => it.text).join('\n'), data };
  };
  return {
    client,
    call,
    async ok(tool, input) {
      const answer = await call(tool, input);
      if (answer.isError) throw new Error(`${tool}: ${answer.text}`);
      return answer.data;
    },
    close: () => client.close(),
  };
}
