/** The stdout of a command. Waits for a slow reader, and drops output once the reader is gone (`| head`). */
import { once } from 'node:events';
import { escapeControls } from '../text/json-text.ts';
import type { Io } from './process-io.ts';
import { type Colors, createColors } from './text.ts';

export type Output = {
  readonly colors: Colors;
  /** Width in columns. Infinite if stdout is not a terminal. */
  readonly width: () => number;
  /** Aborted when the reader is gone, which ends an endless command. */
  readonly closed: AbortSignal;
  /**
   * Resolves to the error if not everything could be written, otherwise null. A reader that is gone is not an error.
   */
  readonly fault: () => Promise<Error | null>;
  /** Writes each line with a line end. Resolves when there is room for more. */
  readonly print: (...lines: string[]) => Promise<void>;
  /** Writes `text` unchanged. */
  readonly write: (text: string) => Promise<void>;
  /** Writes one line of JSON. */
  readonly json: (value: unknown) => Promise<void>;
};

export function createOutput({ stdout, isTTY, env, size }: Io): Output {
  const gone = new AbortController();
  // Keep the listener: EPIPE may come after the last write and would crash the process.
  let fault: Error | null = null;
  stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') fault ??= error;
    gone.abort();
  });
  const write = async (text: string) => {
    if (gone.signal.aborted || text === '') return;
    if (!stdout.write(text)) await once(stdout, 'drain', { signal: gone.signal }).catch(() => undefined);
  };
  return {
    colors: createColors(isTTY && (env.NO_COLOR ?? '') === ''),
    width: () => (isTTY ? size().columns : Number.POSITIVE_INFINITY),
    closed: gone.signal,
    // The stream reports an error of the last write in the next tick.
    fault: () => new Promise((resolve) => setImmediate(() => resolve(fault))),
    print: (...lines) => write(lines.map((line) => `${line}\n`).join('')),
    write,
    json: (value) => write(`${escapeControls(JSON.stringify(value))}\n`),
  };
}
