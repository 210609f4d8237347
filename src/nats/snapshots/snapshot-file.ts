/**
 * The file of a snapshot (protocol.md §15): gzipped lines of JSON lists. The first line is the head, the second the
 * host's state, then follow the lines of the fleet, and the last is the SHA-256 of everything before it. Files are
 * written in slices, so that they do not block the event loop.
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

/** `position`: the last folded entry. `seq` must be valid, because the log is asked about it. */
export const headSchema = z.object({
  fleet: z.string(),
  rules: z.int().min(1),
  position: z.object({ seq: z.int().min(1), subject: z.string(), atMs: z.int(), digest: z.string() }),
});
export type SnapshotHead = { readonly fleet: string; readonly rules: number; readonly position: LogPosition };

/** `host`: the host's own state, as one JSON value. */
export type SnapshotContent = { readonly lines: Iterable<string>; readonly host: unknown };

const magic = `stopgate-snapshot-${snapshotFormat}`;
const hostPart = 'host';
const digestPart = 'sha256';
const toLine = (...values: readonly unknown[]): string => `${JSON.stringify(values)}\n`;
/** Characters per chunk; making one takes about a millisecond. */
const chunkLength = 32_768;
/** After this time, other tasks get a turn. */
const sliceMs = 8;

/** Returns a stream of the file, written on demand. */
export function writeSnapshotFile(head: SnapshotHead, content: SnapshotContent): Readable {
  // The fastest level suffices, because the lines are very similar.
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
  /** The lines of the fleet. Iterate once. */
  readonly lines: Iterable<SnapshotLine>;
};

const unzip = promisify(gunzip);
/**
 * Maximum uncompressed size, because a few MB of gzip can expand to many GB. A process cannot restore a fleet from more
 * than half of its heap, and a buffer has at most 4 GiB.
 */
export const snapshotBytesMax = Math.min(2 ** 32 - 1, Math.floor(getHeapStatistics().heap_size_limit / 2));
/** Maximum size to unzip in one piece. Larger texts are joined from several. */
const chunkSizeMax = 1 << 28;
/** Gzip ends with the uncompressed size. Unzipping into one piece of that size avoids a copy. */
const chunkSizeOf = (zipped: Uint8Array): number =>
  zipped.length < 4 ? chunkSizeMin : clamp(Buffer.from(zipped.subarray(-4)).readUInt32LE(0) + 1);
const chunkSizeMin = 1 << 16;
const clamp = (size: number): number => Math.min(chunkSizeMax, Math.max(chunkSizeMin, size));

/** @throws Error with the reason if the file is damaged or has another format */
export async function readSnapshotFile(zipped: Uint8Array, bytesMax = snapshotBytesMax): Promise<SnapshotFile> {
  const bytes: Buffer = await unzip(zipped, { chunkSize: chunkSizeOf(zipped), maxOutputLength: bytesMax });
  const lastFrom = bytes.lastIndexOf('\n', -2) + 1;
  const digest = await digestOf(bytes.subarray(0, lastFrom));
  if (bytes.toString('latin1', lastFrom) !== toLine(digestPart, digest)) throw new Error('its digest does not match');
  const lines = linesOf(bytes, lastFrom);
  const [first, head] = readLine(lines.next().value);
  if (first !== magic) throw new Error(`its format is ${String(first).slice(0, 100)}, not ${magic}`);
  const [second, host] = readLine(lines.next().value);
  if (second !== hostPart) throw new Error('the line of the host is missing');
  return { head: headSchema.parse(head), host, lines };
}

function readLine(line: SnapshotLine | undefined): readonly unknown[] {
  const read: unknown = line === undefined ? [] : JSON.parse(line.text(line.from, line.end));
  return Array.isArray(read) ? read : [];
}

/** Hashes in slices: a large fleet has a hundred megabytes, and the event loop must not block. */
async function digestOf(bytes: Uint8Array): Promise<string> {
  const hash = createHash('sha256');
  for (let from = 0; from < bytes.length; from += hashSliceBytes) {
    hash.update(bytes.subarray(from, from + hashSliceBytes));
    await nextTurn();
  }
  return hash.digest('hex');
}

/** Takes a few milliseconds. */
const hashSliceBytes = 4 * 1_048_576;

const lineFeed = 0x0a;

/** Decodes lines only on demand: those of 100,000 workers have 60 MB. */
function* linesOf(bytes: Buffer, length: number): Generator<SnapshotLine, undefined> {
  const text = (from: number, end: number) => bytes.toString('utf8', from, end);
  for (let from = 0; from < length; ) {
    const end = bytes.indexOf(lineFeed, from);
    yield { bytes, from, end, text };
    from = end + 1;
  }
  return undefined;
}
