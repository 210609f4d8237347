/**
 * The snapshots of a fleet, in the JetStream object store `STOPGATE-SNAPSHOTS_<fleet>` (protocol.md §15). The newest three
 * are kept. The store is created by the first that is written.
 */
import { Readable } from 'node:stream';
import { type JetStreamManager, jetstream, jetstreamManager } from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/nats-core';
import { type ObjectInfo, type ObjectStore, Objm } from '@nats-io/obj';
import { inTime } from '../in-time.ts';
import type { LogPosition } from '../log-position.ts';
import { isStreamNotFound } from '../stream-error.ts';
import {
  readSnapshotFile,
  type SnapshotContent,
  type SnapshotFile,
  type SnapshotHead,
  writeSnapshotFile,
} from './snapshot-file.ts';

/** `bytes`: as it is stored, compressed. */
export type SnapshotInfo = SnapshotHead & { readonly name: string; readonly bytes: number };

export type SnapshotStore = {
  /** Newest first. @throws what NATS throws */
  list(): Promise<readonly SnapshotInfo[]>;
  /** @throws Error: it is damaged or of another format, or what NATS throws */
  read(name: string): Promise<SnapshotFile>;
  /** Writes one, and drops all but the newest three, and what a crash left of others. @throws what NATS throws */
  write(head: SnapshotHead, content: SnapshotContent): Promise<SnapshotInfo>;
};

const keptCount = 3;
/** A put waits 5 s for each of its chunks, so one that has been silent for so long was cut off. */
const cutOffAfterMs = 60_000;
const chunkTimeoutMs = 10_000;

const snapshotBucket = (fleet: string): string => `STOPGATE-SNAPSHOTS_${fleet}`;

/** @param replicas of the object store, in a cluster; @param silentMs after which chunks without an object are removed */
export function createSnapshotStore(
  nc: NatsConnection,
  fleet: string,
  replicas: number,
  silentMs = cutOffAfterMs,
): SnapshotStore {
  const objects = new Objm(jetstream(nc));
  const bucket = snapshotBucket(fleet);
  const description = `stopgate: snapshots of fleet ${fleet}`;
  const openManager = () => jetstreamManager(nc, { checkAPI: false });
  return {
    async list() {
      const manager = await openManager();
      if (!(await exists(manager, bucket))) return [];
      return listIn({ manager, store: await objects.open(bucket, false), bucket }, fleet);
    },
    async read(name) {
      if (!(await exists(await openManager(), bucket))) throw new Error('it is gone');
      const found = await (await objects.open(bucket, false)).get(name);
      if (found === null) throw new Error('it is gone');
      found.error.catch(() => {}); // what is read ends with it, too
      return readSnapshotFile(await readAll(found.data));
    },
    async write(head, content) {
      const store = await objects.create(bucket, { replicas, description });
      const meta = { name: nameOf(head.position), metadata: { head: JSON.stringify(head) } };
      const stream = Readable.toWeb(writeSnapshotFile(head, content)) as ReadableStream<Uint8Array>;
      const { size } = await store.put(meta, stream);
      const stored = { manager: await openManager(), store, bucket };
      await prune(stored);
      await removeCutOff(stored, silentMs);
      return { ...head, name: meta.name, bytes: size };
    },
  };
}

/** The library waits without end for a chunk that is gone, as one of an object that was removed meanwhile is. */
async function readAll(data: ReadableStream<Uint8Array>): Promise<Uint8Array> {
  const reader = data.getReader();
  const chunks: Uint8Array[] = [];
  try {
    for (;;) {
      const { done, value } = await inTime(reader.read(), chunkTimeoutMs);
      if (done) return Buffer.concat(chunks);
      chunks.push(value);
    }
  } finally {
    void reader.cancel().catch(() => {});
  }
}

/** Digits only. */
const nameOf = ({ seq }: LogPosition): string => String(seq).padStart(16, '0');

type Bucket = { readonly manager: JetStreamManager; readonly store: ObjectStore; readonly bucket: string };

const exists = async (manager: JetStreamManager, bucket: string): Promise<boolean> =>
  (await manager.streams.info(`OBJ_${bucket}`).catch(nullIfMissing)) !== null;

async function listIn(bucket: Bucket, fleet: string): Promise<readonly SnapshotInfo[]> {
  return (await newestFirst(bucket)).flatMap((info) => {
    const head = headOf(info);
    return head === null || head.fleet !== fleet ? [] : [{ ...head, name: info.name, bytes: info.size }];
  });
}

/**
 * As the server has stored them: a log that begins anew counts from 1 again, and each writer has a clock of its own. The
 * stream's leader says which there are: the library's list comes from any node, which may lag and know of none.
 */
async function newestFirst({ manager, store, bucket }: Bucket): Promise<readonly ObjectInfo[]> {
  const prefix = `$O.${bucket}.M.`;
  const { state } = await manager.streams.info(`OBJ_${bucket}`, { subjects_filter: `${prefix}*` });
  const names = Object.keys(state.subjects ?? {}).map((it) =>
    Buffer.from(it.slice(prefix.length), 'base64').toString(),
  );
  const found = await Promise.all(names.map((name) => store.info(name)));
  return found.filter((it): it is ObjectInfo => it !== null && !it.deleted).sort((a, b) => b.revision - a.revision);
}

/** Null: it is none of ours. */
function headOf({ metadata }: ObjectInfo): SnapshotHead | null {
  try {
    const head = JSON.parse(metadata?.head ?? '') as SnapshotHead;
    return Number.isSafeInteger(head.position.seq) ? head : null;
  } catch {
    return null;
  }
}

/** The store itself leaves a note of each object that was deleted, for ever. */
async function prune(stored: Bucket): Promise<void> {
  const { manager, store, bucket } = stored;
  for (const { name } of (await newestFirst(stored)).slice(keptCount)) {
    await store.delete(name);
    const filter = `$O.${bucket}.M.${Buffer.from(name).toString('base64')}`;
    await manager.streams.purge(`OBJ_${bucket}`, { filter });
  }
}

/** Chunks come before the object that names them: a crash in between leaves chunks that nobody would ever ask for. */
async function removeCutOff(stored: Bucket, silentMs: number): Promise<void> {
  const { manager, bucket } = stored;
  const stream = `OBJ_${bucket}`;
  const chunksOf = (nuid: string) => `$O.${bucket}.C.${nuid}`;
  // The chunks first: an object that is finished in between is then in the list.
  const { state } = await manager.streams.info(stream, { subjects_filter: chunksOf('*') });
  const named = new Set((await newestFirst(stored)).map(({ nuid }) => chunksOf(nuid)));
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
