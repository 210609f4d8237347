/** The SDK's own client, on the shipped `stopgate mcp`, on the service's `/mcp`, or on a server in this process. */
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js';
import type { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { main } from './service-process.ts';

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

export const openStdioClient = (args: readonly string[], cwd: string): Promise<McpClient> =>
  open(
    new StdioClientTransport({
      command: process.execPath,
      args: [main, 'mcp', ...args],
      cwd,
      env: { PATH: '/usr/local/bin:/usr/bin:/bin', HOME: cwd },
      stderr: 'pipe',
    }),
  );

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
