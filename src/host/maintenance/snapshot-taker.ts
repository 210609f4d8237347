/**
 * Takes snapshots of the folded state (protocol.md §15). One replica takes them, on a schedule, at shutdown and on
 * request (`service/snapshot.ts`), while the fold continues. A start continues from the newest one.
 * `nats/snapshots/snapshots.ts` lists the other steps in the life of a snapshot.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { z } from 'zod';
import { type Fleet, formatIsoTime, ownerFor, takeSnapshot } from '../../../machines/index.ts';
import { AppError } from '../../errors.ts';
import type { Logger } from '../../log.ts';
import type { Bus } from '../../nats/bus.ts';
import type { LogPosition } from '../../nats/log/log-reader.ts';
import type { FoldStart } from '../../nats/snapshots/find-start.ts';
import type { SnapshotStore } from '../../nats/snapshots/snapshot-store.ts';
import { within } from '../../timer.ts';
import type { DeadLetters } from '../fold/dead-letters.ts';
import type { FoldProgress } from '../fold/fold-progress.ts';
import type { LogClock } from '../fold/log-clock.ts';
import type { Outbox, OutboxState } from '../fold/outbox.ts';
import type { ReplyInboxes } from '../intake/reply-inboxes.ts';
import type { Lifecycle } from '../lifecycle.ts';
import type { Retention } from './log-retention.ts';
import type { PolicyPublisher, PublishedPolicies } from './policy-publisher.ts';

/** `seq` is the last folded entry, and `bytes` the stored, compressed size. */
export type SnapshotTaken = {
  readonly fleet: string;
  readonly seq: number;
  readonly at: string;
  readonly bytes: number;
  readonly workers: number;
  readonly tasks: number;
  readonly tookMs: number;
};

export type SnapshotTaker = {
  /** Takes a snapshot now. @throws AppError log.unavailable */
  take(): Promise<SnapshotTaken>;
  /** Starts the schedule. Call it when the fold has reached the head of the log. */
  open(): void;
  /** Call it after each entry, with the size of its payload. */
  onFolded(seq: number, bytes: number): void;
  /** Takes a last snapshot if there are new entries, unless NATS takes too long. */
  close(): Promise<void>;
};

/**
 * After a kill, a start folds the entries since the last snapshot with code that V8 has not compiled yet: 10,000
 * entries take about 0.4 s, and a start should add at most 1.5 s. So a snapshot is due after 10,000 entries or 16 MiB
 * of them. But a snapshot of 100,000 workers takes seconds of CPU. So the next one also waits for 20 times the time
 * that the last one took, which limits snapshots to a twentieth of the time, though for no more than 50,000 entries.
 */
const defaultSchedule: SnapshotSchedule = {
  everyEntries: 50_000,
  cheapEntries: 10_000,
  cheapBytes: 16 * 1_048_576,
  pauseFactor: 20,
  quietEntries: 1_000,
  quietMs: 300_000,
  checkEveryMs: 30_000,
  standbyMs: 60_000,
};
/** Process managers wait at least 10 s before they kill. */
const lastTimeoutMs = 5_000;
/** How long decoding runs before other tasks get a turn. */
const sliceMs = 5;

const pairs = <Value extends z.ZodType>(value: Value) => z.array(z.tuple([z.string(), value]));
/** The state of the host outside the fold. `deadFrom`: from this entry on, dead letters are not yet published. */
const hostStateSchema = z.object({
  outbox: z.array(
    z.looseObject({
      decision: z.looseObject({ worker: z.string(), attempt: z.string() }),
      owner: z.string().nullable(),
      inboxes: z.array(z.string()),
    }),
  ),
  inboxes: pairs(z.array(z.string())),
  policies: z.object({ inLog: z.string(), lastBy: z.string().nullable(), lastOf: pairs(z.string()) }),
  deadFrom: z.int().nullable(),
});

type HostState = {
  readonly outbox: OutboxState;
  readonly inboxes: ReturnType<ReplyInboxes['capture']>;
  readonly policies: PublishedPolicies;
  readonly deadFrom: number | null;
};

/** Whether `restoreHostState` can restore this value. */
export const isHostState = (host: unknown): boolean => hostStateSchema.safeParse(host).success;

export type HostStateParts = {
  readonly outbox: Outbox;
  readonly policies: PolicyPublisher;
  readonly deadLetters: DeadLetters;
  readonly retention: Retention;
};

/** Restores the host's state from `start`. Call it once, before anything is folded. */
export function restoreHostState(
  { replyInboxes }: Pick<SnapshotsOptions, 'replyInboxes'>,
  parts: HostStateParts,
  start: FoldStart,
): void {
  const state = start.host as HostState;
  parts.outbox.restore(state.outbox);
  parts.policies.restore(state.policies);
  parts.deadLetters.restore(state.deadFrom);
  replyInboxes.restore(state.inboxes);
}

type SnapshotPosition = Pick<LogPosition, 'seq' | 'atMs'>;

/**
 * A snapshot is due after `everyEntries`; or after `cheapEntries` or `cheapBytes`, once `pauseFactor` times the
 * duration of the last one has passed; or after `quietMs` if there are `quietEntries` new ones.
 */
export type SnapshotSchedule = {
  readonly everyEntries: number;
  readonly cheapEntries: number;
  readonly cheapBytes: number;
  readonly pauseFactor: number;
  readonly quietEntries: number;
  readonly quietMs: number;
  readonly checkEveryMs: number;
  /** After this time, another replica takes the snapshot instead of its owner. */
  readonly standbyMs: number;
};

export type SnapshotsOptions = {
  readonly fleet: Fleet;
  readonly replica: string;
  readonly lifecycle: Pick<Lifecycle, 'phase'>;
  readonly progress: Pick<FoldProgress, 'position' | 'seq'>;
  readonly logClock: Pick<LogClock, 'now'>;
  readonly clock: () => number;
  readonly bus: Pick<Bus, 'isConnected'>;
  readonly logger: Logger;
  readonly replyInboxes: ReplyInboxes;
  /** Null if no snapshots are taken. */
  readonly snapshotStore: SnapshotStore | null;
  /** Default: the schedule of protocol.md §15. */
  readonly snapshotSchedule?: SnapshotSchedule | undefined;
};

export function createSnapshotTaker(options: SnapshotsOptions, parts: HostStateParts): SnapshotTaker {
  const { fleet, progress, logger, bus, snapshotStore: store } = options;
  const schedule = options.snapshotSchedule ?? defaultSchedule;
  const coverage = createCoverage(options, schedule);
  let dueSinceMs: number | null = null;
  let timer: NodeJS.Timeout | null = null;
  let taking: Promise<unknown> = Promise.resolve();
  let checking = false;
  let checkedSeq = 0;

  const take = (): Promise<SnapshotTaken> => {
    const next = taking.then(async () => {
      coverage.begin();
      const taken = await write(options, parts);
      coverage.end(taken);
      dueSinceMs = null;
      void parts.retention.run();
      return taken;
    });
    taking = next.catch(() => {});
    return next;
  };
  const takeIfDue = async () => {
    if (!coverage.isDue()) return;
    dueSinceMs ??= options.clock();
    const isOurs = ownerFor(fleet, 'snapshots', null) === options.replica;
    if (!isOurs && options.clock() - dueSinceMs < schedule.standbyMs) return;
    await coverage.find();
    if (coverage.isDue()) await take();
  };
  const check = async () => {
    if (checking || options.lifecycle.phase !== 'head' || !bus.isConnected()) return;
    checking = true;
    await takeIfDue().catch((error: unknown) => logger.warn({ err: error }, 'snapshot failed; trying again later'));
    checking = false;
  };
  const takeLast = async () => {
    await taking;
    if (progress.seq === 0 || !bus.isConnected()) return;
    await coverage.find();
    if (coverage.entriesAfter() > 0) await take();
  };
  return {
    take,
    open() {
      if (store === null) return;
      coverage.open();
      timer ??= setInterval(() => void check(), schedule.checkEveryMs).unref();
      void decodeInTurns(options);
    },
    onFolded(seq, bytes) {
      coverage.add(bytes);
      // No snapshots are taken behind the head, so check again at the first entry after catching up.
      if (timer === null || seq - checkedSeq < schedule.quietEntries || options.lifecycle.phase !== 'head') return;
      checkedSeq = seq;
      void check();
    },
    async close() {
      if (timer === null) return;
      clearInterval(timer);
      timer = null;
      // Replicas that stop together write and drop the same snapshots, so one of them may fail. That is harmless.
      const last = takeLast().catch((error: unknown) =>
        logger.warn({ why: (error as Error).message }, 'no last snapshot was taken; the next start folds more entries'),
      );
      await within(lastTimeoutMs, last);
    },
  };
}

/** Tracks what the newest snapshot covers, and how much a start would have to fold after it. */
function createCoverage(
  { progress, logClock, snapshotStore: store }: Pick<SnapshotsOptions, 'progress' | 'logClock' | 'snapshotStore'>,
  { everyEntries, cheapEntries, cheapBytes, pauseFactor, quietEntries, quietMs }: SnapshotSchedule,
) {
  let newest: SnapshotPosition = { seq: 0, atMs: 0 };
  let bytesAfter = 0;
  /** How long this replica's last snapshot took; 0 before the first. */
  let tookMs = 0;
  const entriesAfter = () => progress.seq - newest.seq;
  const find = async () => {
    const positions = (await (store?.list() ?? [])).map(({ position }) => position);
    const found = positions.find(({ seq }) => seq <= progress.seq) ?? newest;
    if (found.seq !== newest.seq) bytesAfter = 0;
    newest = found;
  };
  return {
    entriesAfter,
    find,
    isDue() {
      const entries = entriesAfter();
      if (entries >= everyEntries) return true;
      const sinceMs = logClock.now() - newest.atMs;
      const isWorthwhile = entries >= cheapEntries || bytesAfter >= cheapBytes;
      return (isWorthwhile && sinceMs >= tookMs * pauseFactor) || (entries >= quietEntries && sinceMs >= quietMs);
    },
    open() {
      // Until the newest snapshot is found, assume it was taken now.
      newest = { seq: newest.seq, atMs: logClock.now() };
      void find().catch(() => {});
    },
    add(bytes: number) {
      bytesAfter += bytes;
    },
    begin() {
      bytesAfter = 0;
    },
    end(taken: SnapshotTaken) {
      newest = { seq: taken.seq, atMs: logClock.now() };
      tookMs = taken.tookMs;
    },
  };
}

async function write(
  options: SnapshotsOptions,
  { outbox, policies, deadLetters }: HostStateParts,
): Promise<SnapshotTaken> {
  const { fleet, progress, snapshotStore, logger, replyInboxes } = options;
  const position = progress.position();
  if (snapshotStore === null || position === null || options.lifecycle.phase === 'lost')
    throw new AppError('log.unavailable', 'no snapshot was taken: nothing is folded yet');
  const startedMs = performance.now();
  const host: HostState = {
    outbox: outbox.capture(),
    inboxes: replyInboxes.capture(),
    policies: policies.capture(),
    deadFrom: deadLetters.owedFrom(),
  };
  const { size: workers } = fleet.workers;
  const { size: tasks } = fleet.tasks;
  const snapshot = takeSnapshot(fleet);
  const head = { fleet: fleet.name, rules: fleet.rules.version, position };
  try {
    const { bytes } = await snapshotStore.write(head, { lines: snapshot.lines, host });
    const { seq, atMs } = position;
    const tookMs = Math.round(performance.now() - startedMs);
    logger.info({ seq, bytes, tookMs }, 'snapshot taken');
    return { fleet: fleet.name, seq, at: formatIsoTime(atMs), bytes, workers, tasks, tookMs };
  } catch (cause) {
    throw new AppError('log.unavailable', `the snapshot was not stored: ${(cause as Error).message}`, { cause });
  } finally {
    snapshot.close();
  }
}

/** Decodes actors that the start left undecoded, so that the first request for a list does not wait for it. */
async function decodeInTurns(options: SnapshotsOptions): Promise<void> {
  const { workers, tasks, queues, dependents } = options.fleet;
  for (const map of [workers, tasks, queues, dependents]) {
    let startedMs = performance.now();
    for (const _ of map.decodeAll()) {
      if (performance.now() - startedMs < sliceMs) continue;
      await nextTurn();
      if (options.lifecycle.phase !== 'head') return;
      startedMs = performance.now();
    }
  }
}
