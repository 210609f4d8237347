/** Serves one MCP client on stdin and stdout, which carry nothing but the protocol. */
import { Readable, type Writable } from 'node:stream';
import { finished } from 'node:stream/promises';
import { setImmediate, setTimeout } from 'node:timers/promises';
import { StdioServerTransport, serveStdio as serveTransport } from '@modelcontextprotocol/server/stdio';
import { tryJson } from '../text/json-text.ts';
import type { ServicePort } from './nats-port.ts';
import { createMcpServer, type McpOptions } from './server.ts';

export type StdioOptions = {
  readonly port: ServicePort;
  readonly worker: string | null;
  readonly spell: NonNullable<McpOptions['spell']>;
  readonly stdin: Readable;
  readonly stdout: Writable;
  /** Abort it to end at once. */
  readonly signal: AbortSignal;
  /** Writes a line to stderr. */
  readonly note: (line: string) => void;
};

/** Time for calls to finish after the end of stdin. */
const graceMs = 5_000;
/** The maximum length of a line. Equals the limit of HTTP bodies. */
const lineBytesMax = 16 * 1024 * 1024;

/** The JSON-RPC error for a line that is not JSON. It has no id to name. */
const notJson = { jsonrpc: '2.0', id: null, error: { code: -32700, message: 'Parse error: the line is not JSON' } };

/** Resolves when the client disconnects or `signal` aborts. @throws Error if stdin breaks */
export async function serveStdio({ port, worker, spell, stdin, stdout, signal, note }: StdioOptions): Promise<void> {
  const running = new Set<Promise<unknown>>();
  const refuse = (): void => {
    note('stopgate mcp: a line on stdin is not JSON');
    stdout.write(`${JSON.stringify(notJson)}\n`);
  };
  const options: McpOptions = {
    port,
    worker,
    spell,
    onCall: (call) => {
      running.add(call);
      void call.finally(() => running.delete(call));
    },
    onBug: (error, tool) => note(`stopgate mcp: bug in ${tool}: ${(error as Error).stack ?? String(error)}`),
  };
  const input = Readable.from(untilAnswered(stdin, running, refuse));
  const connection = serveTransport(() => createMcpServer(options), {
    transport: new StdioServerTransport(input, stdout, { maxBufferSize: lineBytesMax }),
    onerror: (error) => note(`stopgate mcp: ${error.message}`),
  });
  const gone = new AbortController();
  stdout.once('error', () => gone.abort());
  const over = AbortSignal.any([signal, gone.signal]);
  // An abort or a disconnected client is not a failure.
  await finished(input, { signal: over }).catch((error: unknown) => {
    if (!over.aborted) throw error;
  });
  await connection.close();
  input.destroy();
  stdin.destroy(); // An open stdin keeps the process alive.
}

/**
 * Yields the lines of stdin that are JSON, and ends after their calls are answered. Without this, the library would
 * ignore a line that is not JSON and cancel all calls at the end of stdin.
 */
async function* untilAnswered(
  stdin: Readable,
  running: ReadonlySet<Promise<unknown>>,
  refuse: () => void,
): AsyncGenerator<Buffer> {
  let rest = Buffer.alloc(0);
  for await (const chunk of stdin as AsyncIterable<Buffer>) {
    const bytes = Buffer.concat([rest, chunk]);
    if (bytes.length > lineBytesMax) throw new Error(`a line on stdin is over ${lineBytesMax} bytes`);
    const end = bytes.lastIndexOf('\n') + 1;
    rest = bytes.subarray(end);
    for (const line of bytes.toString('utf8', 0, end).split('\n').slice(0, -1))
      if (tryJson(line) === null) refuse();
      else yield Buffer.from(`${line}\n`);
  }
  await setImmediate(); // Let the last calls start.
  await Promise.race([Promise.all(running), setTimeout(graceMs, undefined, { ref: false })]);
  await setImmediate(); // Let the last answers be written.
}
