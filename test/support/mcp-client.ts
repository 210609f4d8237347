/** The SDK's own client, on `stopgate mcp`, on the service's `/mcp`, or on a server in this process. */
import { PassThrough } from 'node:stream';
import {
  Client,
  type ClientOptions,
  InMemoryTransport,
  ReadBuffer,
  StreamableHTTPClientTransport,
  serializeMessage,
  type Transport,
} from '@modelcontextprotocol/client';
import type { Server } from '@modelcontextprotocol/server';
import { startCommand } from './command.ts';

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

const latest = '2026-07-28';

/** A client that speaks one version of the protocol: the new one without a handshake, or an older one with it. */
const speaking = (version: string): ClientOptions =>
  version === latest
    ? { versionNegotiation: { mode: { pin: version } } }
    : { supportedProtocolVersions: [version], versionNegotiation: { mode: 'legacy' } };

export const openStdioClient = (args: readonly string[], cwd: string, version = latest): Promise<McpClient> =>
  open(openPipe(args, cwd), version);

/** A transport over a command's stdin and stdout. */
function openPipe(args: readonly string[], cwd: string): Transport {
  const stdin = new PassThrough();
  const buffer = new ReadBuffer();
  const onStdout = (text: string) => {
    buffer.append(Buffer.from(text));
    for (let message = buffer.readMessage(); message !== null; message = buffer.readMessage())
      transport.onmessage?.(message);
  };
  const command = startCommand(['mcp', ...args], { cwd, stdin, onStdout });
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

export const openHttpClient = (
  url: string,
  headers: Record<string, string> = {},
  version = latest,
): Promise<McpClient> => open(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }), version);

/** On a server in this process. The new protocol has no handshake, so only an older one can begin here. */
export async function openServerClient(server: Server): Promise<McpClient> {
  const [ours, theirs] = InMemoryTransport.createLinkedPair();
  await server.connect(theirs);
  return open(ours, '2025-11-25');
}

async function open(transport: Transport, version: string): Promise<McpClient> {
  const client = new Client({ name: 'test', version: '1' }, speaking(version));
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
