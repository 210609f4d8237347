/** One MCP client on stdin and stdout, which carry nothing else. */
import { once } from 'node:events';
import type { Readable, Writable } from 'node:stream';
import { setImmediate, setTimeout } from 'node:timers/promises';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import type { ServicePort } from './nats-port.ts';
import { createMcpServer, type McpOptions } from './server.ts';

export type StdioOptions = {
  readonly port: ServicePort;
  readonly worker: string | null;
  readonly spell: NonNullable<McpOptions['spell']>;
  readonly stdin: Readable;
  readonly stdout: Writable;
  /** Aborted to end at once. */
  readonly signal: AbortSignal;
  /** Writes a line to stderr. */
  readonly note: (line: string) => void;
};

/** Calls that came before the end of stdin may still take this long. */
const graceMs = 5_000;

/** The answer of JSON-RPC to a line that is not JSON: it has no id that could be named. */
const notJson = { jsonrpc: '2.0', id: null, error: { code: -32700, message: 'Parse error: the line is not JSON' } };

/** Resolves when the client disconnects, or on `signal`. */
export async function serveStdio({ port, worker, spell, stdin, stdout, signal, note }: StdioOptions): Promise<void> {
  const running = new Set<Promise<unknown>>();
  const mcp = createMcpServer({
    port,
    worker,
    spell,
    onCall: (call) => {
      running.add(call);
      void call.finally(() => running.delete(call));
    },
    onBug: (error, tool) => note(`stopgate mcp: bug in ${tool}: ${(error as Error).stack ?? String(error)}`),
  });
  const closed = new Promise<void>((done) => {
    mcp.server.onclose = () => done();
  });
  mcp.server.onerror = (error) => {
    note(`stopgate mcp: ${error.message}`);
    // The transport only reports such a line, and its client may wait for an answer.
    if (error instanceof SyntaxError) stdout.write(`${JSON.stringify(notJson)}\n`);
  };
  const ended = once(stdin, 'end', { signal }).then(async () => {
    const grace = setTimeout(graceMs, undefined, { ref: false });
    await Promise.race([Promise.all(running), grace]);
    await setImmediate(); // Lets the last answers out.
  });
  await mcp.connect(new StdioServerTransport(stdin, stdout));
  // An abort is not a failure.
  await Promise.race([ended, closed]).catch((error: unknown) => {
    if (!signal.aborted) throw error;
  });
  await mcp.close();
}
