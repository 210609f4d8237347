/** The SDK's client, connected to `stopgate mcp`, the service's `/mcp`, or a server in this process. */
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
  /** The structured content, or `{}` for an error. */
  readonly data: Record<string, unknown>;
};
export type McpClient = {
  readonly client: Client;
  call(tool: string, input?: object): Promise<ToolAnswer>;
  /** The tool's data. @throws Error if the tool returns an error */
  ok(tool: string, input?: object): Promise<Record<string, unknown>>;
  close(): Promise<void>;
};

const latest = '2026-07-28';

/** A client for one protocol version: the new one has no handshake, older ones do. */
const speaking = (version: string): ClientOptions =>
  version === latest
    ? { versionNegotiation: { mode: { pin: version } } }
    : { supportedProtocolVersions: [version], versionNegotiation: { mode: 'legacy' } };

export const openStdioClient = (args: readonly string[], cwd: string, version = latest): Promise<McpClient> =>
  open(openPipe(args, cwd), version);

/** A transport over stdin and stdout of a command. */
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

/** Connects to a server in this process, with an older protocol version because the new one has no handshake. */
export async function openServerClient(server: Server): Promise<McpClient> {
  const [ours, theirs] = InMemoryTransport.createLinkedPair();
  await server.connect(theirs);
  return open(ours, '2025-11-25');
}

async function open(transport: Transport, version: string): Promise<McpClient> {
  const client = new Client({ name: 'test', version: '1' }, speaking(version));
  await client.connect(transport);
  // The client validates results against the listed output schemas.
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
