/** Snapshots as objects of one JetStream object store, which the first that is written creates. */
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
import { isStreamNotFound } from '../log/stream-info.ts';
import {
  headSchema,
  readSnapshotFile,
  type SnapshotFile,
  type SnapshotHead,
  snapshotBytesMax,
} from './snapshot-file.ts';

/** `bytes`: as it is stored, compressed. `format` null: the release that wrote it did not say. */
export type SnapshotInfo = SnapshotHead & {
  readonly name: string;
  readonly bytes: number;
  readonly format: number | null;
};

/** `name`: of an object that somebody else has put there, or that was damaged. */
export type OnBad = (name: string) => void;

export type SnapshotBucket = {
  /**
   * The newest first, in the order in which the server has stored them. What is no snapshot is passed over, with `onBad`.
   * @throws what NATS throws
   */
  list(onBad?: OnBad): Promise<readonly SnapshotInfo[]>;
  /** @throws Error: it is gone, damaged or of another format; AppError log.unavailable: it may be read later */
  read(name: string): Promise<SnapshotFile>;
  /** As they are stored. @throws Error: it is gone, or what NATS throws */
  bytesOf(name: string): AsyncIterable<Uint8Array>;
  /** @throws what NATS throws, or what `bytes` throws */
  put(head: SnapshotHead, bytes: Readable): Promise<SnapshotInfo>;
  /** @throws what NATS throws */
  drop(name: string): Promise<void>;
  /** Removes what a crash left of one that was never finished. @throws what NATS throws */
  removeCutOff(): Promise<void>;
};

export type BucketOptions = {
  readonly fleet: string;
  /** The name of the object store. */
  readonly bucket: string;
  readonly description: string;
  /** Chunks without an object are removed after it. Default: a minute. */
  readonly silentMs?: number | undefined;
  /** A larger snapshot is not read, zipped or unzipped. Default: what a process can make a fleet of. */
  readonly bytesMax?: number | undefined;
};

/** A put waits 5 s for each of its chunks, so one that has been silent for so long was cut off. */
const cutOffAfterMs = 60_000;

export function createSnapshotBucket(nc: NatsConnection, options: BucketOptions): SnapshotBucket {
  const { fleet, bucket, description, silentMs = cutOffAfterMs, bytesMax = snapshotBytesMax } = options;
  const objects = new Objm(jetstream(nc));
  const stream = `OBJ_${bucket}`;
  const openManager = () => jetstreamManager(nc, { checkAPI: false });
  /** Resolves to null if nothing was ever written. */
  const open = async (): Promise<Opened | null> => {
    const manager = await openManager();
    const info = await manager.streams.info(stream).catch(nullIfMissing);
    return info === null ? null : { manager, store: await objects.open(bucket, false), bucket };
  };
  /** In a cluster it has as many copies as the log, whose beginning it may be all that is left of. */
  const create = async (): Promise<ObjectStore> => {
    const log = await (await openManager()).streams.info(`STOPGATE_${fleet}`).catch(nullIfMissing);
    return objects.create(bucket, { replicas: log?.config.num_replicas ?? 1, description });
  };
  async function* bytesOf(name: string) {
    const opened = await open();
    const found = opened === null ? null : await infoAt(opened, `${metaPrefix(bucket)}${encodeName(name)}`);
    if (opened === null || found === null || found.deleted) throw new NotWhole('it is gone');
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
        throw cause instanceof NotWhole ? cause : new AppError('log.unavailable', cause.message, { cause });
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
      // The store itself leaves a note of each object that was deleted, for ever.
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

class NotWhole extends Error {}

/**
 * Reads its chunks itself. The library has a push consumer for that, which may have 32 MiB on its way and stays for five
 * minutes, and it waits without end for a chunk that is gone.
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
    // The node of the consumer may lag: the leader of the stream says what there is.
    const { state } = await manager.streams.info(stream, { subjects_filter: subject });
    if (state.subjects?.[subject] !== chunks) throw new NotWhole('a part of it is gone');
    throw new AppError('log.unavailable', `a node of NATS lags, and does not have all of ${stream}`);
  }
  let bytes = 0;
  for await (const batch of range.batches)
    for (const { data } of batch) {
      bytes += data.length;
      if (bytes > bytesMax) throw new NotWhole(`it has more than ${bytesMax} bytes`);
      yield data;
    }
}

const metaPrefix = (bucket: string): string => `$O.${bucket}.M.`;
const chunkPrefix = (bucket: string): string => `$O.${bucket}.C.`;
/** As the library does, with its padding. */
const encodeName = (name: string): string =>
  Buffer.from(name).toString('base64').replaceAll('+', '-').replaceAll('/', '_');

/** Digits only. */
const nameOf = ({ seq }: LogPosition): string => String(seq).padStart(16, '0');

/** The metadata of an object, as the library stores it. */
const infoSchema = z.object({
  name: z.string(),
  /** A token of a subject: with a wildcard it would name the chunks of all. */
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
 * As the server has stored them: a new log counts from 1 again, and each writer has a clock of its own. The
 * stream's leader says which there are: the library's list comes from any node, which may lag and know of none.
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

/** Returns null if there is none, or it is not what the library stores. */
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

/** Returns null if it is none of ours. */
const parse = <Value>(schema: z.ZodType<Value>, json: string): Value | null =>
  schema.safeParse(tryJson(json)).data ?? null;

/** Chunks come before the object that names them: a crash in between leaves chunks that nobody would ever ask for. */
async function removeCutOff(opened: Opened, silentMs: number): Promise<void> {
  const { manager, bucket } = opened;
  const stream = `OBJ_${bucket}`;
  const chunksOf = (nuid: string) => `${chunkPrefix(bucket)}${nuid}`;
  // The chunks first: an object that is finished in between is then in the list.
  const { state } = await manager.streams.info(stream, { subjects_filter: chunksOf('*') });
  const named = new Set((await newestFirst(opened)).map(({ nuid }) => chunksOf(nuid)));
  for (const subject of Object.keys(state.subjects ?? {}).filter((it) => !named.has(it))) {
    const last = await manager.streams.getMessage(stream, { last_by_subj: subject });
    // By the server's clock, which stored both; the newest message is what was just written.
    const isCutOff = last !== null && Date.parse(state.last_ts) - last.time.getTime() >= silentMs;
    if (isCutOff) await manager.streams.purge(stream, { filter: subject });
  }
}

function nullIfMissing(cause: unknown): null {
  if (isStreamNotFound(cause)) return null;
  throw cause;
}
