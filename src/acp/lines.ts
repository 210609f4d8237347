/** JSON-RPC over stdio, one message per line. Lines are forwarded as raw bytes, so that unknown fields survive. */
import type { Readable, Writable } from 'node:stream';
import { AppError } from '../errors.ts';

/**
 * Twice the limit of the ACP SDK: large enough for a big diff, and bounds the memory used by a line that never ends.
 */
const lineBytesMax = 64 * 1024 * 1024;

const newline = 0x0a;

/**
 * Yields each line without its newline, including an unterminated last line. Reads on demand, so backpressure reaches
 * the sender.
 * @throws AppError input.bad if a line exceeds `bytesMax`
 */
export async function* readLines(from: Readable, who: string, bytesMax = lineBytesMax): AsyncGenerator<Buffer> {
  let partial: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of from as AsyncIterable<Buffer | string>) {
    let rest = typeof chunk === 'string' ? Buffer.from(chunk) : chunk;
    for (let end = rest.indexOf(newline); end >= 0; end = rest.indexOf(newline)) {
      if (bytes + end > bytesMax) throw tooLong(who, bytesMax);
      yield partial.length === 0 ? rest.subarray(0, end) : Buffer.concat([...partial, rest.subarray(0, end)]);
      partial = [];
      bytes = 0;
      rest = rest.subarray(end + 1);
    }
    if (rest.length === 0) continue;
    partial.push(rest);
    bytes += rest.length;
    if (bytes > bytesMax) throw tooLong(who, bytesMax);
  }
  if (bytes > 0) yield Buffer.concat(partial);
}

const tooLong = (who: string, bytesMax: number): AppError =>
  new AppError('input.bad', `${who} sent a line longer than ${bytesMax} bytes; the session was closed`);

export type LineWriter = {
  /** Resolves when the stream accepts more. Never rejects: writes to a closed stream are dropped (see `closed`). */
  write(line: Uint8Array | object): Promise<void>;
  readonly closed: Promise<void>;
};

export function createLineWriter(to: Writable): LineWriter {
  const closed = new Promise<void>((resolve) => {
    for (const event of ['close', 'error'] as const) to.once(event, () => resolve());
  });
  // Without a listener, a second error would end the process.
  to.on('error', () => {});
  return {
    closed,
    async write(line) {
      if (to.destroyed || to.writableEnded) return;
      const bytes = line instanceof Uint8Array ? line : Buffer.from(JSON.stringify(line));
      // A single write, because several calls may overlap.
      const hasRoom = to.write(Buffer.concat([bytes, lineEnd]));
      if (hasRoom) return;
      await Promise.race([new Promise<void>((resolve) => to.once('drain', resolve)), closed]);
    },
  };
}

const lineEnd = Buffer.from('\n');
