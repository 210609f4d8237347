/**
 * A snapshot as one file (protocol.md §15): gzipped lines of JSON, each a list. The first says what the file is, the second
 * holds what the host adds, and the last is the SHA-256 of everything before it. Between them are the lines of the fleet.
 * It is written in slices, so that nothing waits for it.
 */
import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { promisify } from 'node:util';
import { getHeapStatistics } from 'node:v8';
import { createGzip, gunzip } from 'node:zlib';
import { z } from 'zod';
import { type SnapshotLine, snapshotFormat } from '../../../machines/index.ts';
import type { LogPosition } from '../log/log-reader.ts';

/** `position`: of the entry that was folded last. The log is asked about `seq`, and refuses what cannot be one. */
export const headSchema = z.object({
  fleet: z.string(),
  rules: z.int().min(1),
  position: z.object({ seq: z.int().min(1), subject: z.string(), atMs: z.int(), digest: z.string() }),
});
export type SnapshotHead = { readonly fleet: string; readonly rules: number; readonly position: LogPosition };

/** `host`: what the host adds to the state of the fleet, as one JSON value. */
export type SnapshotContent = { readonly lines: Iterable<string>; readonly host: unknown };

const magic = `stopgate-snapshot-${snapshotFormat}`;
const hostPart = 'host';
const digestPart = 'sha256';
const toLine = (...values: readonly unknown[]): string => `${JSON.stringify(values)}\n`;
/** So much is made in one go: about a millisecond. */
const chunkLength = 32_768;
/** Then others have their turn. */
const sliceMs = 8;

/** The bytes of the file, as they are asked for. */
export function writeSnapshotFile(head: SnapshotHead, content: SnapshotContent): Readable {
  // The fastest level: the lines are much alike.
  const zipped = createGzip({ level: 1 });
  const text = Readable.from(chunksOf(head, content), { objectMode: false });
  text.once('error', (error) => zipped.destroy(error));
  return text.pipe(zipped);
}

async function* chunksOf(head: SnapshotHead, { lines, host }: SnapshotContent): AsyncGenerator<Buffer> {
  const hash = createHash('sha256');
  let startedMs = performance.now();
  let text = toLine(magic, head) + toLine(hostPart, host);
  const flush = () => {
    const chunk = Buffer.from(text);
    hash.update(chunk);
    text = '';
    return chunk;
  };
  for (const line of lines) {
    text += line;
    if (text.length < chunkLength) continue;
    yield flush();
    if (performance.now() - startedMs < sliceMs) continue;
    await nextTurn();
    startedMs = performance.now();
  }
  yield flush();
  yield Buffer.from(toLine(digestPart, hash.digest('hex')));
}

export type SnapshotFile = {
  readonly head: SnapshotHead;
  readonly host: unknown;
  /** The lines of the fleet. Iterate them once. */
  readonly lines: Iterable<SnapshotLine>;
};

const unzip = promisify(gunzip);
/**
 * More than half of the heap no process could make a fleet of, whatever its object says: a few MB of zip may be many GB of text.
 * A buffer has at most 4 GiB.
 */
export const snapshotBytesMax = Math.min(2 ** 32 - 1, Math.floor(getHeapStatistics().heap_size_limit / 2));
/** Of the text that is made in one piece; what is larger is joined from several. */
const chunkSizeMax = 1 << 28;
/** Gzip ends with the size of what it holds. One piece of that size is not copied again. */
const chunkSizeOf = (zipped: Uint8Array): number =>
  zipped.length < 4 ? chunkSizeMin : clamp(Buffer.from(zipped.subarray(-4)).readUInt32LE(0) + 1);
const chunkSizeMin = 1 << 16;
const clamp = (size: number): number => Math.min(chunkSizeMax, Math.max(chunkSizeMin, size));

/** @throws Error: why it cannot be used: damaged, or of another format */
export async function readSnapshotFile(zipped: Uint8Array, bytesMax = snapshotBytesMax): Promise<SnapshotFile> {
  const bytes: Buffer = await unzip(zipped, { chunkSize: chunkSizeOf(zipped), maxOutputLength: bytesMax });
  const lastFrom = bytes.lastIndexOf('\n', -2) + 1;
  const digest = await digestOf(bytes.subarray(0, lastFrom));
  if (bytes.toString('latin1', lastFrom) !== toLine(digestPart, digest)) throw new Error('its digest is another');
  const lines = linesOf(bytes, lastFrom);
  const [first, head] = readLine(lines.next().value);
  if (first !== magic) throw new Error(`it is of another format (${String(first).slice(0, 100)}), not ${magic}`);
  const [second, host] = readLine(lines.next().value);
  if (second !== hostPart) throw new Error('it has no line of the host');
  return { head: headSchema.parse(head), host, lines };
}

function readLine(line: SnapshotLine | undefined): readonly unknown[] {
  const read: unknown = line === undefined ? [] : JSON.parse(line.text(line.from, line.end));
  return Array.isArray(read) ? read : [];
}

/** A large fleet has a hundred megabytes, and its service goes on meanwhile. */
async function digestOf(bytes: Uint8Array): Promise<string> {
  const hash = createHash('sha256');
  for (let at = 0; at < bytes.length; at += hashedInOneGo) {
    hash.update(bytes.subarray(at, at + hashedInOneGo));
    await nextTurn();
  }
  return hash.digest('hex');
}

/** Some milliseconds. */
const hashedInOneGo = 4 * 1_048_576;

const lineFeed = 0x0a;

/** Bytes stay bytes until their text is asked for: those of 100,000 workers have 60 MB. */
function* linesOf(bytes: Buffer, length: number): Generator<SnapshotLine, undefined> {
  const text = (from: number, end: number) => bytes.toString('utf8', from, end);
  for (let from = 0; from < length; ) {
    const end = bytes.indexOf(lineFeed, from);
    yield { bytes, from, end, text };
    from = end + 1;
  }
  return undefined;
}
