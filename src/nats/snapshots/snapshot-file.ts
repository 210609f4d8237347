/**
 * A snapshot as one file (protocol.md §15): gzipped lines of text. The first line describes it, the last is the SHA-256
 * of everything before, and between them are the lines of the fleet and of the host. It is written in slices, so that
 * nothing waits for it, and values are decoded only when they are needed.
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
  let text = `${magic} - ${JSON.stringify(head)}\n${hostPart} - ${JSON.stringify(host)}\n`;
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
  yield Buffer.from(`digest - "${hash.digest('hex')}"\n`);
}

export type SnapshotFile = {
  readonly head: SnapshotHead;
  readonly host: unknown;
  /** The lines of the fleet; their JSON is made into text when it is asked for. */
  readonly lines: Iterable<SnapshotLine>;
};

const unzip = promisify(gunzip);
/**
 * More than half of the heap no process could make a fleet of, whatever its object says: a few MB of zip may be many GB of text.
 * A buffer has at most 4 GiB.
 */
export const snapshotBytesMax = Math.min(2 ** 32 - 1, Math.floor(getHeapStatistics().heap_size_limit / 2));
/** One copy of the whole instead of thousands of small ones. */
const chunkSize = 1 << 24;

/** @throws Error: why it cannot be used: damaged, or of another format */
export async function readSnapshotFile(zipped: Uint8Array, bytesMax = snapshotBytesMax): Promise<SnapshotFile> {
  const bytes: Buffer = await unzip(zipped, { chunkSize, maxOutputLength: bytesMax });
  const lastFrom = bytes.lastIndexOf('\n', -2) + 1;
  const digest = await digestOf(bytes.subarray(0, lastFrom));
  if (bytes.toString('latin1', lastFrom) !== `digest - "${digest}"\n`) throw new Error('its digest is another');
  const lines = linesOf(bytes, lastFrom);
  const [first, second] = [lines.next().value, lines.next().value];
  if (first?.part !== magic || second?.part !== hostPart)
    throw new Error(`it is of another format (${first?.part ?? 'empty'}), not ${magic}`);
  return { head: headSchema.parse(JSON.parse(first.json())), host: JSON.parse(second.json()), lines };
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

const [space, lineFeed] = [0x20, 0x0a];

/** Bytes stay bytes until their text is asked for: most of them never are. */
function* linesOf(bytes: Buffer, end: number): Generator<SnapshotLine, undefined> {
  for (let from = 0; from < end; ) {
    const lineEnd = bytes.indexOf(lineFeed, from);
    const partEnd = bytes.indexOf(space, from);
    const keyEnd = bytes.indexOf(space, partEnd + 1);
    yield {
      part: bytes.toString('latin1', from, partEnd),
      key: bytes.toString('latin1', partEnd + 1, keyEnd),
      json: () => bytes.toString('utf8', keyEnd + 1, lineEnd),
    };
    from = lineEnd + 1;
  }
  return undefined;
}
