/** Stdout of a command: waits where the reader is slow, and falls silent where the reader has gone (`| head`). */
import { once } from 'node:events';
import type { Io } from '../process-io.ts';
import { type Colors, createColors } from './colors.ts';

export type Output = {
  readonly colors: Colors;
  /** Columns to fit into; infinite where stdout is no terminal. */
  readonly width: () => number;
  /** Nobody reads any more: a command that could go on for ever ends. */
  readonly closed: AbortSignal;
  /** Writes lines, each with its end. Resolves when there is room for more. */
  readonly print: (...lines: string[]) => Promise<void>;
  /** Writes `text` as it is. */
  readonly write: (text: string) => Promise<void>;
  /** One line of JSON. */
  readonly json: (value: unknown) => Promise<void>;
};

export function createOutput({ stdout, isTTY, env, size }: Io): Output {
  const gone = new AbortController();
  // The listener stays: an EPIPE may come after the last write, and would end the process with a stack trace.
  stdout.on('error', () => gone.abort());
  const write = async (text: string) => {
    if (gone.signal.aborted || text === '') return;
    if (!stdout.write(text)) await once(stdout, 'drain', { signal: gone.signal }).catch(() => undefined);
  };
  return {
    colors: createColors(isTTY && (env.NO_COLOR ?? '') === ''),
    width: () => (isTTY ? size().columns : Number.POSITIVE_INFINITY),
    closed: gone.signal,
    print: (...lines) => write(lines.map((line) => `${line}\n`).join('')),
    write,
    json: (value) => write(`${JSON.stringify(value)}\n`),
  };
}
