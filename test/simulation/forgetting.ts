/**
 * Forgetting (protocol.md §15), computed from the log independently of the fold: a stopped worker or task that is not
 * named for `forget` disappears with the next entry, and is new when it appears again. Nothing else disappears.
 */
import { type Decision, type Entry, type Fleet, isKnownAttempt, readEntry } from '../../machines/index.ts';
import { historyOf, type StoredMessage, type Stream } from './nats/store.ts';

/** A worker's life begins with its first entry after it was forgotten. */
export type Lives = {
  /** How often `worker` had been forgotten when the entry at `seq` was folded. */
  at(worker: string, seq: number): number;
  /** Number of forgotten workers and tasks. */
  readonly count: number;
  /** Violations of the protocol. */
  readonly failures: readonly string[];
};

/** A known worker or task. `stoppedMs`: time at which it was seen stopped, or null. */
type Seen = { namedMs: number; stoppedMs: number | null; attempts: string[] };
/** `worker`: the worker whose decision stops it. */
type Now = { readonly isStopped: boolean; readonly isKept: boolean; readonly worker: string | null };

/** Folds a message like a replica. @returns the resulting decisions */
export type Fold = (fleet: Fleet, message: StoredMessage) => readonly Decision[];

export function readLives(log: Stream, fleet: Fleet, fold: Fold): Lives {
  const failures: string[] = [];
  const ends = new Map<string, number[]>();
  const seen = new Map<string, Seen>();
  for (const message of historyOf(log)) {
    const before = new Map([...seen].map(([key]) => [key, nowOf(fleet, key)]));
    const { forgetMs } = fleet.policies;
    const allowed = fold(fleet, message).filter(({ decision }) => decision === 'allow');
    const entry = validEntryOf(message);
    const named = entry === null ? [] : namesOf(entry);
    for (const [key, it] of seen) {
      const dueMs = forgetMs === null ? Number.POSITIVE_INFINITY : Math.max(it.namedMs, it.stoppedMs ?? 0) + forgetMs;
      const was = before.get(key) as Now;
      // Only entries move the clock. After the clock was set back, deadlines wait until it has caught up.
      const isDue = entry !== null && was.isStopped && !was.isKept && dueMs <= message.atMs;
      const isGone = isNew(fleet, key, it) || (named.includes(key) && isJudgedAnew(fleet, entry as Entry, it));
      const place = `at ${message.seq} ${key}`;
      if (isGone && dueMs > fleet.nowMs) failures.push(`${place} is forgotten ${dueMs - fleet.nowMs} ms early`);
      if (isGone && was.isStopped && was.isKept) failures.push(`${place} is forgotten, and was to be kept`);
      if (isDue && !isGone && (it.attempts.length > 0 || !named.includes(key)))
        failures.push(`${place} was to be forgotten ${fleet.nowMs - dueMs} ms ago`);
      if (!isGone) continue;
      ends.set(key, [...(ends.get(key) ?? []), message.seq]);
      seen.delete(key);
    }
    for (const key of named) note(fleet, seen, key, entry as Entry);
    for (const [key, it] of seen) {
      const { isStopped } = nowOf(fleet, key);
      const { worker } = before.get(key) ?? { worker: null };
      // A decision that a deadline made has the time of the deadline, which is before the entry's (protocol.md §1).
      const stop = allowed.find((decision) => decision.worker === worker);
      const stopMs = stop === undefined ? fleet.nowMs : Date.parse(stop.at);
      it.stoppedMs = isStopped ? (it.stoppedMs ?? stopMs) : null;
    }
  }
  return {
    failures,
    count: [...ends.values()].flat().length,
    at: (worker, seq) => (ends.get(`worker ${worker}`) ?? []).filter((it) => it <= seq).length,
  };
}

/** For a log without forgetting. */
export const oneLife: Lives = { at: () => 0, count: 0, failures: [] };

function note(fleet: Fleet, seen: Map<string, Seen>, key: string, entry: Entry): void {
  if (recordOf(fleet, key) === undefined) return;
  const it = seen.get(key) ?? { namedMs: 0, stoppedMs: null, attempts: [] };
  it.namedMs = fleet.nowMs;
  if (entry.type === 'stop.attempted' && entry.data.attempt !== undefined) it.attempts.push(entry.data.attempt);
  seen.set(key, it);
}

/** By its subject or its `task`; `timer.fired` and decisions do not count. */
function namesOf(entry: Entry): string[] {
  const entity = {
    worker: 'worker',
    ownWorker: 'worker',
    task: 'task',
    ownTask: 'task',
    queue: null,
    ownQueue: null,
    ownFleet: null,
  } as const;
  const kind = entity[entry.area];
  if (kind === null || entry.type === 'timer.fired') return [];
  const { task } = entry.data as { readonly task?: unknown };
  return [`${kind} ${entry.id}`, ...(entry.area === 'worker' && typeof task === 'string' ? [`task ${task}`] : [])];
}

function validEntryOf({ subject, data }: StoredMessage): Entry | null {
  const read = readEntry(subject, data.toString(), data.length);
  return read !== null && 'data' in read ? read : null;
}

const recordOf = (fleet: Fleet, key: string) => {
  const [kind, id = ''] = key.split(' ');
  return kind === 'worker' ? fleet.workers.get(id) : fleet.tasks.get(id);
};

function nowOf(fleet: Fleet, key: string): Now {
  const [kind, id = ''] = key.split(' ');
  if (kind === 'task') {
    const snapshot = fleet.tasks.get(id)?.snapshot;
    const worker = snapshot?.context.worker ?? null;
    return { isStopped: snapshot?.value === 'stopped', isKept: fleet.dependents.has(id), worker };
  }
  const snapshot = fleet.workers.get(id)?.snapshot;
  const isKept = (snapshot?.context.worker.tasks.length ?? 0) > 0;
  return { isStopped: snapshot?.value.state === 'stopped', isKept, worker: id };
}

/** Whether the worker does not exist or no longer knows its attempts. */
function isNew(fleet: Fleet, key: string, { attempts }: Seen): boolean {
  const record = recordOf(fleet, key);
  if (record === undefined) return true;
  const [first] = attempts;
  return first !== undefined && 'known' in record && !isKnownAttempt(record.known, first);
}

/** A repeated attempt is judged only if it was forgotten. */
function isJudgedAnew(fleet: Fleet, entry: Entry, { attempts }: Seen): boolean {
  if (entry.type !== 'stop.attempted' || !attempts.includes(entry.data.attempt ?? '')) return false;
  const worker = fleet.workers.get(entry.id)?.snapshot.context.worker;
  return worker?.attempt?.seq === fleet.seq || worker?.lastDecision?.seq === fleet.seq;
}
