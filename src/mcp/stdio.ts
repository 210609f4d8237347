/** One MCP client on stdin and stdout, which carry nothing else. */
import { once } from 'node:events';
import type { Readable, Writable } from 'node:stream';
import { setImmediate, setTimeout } from 'node:timers/promises';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import type { McpPort } from './port.ts';
import { createMcpServer } from './server.ts';

export type StdioOptions = {
  readonly port: McpPort;
  readonly worker: string | null;
  readonly stdin: Readable;
  readonly stdout: Writable;
  /** Fires where it is to end at once. */
  readonly signal: AbortSignal;
  /** A line on stderr. */
  readonly note: (line: string) => void;
};

/** What was asked before stdin ended is answered, unless it takes longer. */
const graceMs = 5_000;

/** Resolves when the client has gone, or `signal` fires. */
export async function serveStdio({ port, worker, stdin, stdout, signal, note }: StdioOptions): Promise<void> {
  const running = new Set<Promise<unknown>>();
  const mcp = createMcpServer({
    ...{ port, worker },
    onCall: (call) => {
      running.add(call);
      void call.finally(() => running.delete(call));
    },
    onBug: (error, tool) => note(`stopgate mcp: a bug in ${tool}: ${(error as Error).stack ?? String(error)}`),
  });
  const closed = new Promise<void>((done) => {
    mcp.server.onclose = () => done();
  });
  mcp.server.onerror = (error) => note(`stopgate mcp: ${error.message}`);
  const ended = once(stdin, 'end', { signal }).then(async () => {
    const patience = setTimeout(graceMs, undefined, { ref: false });
    await Promise.race([Promise.all(running), patience]);
    await setImmediate(); // The answers are on their way out.
  });
  await mcp.connect(new StdioServerTransport(stdin, stdout));
  // An abort is no failure.
  await Promise.race([ended, closed]).catch((error: unknown) => {
    if (!signal.aborted) throw error;
  });
  await mcp.close();
}
