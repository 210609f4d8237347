/**
 * Notices: people get a notice of each escalation, and a reminder every `remindMs` until somebody acknowledges or
 * resolves it. One replica sends them: the one that the fold named when the escalation began, or another if that one is
 * gone. A delivered notice is an entry, so neither a restart nor another replica repeats it. The entry is appended after
 * the delivery: a crash between the two repeats the notice under the same delivery id.
 */
import {
  type EscalatedEntity,
  type Escalation,
  notifiedMessageId,
  ownerFor,
  parseIsoTime,
} from '../../machines/index.ts';
import { startTimer, type Timer } from '../timer.ts';
import { type HostContext, isAtHead } from './context.ts';
import {
  createNotice,
  type EscalationRules,
  escalatedAt,
  escalationKey,
  type Notice,
  type Notify,
  openDelivery,
  openEscalation,
} from './notice.ts';
import { appendUntilFolded } from './own-entries.ts';

export type Notices = {
  /** Takes effect at once, also for open escalations. */
  configure(rules: EscalationRules): void;
  /** The fold has changed this escalation. */
  onChanged(entity: EscalatedEntity, id: string): void;
  /** The log's head is reached. */
  open(): void;
  close(): void;
};

type Watch = {
  timer: Timer | null;
  sending: { readonly delivery: string; readonly abort: AbortController; isTaken: boolean } | null;
  /** When the last delivery failed for good; the next try is the next reminder. */
  failedMs: number | null;
  /** The notices that went into the service's own log, without a `notify`. */
  warned: { readonly count: number; readonly atMs: number };
};

type State = {
  readonly context: HostContext;
  /** By `escalationKey`. */
  readonly watches: Map<string, Watch>;
  rules: EscalationRules;
  closed: boolean;
};

/** How long the other replicas wait for the first. */
const standbyMs = 1_000;

export function createNotices(context: HostContext): Notices {
  const state: State = { context, watches: new Map(), rules: { remindMs: null, notify: null }, closed: false };
  let hasOpened = false;
  const scheduleAll = (isNew: boolean) => {
    for (const key of context.fleet.escalated.keys()) schedule(state, key, isNew);
  };
  return {
    configure(rules) {
      state.rules = rules;
      for (const watch of state.watches.values()) reset(watch);
      scheduleAll(false);
    },
    onChanged: (entity, id) => schedule(state, escalationKey(entity, id), true),
    open() {
      // What began while this replica was behind is new to it; what it finds at its start was new to others.
      scheduleAll(hasOpened);
      hasOpened = true;
    },
    close() {
      state.closed = true;
      for (const key of [...state.watches.keys()]) drop(state, key);
    },
  };
}

/** `isNew`: the escalation began while this replica was at the head. */
function schedule(state: State, key: string, isNew: boolean): void {
  const { context, watches, rules } = state;
  const { fleet, logClock } = context;
  if (state.closed || !isAtHead(context)) return;
  const escalation = openEscalation(fleet, key);
  if (escalation === null) {
    drop(state, key);
    return;
  }
  const watch = watches.get(key) ?? newWatch(isNew ? 0 : 1, logClock.now());
  watches.set(key, watch);
  if (watch.sending !== null) {
    if (watch.sending.delivery === openDelivery(fleet, key)) return;
    watch.sending = null;
    watch.failedMs = null;
  }
  const dueMs = dueMsOf(escalation, watch, rules);
  if (dueMs === null) return;
  const isFirst = ownerFor(fleet, key, escalatedAt(fleet, key).owner) === context.replica;
  wait(state, key, watch, dueMs + (isFirst ? 0 : standbyMs) - logClock.now());
}

const newWatch = (count: number, atMs: number): Watch => ({
  timer: null,
  sending: null,
  failedMs: null,
  warned: { count, atMs },
});

function drop({ watches }: State, key: string): void {
  const watch = watches.get(key);
  watch?.timer?.clear();
  watch?.sending?.abort.abort();
  watches.delete(key);
}

/** New rules make everything due again, except a notice that was delivered and is only not stored yet. */
function reset(watch: Watch): void {
  watch.failedMs = null;
  watch.timer?.clear();
  if (watch.sending?.isTaken !== false) return;
  watch.sending.abort.abort();
  watch.sending = null;
}

function wait(state: State, key: string, watch: Watch, delayMs: number): void {
  watch.timer?.clear();
  const onDue = () => {
    watch.timer = null;
    if (!state.closed && state.watches.get(key) === watch) void notifyIfOurs(state, key, watch);
  };
  watch.timer = startTimer(delayMs, onDue);
}

/** When the next notice is due, in the log's time; null: never. */
function dueMsOf(escalation: Escalation, watch: Watch, { remindMs, notify }: EscalationRules): number | null {
  const [count, at] = notify === null ? [watch.warned.count, watch.warned.atMs] : [escalation.notified, null];
  const toldMs = at ?? parseIsoTime(escalation.notifiedAt ?? escalation.since) ?? 0;
  if (count === 0 && watch.failedMs === null) return toldMs;
  return remindMs === null ? null : Math.max(toldMs, watch.failedMs ?? 0) + remindMs;
}

async function notifyIfOurs(state: State, key: string, watch: Watch): Promise<void> {
  const { context } = state;
  const { bus, fleet, logClock, replica } = context;
  // A replica that is cut off from the others cannot know whose turn it is.
  const isOurs = bus.isConnected() && (await findOwner(context, key)) === replica;
  if (state.closed || state.watches.get(key) !== watch || watch.sending !== null) return;
  const escalation = openEscalation(fleet, key);
  const { rules } = state;
  const dueMs = escalation === null ? null : dueMsOf(escalation, watch, rules);
  if (escalation === null || dueMs === null || dueMs > logClock.now()) schedule(state, key, false);
  else if (!isOurs) wait(state, key, watch, standbyMs);
  else if (rules.notify === null) {
    warn(context, key, escalation, watch.warned.count);
    watch.warned = { count: watch.warned.count + 1, atMs: logClock.now() };
    schedule(state, key, false);
  } else await send(state, key, watch, createNotice(fleet, key, escalation), rules.notify);
}

/** The first owner in line that answers a ping: by the log alone a killed replica stays a member for 30 s. */
async function findOwner({ bus, fleet, replica }: HostContext, key: string): Promise<string> {
  const gone = new Set<string>();
  for (;;) {
    const owner = ownerFor(fleet, key, fleet.escalated.get(key)?.owner ?? null, gone);
    if (owner === null || owner === replica) return replica;
    if ((await bus.ping(owner)) !== 'gone') return owner;
    gone.add(owner);
  }
}

function warn({ fleet, logger }: HostContext, key: string, escalation: Escalation, reminder: number): void {
  const { entity, id } = escalatedAt(fleet, key);
  const { since, reason, cause } = escalation;
  const line = { [entity === 'worker' ? 'workerId' : 'taskId']: id, since, reason, cause, reminder };
  logger.warn(line, reminder === 0 ? 'escalated: needs a person' : 'still escalated: nobody has looked');
}

async function send(state: State, key: string, watch: Watch, notice: Notice, notify: Notify): Promise<void> {
  const { context } = state;
  const { logger } = context;
  const { delivery, entity, id, reminder } = notice;
  const sending = { delivery, abort: new AbortController(), isTaken: false };
  const { signal } = sending.abort;
  watch.sending = sending;
  try {
    await notify(notice, signal);
  } catch (error) {
    if (signal.aborted || watch.sending !== sending) return;
    const again = state.rules.remindMs === null ? 'not before the next start' : 'at the next reminder';
    logger.error({ delivery, why: (error as Error).message, again }, 'could not notify anybody of an escalation');
    watch.sending = null;
    watch.failedMs = context.logClock.now();
    schedule(state, key, false);
    return;
  }
  sending.isTaken = true;
  logger.info({ delivery, reminder }, 'notified of an escalation');
  await appendUntilFolded(context, {
    tail: `own.${entity}.${id}.escalation.notified`,
    data: { count: reminder + 1, delivery },
    messageId: notifiedMessageId(delivery),
    isNeeded: () => !state.closed && openDelivery(context.fleet, key) === delivery,
  });
}
