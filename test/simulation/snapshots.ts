/** Snapshots in the simulated store: which ones a start can use, and how to damage one. */
import type { SnapshotInfo } from '../../src/nats/snapshots/snapshot-bucket.ts';
import { messageAt, purge, type Stream } from './nats/store.ts';
import type { Random } from './random.ts';
import type { World } from './world.ts';

const bucket = 'STOPGATE-SNAPSHOTS_main';

type StoredObject = {
  readonly nuid: string;
  readonly deleted: boolean;
  readonly mtime: string;
  readonly metadata: { readonly head: string };
};

const storeOf = ({ disk }: World): Stream | undefined => disk.streams.get(`OBJ_${bucket}`);

/** Lists snapshots, newest first. */
function objectsOf(store: Stream): StoredObject[] {
  return store.messages
    .filter(({ subject }) => subject.startsWith(`$O.${bucket}.M.`))
    .map(({ data }) => JSON.parse(data.toString()) as StoredObject)
    .filter(({ deleted }) => !deleted)
    .sort((a, b) => (a.mtime < b.mtime ? 1 : -1));
}

const placeOf = ({ metadata }: StoredObject) => (JSON.parse(metadata.head) as Pick<SnapshotInfo, 'position'>).position;

/** Sequences covered by intact snapshots that belong to the current log. */
export function fittingSeqs(world: World): number[] {
  const [store, { log }] = [storeOf(world), world];
  if (store === undefined || log === undefined) return [];
  const isOfLog = ({ seq, atMs, subject }: ReturnType<typeof placeOf>) => {
    const found = messageAt(log, seq);
    return found?.atMs === atMs && found.subject === subject;
  };
  return objectsOf(store)
    .filter(({ nuid }) => !world.damaged.has(nuid))
    .map(placeOf)
    .filter(isOfLog)
    .map(({ seq }) => seq);
}

/** Removes or changes a chunk of the newest snapshot. */
export function damageNewest(world: World, random: Random): void {
  const store = storeOf(world);
  const newest = store === undefined ? undefined : objectsOf(store)[0];
  if (store === undefined || newest === undefined) return;
  const subject = `$O.${bucket}.C.${newest.nuid}`;
  world.damaged.add(newest.nuid);
  world.trace(`the snapshot of ${placeOf(newest).seq} is damaged`);
  if (random.chance(0.3)) {
    purge(store, (message) => message.subject === subject);
    return;
  }
  store.messages = store.messages.map((message) =>
    message.subject === subject ? { ...message, data: damaged(message.data, random) } : message,
  );
}

function damaged(data: Buffer, random: Random): Buffer {
  const bytes = Buffer.from(data);
  const index = random.int(0, bytes.length - 1);
  bytes[index] = (bytes[index] as number) ^ random.int(1, 255);
  return bytes;
}

/** Whether the log is complete or a snapshot covers its missing beginning. */
export const isCovered = (world: World, log: Stream): boolean =>
  log.firstSeq === 1 || fittingSeqs(world).some((seq) => seq + 1 >= log.firstSeq);
