/** Stores snapshots as objects in a JetStream object store, which is created with the first snapshot. */
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { type JetStreamManager, jetstream, jetstreamManager } from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/nats-core';
import { type ObjectStore, Objm } from '@nats-io/obj';
import { z } from 'zod';
import { snapshotFormat } from '../../../machines/index.ts';
import { AppError } from '../../errors.ts';
import { tryJson } from '../../text/json-text.ts';
import { openLogRange } from '../log/log-range.ts';
import type { LogPosition } from '../log/log-reader.ts';
import { isStreamNotFound, logName } from '../log/stream-info.ts';
import {
  headSchema,
  readSnapshotFile,
  type SnapshotFile,
  type SnapshotHead,
  snapshotBytesMax,
} from './snapshot-file.ts';

/** `bytes`: the stored, compressed size. `format`: the line format, or null if it was not recorded. */
export type SnapshotInfo = SnapshotHead & {
  readonly name: string;
  readonly bytes: number;
  readonly format: number | null;
};

/** Called with the name of an object that is damaged, or not a snapshot. */
export type OnBad = (name: string) => void;

export type SnapshotBucket = {
  /**
   * Lists snapshots, last stored first. Skips objects that are not snapshots, and reports them to `onBad`.
   * @throws errors of NATS
   */
  list(onBad?: OnBad): Promise<readonly SnapshotInfo[]>;
  /** @throws Error if it is missing, damaged or has another format; AppError log.unavailable if it may be read later */
  read(name: string): Promise<SnapshotFile>;
  /** Yields the stored bytes. @throws Error if it is missing; errors of NATS */
  bytesOf(name: string): AsyncIterable<Uint8Array>;
  /** @throws errors of NATS and of `bytes` */
  put(head: SnapshotHead, bytes: Readable): Promise<SnapshotInfo>;
  /** @throws errors of NATS */
  drop(name: string): Promise<void>;
  /** Removes the chunks of snapshots that a crash left unfinished. @throws errors of NATS */
  removeCutOff(): Promise<void>;
};

export type BucketOptions = {
  readonly fleet: string;
  /** The name of the object store. */
  readonly bucket: string;
  readonly description: string;
  /** Chunks without an object are removed after this time. Default: a minute. */
  readonly silentMs?: number | undefined;
  /**
   * Larger snapshots are not read; applies to the compressed and the uncompressed size. Default: `snapshotBytesMax`.
   */
  readonly bytesMax?: number | undefined;
};

/** A put waits 5 s for each chunk, so one that has been silent for this long was interrupted. */
const cutOffAfterMs = 60_000;

export function createSnapshotBucket(nc: NatsConnection, options: BucketOptions): SnapshotBucket {
  const { fleet, bucket, description, silentMs = cutOffAfterMs, bytesMax = snapshotBytesMax } = options;
  const objects = new Objm(jetstream(nc));
  const stream = `OBJ_${bucket}`;
  const openManager = () => jetstreamManager(nc, { checkAPI: false });
  /** Resolves to null if the store does not exist. */
  const open = async (): Promise<Opened | null> => {
    const manager = await openManager();
    const info = await manager.streams.info(stream).catch(nullIfMissing);
    return info === null ? null : { manager, store: await objects.open(bucket, false), bucket };
  };
  /** Uses as many replicas as the log, because snapshots may be all that is left of the log's beginning. */
  const create = async (): Promise<ObjectStore> => {
    const log = await (await openManager()).streams.info(logName(fleet)).catch(nullIfMissing);
    return objects.create(bucket, { replicas: log?.config.num_replicas ?? 1, description });
  };
  async function* bytesOf(name: string) {
    const opened = await open();
    const found = opened === null ? null : await infoAt(opened, `${metaPrefix(bucket)}${encodeName(name)}`);
    if (opened === null || found === null || found.deleted) throw new IncompleteError('it is missing');
    yield* chunksOf(nc, opened, found, bytesMax);
  }
  return {
    async list(onBad) {
      const opened = await open();
      return opened === null ? [] : listIn(opened, fleet, onBad);
    },
    bytesOf,
    async read(name) {
      const bytes = await buffer(bytesOf(name)).catch((cause: Error) => {
        throw cause instanceof IncompleteError ? cause : new AppError('log.unavailable', cause.message, { cause });
      });
      return readSnapshotFile(bytes, bytesMax);
    },
    async put({ fleet, rules, position }, bytes) {
      const head: SnapshotHead = { fleet, rules, position };
      const store = (await open())?.store ?? (await create());
      const name = nameOf(position);
      const meta = { name, metadata: { head: JSON.stringify(head), format: String(snapshotFormat) } };
      const { size } = await store.put(meta, Readable.toWeb(bytes) as ReadableStream<Uint8Array>);
      return { ...head, name, bytes: size, format: snapshotFormat };
    },
    async drop(name) {
      const opened = await open();
      await opened?.store.delete(name);
      // Deleting leaves a marker behind forever; remove that too.
      const filter = `${metaPrefix(bucket)}${encodeName(name)}`;
      await opened?.manager.streams.purge(stream, { filter });
    },
    async removeCutOff() {
      const opened = await open();
      if (opened !== null) await removeCutOff(opened, silentMs);
    },
  };
}

type Opened = { readonly manager: JetStreamManager; readonly store: ObjectStore; readonly bucket: string };

class IncompleteError extends Error {}

/**
 * Reads the chunks of an object without the library's push consumer, which may have 32 MiB in flight, stays for five
 * minutes, and waits forever for a missing chunk.
 */
async function* chunksOf(
  nc: NatsConnection,
  { manager, bucket }: Opened,
  { nuid, chunks }: StoredInfo,
  bytesMax: number,
): AsyncGenerator<Uint8Array> {
  const stream = `OBJ_${bucket}`;
  const subject = `${chunkPrefix(bucket)}${nuid}`;
  const range = await openLogRange(nc, stream, { subject });
  if (range.count !== chunks) {
    // The consumer's node may lag; ask the leader of the stream.
    const { state } = await manager.streams.info(stream, { subjects_filter: subject });
    if (state.subjects?.[subject] !== chunks) throw new IncompleteError('some of its chunks are missing');
    throw new AppError('log.unavailable', `a NATS node lags and does not have all of ${stream} yet`);
  }
  let bytes = 0;
  for await (const batch of range.batches)
    for (const { data } of batch) {
      bytes += data.length;
      if (bytes > bytesMax) throw new IncompleteError(`it has more than ${bytesMax} bytes`);
      yield data;
    }
}

const metaPrefix = (bucket: string): string => `$O.${bucket}.M.`;
const chunkPrefix = (bucket: string): string => `$O.${bucket}.C.`;
/** Encodes like the library, with padding. */
const encodeName = (name: string): string =>
  Buffer.from(name).toString('base64').replaceAll('+', '-').replaceAll('/', '_');

/** Names consist of digits only. */
const nameOf = ({ seq }: LogPosition): string => String(seq).padStart(16, '0');

/** The metadata of an object, as the library stores it. */
const infoSchema = z.object({
  name: z.string(),
  /** Used as a subject token: a wildcard would match the chunks of all objects. */
  nuid: z.string().regex(/^[\w-]{1,64}$/),
  size: z.int().min(0),
  chunks: z.int().min(0),
  deleted: z.boolean().optional(),
  metadata: z.record(z.string(), z.string()).optional(),
});
type StoredInfo = z.infer<typeof infoSchema> & { readonly revision: number };

async function listIn(opened: Opened, fleet: string, onBad: OnBad = () => {}): Promise<readonly SnapshotInfo[]> {
  return (await newestFirst(opened, onBad)).flatMap(({ name, size, metadata }) => {
    const head = parse(headSchema, metadata?.head ?? '');
    if (head === null) onBad(name);
    if (head?.fleet !== fleet) return [];
    return [{ ...head, name, bytes: size, format: Number(metadata?.format) || null }];
  });
}

/**
 * Sorts by the order of storing, because a new log counts from 1 again and writers' clocks differ. Asks the leader of
 * the stream: the library's list may come from a lagging node.
 */
async function newestFirst(opened: Opened, onBad: OnBad = () => {}): Promise<readonly StoredInfo[]> {
  const { bucket, manager } = opened;
  const stream = `OBJ_${bucket}`;
  const { state } = await manager.streams.info(stream, { subjects_filter: `${metaPrefix(bucket)}*` });
  const found = Object.keys(state.subjects ?? {}).map(async (subject) => {
    const info = await infoAt(opened, subject, onBad);
    return info === null || info.deleted ? [] : [info];
  });
  return (await Promise.all(found)).flat().sort((a, b) => b.revision - a.revision);
}

/** Returns null if there is no object, or its metadata is invalid. */
async function infoAt(
  { manager, bucket }: Opened,
  subject: string,
  onBad: OnBad = () => {},
): Promise<StoredInfo | null> {
  const message = await manager.streams.getMessage(`OBJ_${bucket}`, { last_by_subj: subject });
  if (message === null) return null;
  const name = Buffer.from(subject.slice(metaPrefix(bucket).length), 'base64').toString();
  const info = parse(infoSchema, message.string());
  if (info?.name === name) return { ...info, revision: message.seq };
  onBad(name);
  return null;
}

/** Returns null if the JSON does not match. */
const parse = <Value>(schema: z.ZodType<Value>, json: string): Value | null =>
  schema.safeParse(tryJson(json)).data ?? null;

/** Chunks are stored before the object that names them, so a crash in between leaves unused chunks. */
async function removeCutOff(opened: Opened, silentMs: number): Promise<void> {
  const { manager, bucket } = opened;
  const stream = `OBJ_${bucket}`;
  const chunksOf = (nuid: string) => `${chunkPrefix(bucket)}${nuid}`;
  // List chunks before objects, so that an object finished in between is found.
  const { state } = await manager.streams.info(stream, { subjects_filter: chunksOf('*') });
  const named = new Set((await newestFirst(opened)).map(({ nuid }) => chunksOf(nuid)));
  for (const subject of Object.keys(state.subjects ?? {}).filter((subject) => !named.has(subject))) {
    const last = await manager.streams.getMessage(stream, { last_by_subj: subject });
    // Compares times of the server's clock. The newest message is the one just written.
    const isCutOff = last !== null && Date.parse(state.last_ts) - last.time.getTime() >= silentMs;
    if (isCutOff) await manager.streams.purge(stream, { filter: subject });
  }
}

function nullIfMissing(cause: unknown): null {
  if (isStreamNotFound(cause)) return null;
  throw cause;
}
