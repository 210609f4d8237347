/**
 * JSON-RPC over stdio: one message a line. Lines go on as the bytes that came, so that whatever we do not know of a
 * message stays in it.
 */
import type { Readable, Writable } from 'node:stream';
import { AppError } from '../errors.ts';

/** Twice what the SDK of the protocol reads: a diff of a large file passes, and a line without an end fills no memory. */
const lineBytesMax = 64 * 1024 * 1024;

const newline = 0x0a;

/**
 * Gives each line without its line end, the last one too if it has none. Reads no further than it is asked to, so that a
 * slow reader on the other side slows this one down.
 * @throws AppError input.bad: a line is too long
 */
export async function* readLines(from: Readable, who: string, bytesMax = lineBytesMax): AsyncGenerator<Buffer> {
  let begun: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of from as AsyncIterable<Buffer | string>) {
    let rest = typeof chunk === 'string' ? Buffer.from(chunk) : chunk;
    for (let end = rest.indexOf(newline); end >= 0; end = rest.indexOf(newline)) {
      if (bytes + end > bytesMax) throw tooLong(who, bytesMax);
      yield begun.length === 0 ? rest.subarray(0, end) : Buffer.concat([...begun, rest.subarray(0, end)]);
      [begun, bytes, rest] = [[], 0, rest.subarray(end + 1)];
    }
    if (rest.length === 0) continue;
    begun.push(rest);
    bytes += rest.length;
    if (bytes > bytesMax) throw tooLong(who, bytesMax);
  }
  if (bytes > 0) yield Buffer.concat(begun);
}

const tooLong = (who: string, bytesMax: number): AppError =>
  new AppError('input.bad', `${who} sent a line of more than ${bytesMax} bytes, so both sides were ended`);

export type LineWriter = {
  /** Resolves when there is room for more. Never rejects: what nobody reads any more is dropped, and `closed` tells it. */
  write(line: Uint8Array | object): Promise<void>;
  readonly closed: Promise<void>;
};

export function createLineWriter(to: Writable): LineWriter {
  const closed = new Promise<void>((resolve) => {
    for (const event of ['close', 'error'] as const) to.once(event, () => resolve());
  });
  // A second error must not end the process.
  to.on('error', () => {});
  return {
    closed,
    async write(line) {
      if (to.destroyed || to.writableEnded) return;
      const bytes = line instanceof Uint8Array ? line : Buffer.from(JSON.stringify(line));
      // One write, since several may be under way at the same time.
      const hasRoom = to.write(Buffer.concat([bytes, lineEnd]));
      if (hasRoom) return;
      await Promise.race([new Promise<void>((resolve) => to.once('drain', resolve)), closed]);
    },
  };
}

const lineEnd = Buffer.from('\n');
