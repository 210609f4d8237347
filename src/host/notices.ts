/**
 * Notices: people are told of each escalation, and again every `remindMs` until somebody acknowledges or resolves it.
 * One replica tells: the one that the fold named when it began, another where that one has gone. What was told is an
 * entry, so that no restart and no other replica tells it again. It is appended after the delivery: a crash between
 * the two repeats the notice under the same delivery id.
 */
import {
  type Decision,
  type EscalatedEntity,
  type Escalation,
  type Fleet,
  nextDelivery,
  ownerFor,
  parseIsoTime,
} from '../../machines/index.ts';
import { appendUntilStored, type HostContext } from './context.ts';

/** What people are told; the body of a webhook. `reminder`: 0 when it is new. */
export type Notice = {
  readonly v: 1;
  readonly kind: 'escalation' | 'reminder';
  readonly fleet: string;
  readonly entity: EscalatedEntity;
  readonly id: string;
  readonly since: string;
  readonly reason: string;
  readonly cause: Escalation['cause'];
  readonly attempt: string | null;
  /** As long as it is the worker's last. */
  readonly decision?: Decision;
  readonly reminder: number;
  readonly delivery: string;
};
/** Resolves when somebody has taken it; rejects with why not, after a bounded time, and when `signal` fires. */
export type Notify = (notice: Notice, signal: AbortSignal) => Promise<void>;

/** `remindMs` null: told once. `notify` null: there is only the log to tell it to. */
export type EscalationRules = { readonly remindMs: number | null; readonly notify: Notify | null };

export type Notices = {
  /** In force at once, also for those that are escalated already. */
  configure(rules: EscalationRules): void;
  /** The fold has changed this escalation. */
  changed(entity: EscalatedEntity, id: string): void;
  /** The log's head is reached. */
  open(): void;
  close(): void;
};

type Watch = {
  timer: NodeJS.Timeout | null;
  sending: { readonly delivery: string; readonly abort: AbortController; isTaken: boolean } | null;
  /** When the last notice was given up; it is tried again at the next reminder. */
  failedMs: number | null;
  /** What the log was told, where there is nobody else to tell. */
  warned: { readonly count: number; readonly atMs: number };
};

/** How much later than the first the others look whether it has told. */
const standbyMs = 1_000;
const takenMs = 1_000;
const timeoutMsMax = 2 ** 31 - 1;

export function createNotices(context: HostContext): Notices {
  const { fleet, replica, logger } = context;
  const watches = new Map<string, Watch>();
  let rules: EscalationRules = { remindMs: null, notify: null };
  let closed = false;

  const drop = (key: string) => {
    const watch = watches.get(key);
    if (watch?.timer != null) clearTimeout(watch.timer);
    watch?.sending?.abort.abort();
    watches.delete(key);
  };
  const wait = (key: string, watch: Watch, delayMs: number, next: () => unknown) => {
    if (watch.timer !== null) clearTimeout(watch.timer);
    watch.timer = setTimeout(
      () => {
        watch.timer = null;
        if (!closed && watches.get(key) === watch) next();
      },
      Math.min(Math.max(0, delayMs), timeoutMsMax),
    );
  };
  /** `isNew`: this replica saw it begin. */
  const look = (key: string, isNew: boolean) => {
    if (closed || !context.atHead()) return;
    const escalation = untoldOf(fleet, key);
    if (escalation === null) {
      drop(key);
      return;
    }
    const watch = watches.get(key) ?? newWatch(isNew ? 0 : 1, context.logNow());
    watches.set(key, watch);
    if (watch.sending !== null) {
      if (watch.sending.delivery === deliveryOf(fleet, key)) return;
      watch.sending = null;
      watch.failedMs = null;
    }
    const dueMs = dueOf(escalation, watch, rules);
    if (dueMs === null) return;
    const standby = ownerFor(fleet, key, ownerAsked(fleet, key)) === replica ? 0 : standbyMs;
    wait(key, watch, dueMs + standby - context.logNow(), () => void tell(key, watch));
  };
  const tell = async (key: string, watch: Watch) => {
    // Cut off from the others nobody knows whose turn it is.
    const isOurs = context.bus.isConnected() && (await findOwner(context, key)) === replica;
    if (closed || watches.get(key) !== watch || watch.sending !== null) return;
    const escalation = untoldOf(fleet, key);
    const dueMs = escalation === null ? null : dueOf(escalation, watch, rules);
    if (escalation === null || dueMs === null || dueMs > context.logNow()) look(key, false);
    else if (!isOurs) wait(key, watch, standbyMs, () => void tell(key, watch));
    else if (rules.notify === null) {
      warn(key, escalation, watch.warned.count);
      watch.warned = { count: watch.warned.count + 1, atMs: context.logNow() };
      look(key, false);
    } else await send(key, watch, noticeOf(fleet, key, escalation), rules.notify);
  };
  const warn = (key: string, { since, reason, cause }: Escalation, reminder: number) => {
    const { entity, id } = placeOf(fleet, key);
    const line = { [entity === 'worker' ? 'workerId' : 'taskId']: id, since, reason, cause, reminder };
    logger.warn(line, reminder === 0 ? 'escalated: a person must look' : 'still escalated: nobody has looked');
  };
  const send = async (key: string, watch: Watch, notice: Notice, notify: Notify) => {
    const { delivery } = notice;
    const sending = { delivery, abort: new AbortController(), isTaken: false };
    const { signal } = sending.abort;
    watch.sending = sending;
    try {
      await notify(notice, signal);
    } catch (error) {
      if (signal.aborted || watch.sending !== sending) return;
      const again = rules.remindMs === null ? 'not before the next start' : 'at the next reminder';
      logger.error({ delivery, why: (error as Error).message, again }, 'nobody could be told of an escalation');
      watch.sending = null;
      watch.failedMs = context.logNow();
      look(key, false);
      return;
    }
    sending.isTaken = true;
    logger.info({ delivery, reminder: notice.reminder }, 'told of an escalation');
    await store(context, notice, () => !closed && deliveryOf(fleet, key) === delivery);
  };

  return {
    configure(next) {
      rules = next;
      for (const watch of watches.values()) {
        watch.failedMs = null;
        if (watch.timer !== null) clearTimeout(watch.timer);
        // What was taken is only to be stored yet.
        if (watch.sending?.isTaken !== false) continue;
        watch.sending.abort.abort();
        watch.sending = null;
      }
      for (const key of fleet.escalated.keys()) look(key, false);
    },
    changed: (entity, id) => look(`${entity}/${id}`, true),
    open() {
      for (const key of fleet.escalated.keys()) look(key, false);
    },
    close() {
      closed = true;
      for (const key of [...watches.keys()]) drop(key);
    },
  };
}

const newWatch = (count: number, atMs: number): Watch => ({
  timer: null,
  sending: null,
  failedMs: null,
  warned: { count, atMs },
});

const placeOf = (fleet: Fleet, key: string) => fleet.escalated.get(key) as { entity: EscalatedEntity; id: string };
const ownerAsked = (fleet: Fleet, key: string) => fleet.escalated.get(key)?.owner ?? null;

/** Null: there is none, somebody looks already, or he is told of it by its worker's. */
function untoldOf(fleet: Fleet, key: string): Escalation | null {
  const escalated = fleet.escalated.get(key);
  if (escalated === undefined) return null;
  const { entity, id } = escalated;
  const task = entity === 'task' ? (fleet.tasks.get(id)?.snapshot.context.escalation ?? null) : null;
  const found = entity === 'task' ? task : (fleet.workers.get(id)?.snapshot.context.worker.escalation ?? null);
  return found === null || found.acknowledgedBy !== null || task?.withWorker === true ? null : found;
}

function deliveryOf(fleet: Fleet, key: string): string | null {
  const escalation = untoldOf(fleet, key);
  if (escalation === null) return null;
  const { entity, id } = placeOf(fleet, key);
  return nextDelivery(fleet.name, entity, id, escalation);
}

/** When the next notice is due, in the log's time; null: never. */
function dueOf(escalation: Escalation, watch: Watch, { remindMs, notify }: EscalationRules): number | null {
  const [count, at] = notify === null ? [watch.warned.count, watch.warned.atMs] : [escalation.notified, null];
  const toldMs = at ?? parseIsoTime(escalation.notifiedAt ?? escalation.since) ?? 0;
  if (count === 0 && watch.failedMs === null) return toldMs;
  return remindMs === null ? null : Math.max(toldMs, watch.failedMs ?? 0) + remindMs;
}

/** The first in line that lives, asked over the bus: by the log alone a killed replica is a member for 30 s. */
async function findOwner(context: HostContext, key: string): Promise<string> {
  const gone = new Set<string>();
  for (;;) {
    const owner = ownerFor(context.fleet, key, ownerAsked(context.fleet, key), gone);
    if (owner === null || owner === context.replica) return context.replica;
    if ((await context.bus.ping(owner)) !== 'gone') return owner;
    gone.add(owner);
  }
}

function noticeOf(fleet: Fleet, key: string, escalation: Escalation): Notice {
  const { entity, id } = placeOf(fleet, key);
  const { since, reason, cause, attempt, notified, seq, worker } = escalation;
  const last = fleet.workers.get(worker)?.snapshot.context.worker.lastDecision ?? null;
  return {
    ...{ v: 1, kind: notified === 0 ? 'escalation' : 'reminder', fleet: fleet.name, entity, id },
    ...{ since, reason, cause, attempt },
    ...(last !== null && last.seq === seq ? { decision: last } : {}),
    ...{ reminder: notified, delivery: nextDelivery(fleet.name, entity, id, escalation) },
  };
}

async function store(
  context: HostContext,
  { entity, id, reminder, delivery }: Notice,
  isNeeded: () => boolean,
): Promise<void> {
  const tail = `own.${entity}.${id}.escalation.notified`;
  // Message ids are anybody's words: where one of ours was used for something else, it goes in under another.
  for (let messageId = `${delivery}/notified`; isNeeded(); messageId += '/again') {
    const { duplicate } = await appendUntilStored(
      context,
      tail,
      { count: reminder + 1, delivery },
      messageId,
      isNeeded,
    );
    if (!duplicate) return;
    await new Promise((done) => setTimeout(done, takenMs));
  }
}
