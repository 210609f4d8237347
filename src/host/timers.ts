/**
 * Timers: if something is due and no entry comes, a replica must append one, since only entries move the log's clock.
 * Every replica keeps timers from the folded state. The owner of the attempt fires first, the others a little later.
 */
import { type Deadline, type Entry, nextDeadline, ownerFor, timerMessageId } from '../../machines/index.ts';
import { AppError } from '../errors.ts';
import type { OnStored } from '../nats/log-submitter.ts';
import { startTimer, type Timer } from '../timer.ts';
import { type HostContext, isAtHead, subject } from './context.ts';

/** Deadlines that only change what is shown share one entry a second. */
const coarseMs = 1_000;
const standbyMs = 200;
const retryMsMin = 50;
const retryMsMax = 1_000;

type TimerFired = Extract<Entry, { readonly type: 'timer.fired' }>;

export type Timers = {
  /** The fold has advanced: schedules what is due next, once for all that is folded in one turn. */
  arm(): void;
  /** An entry that moves the log's clock was folded, of this replica or of another. */
  onFired(entry: TimerFired, replica: string | undefined): void;
  close(): void;
};

export function createTimers(context: HostContext): Timers {
  const { fleet, logClock } = context;
  let timer: Timer | null = null;
  let scheduledKey: string | null = null;
  /** What the timer is for, and when it fires, in the log's time. */
  let scheduled: Deadline | null = null;
  let firesMs = 0;
  let tries = 0;
  /** Added to the message ids: an agent has used those that all replicas would choose. */
  let unique = '';
  let armed = false;
  let closed = false;

  const wait = (next: Deadline, delayMs: number) => {
    firesMs = logClock.server() + delayMs;
    timer = startTimer(delayMs, () => fire(next));
  };
  const schedule = () => {
    armed = false;
    // What is still folded while this replica leaves must not keep its process alive.
    if (closed || !isAtHead(context)) return;
    const next = nextDeadline(fleet);
    const key = next === null ? null : keyOf(next);
    if (key === scheduledKey && timer !== null) return;
    if (key !== scheduledKey) [tries, unique] = [0, ''];
    timer?.clear();
    timer = null;
    scheduledKey = key;
    scheduled = next;
    if (next === null) return;
    // While the server's clock is behind the log's, nothing that is stored moves that.
    const nowMs = logClock.server();
    wait(next, Math.max(dueMs(next) - nowMs, 0) + (isFirst(context, next) ? 0 : standbyMs));
  };
  /** Nothing is due before the timer fires, which then checks again: deadlines only ever become later. */
  const isEarlyEnough = () => {
    const first = fleet.deadlines.peek();
    if (timer === null || scheduled === null || first === undefined) return false;
    return dueMs(first) >= firesMs || isSame(first, scheduled);
  };
  const fire = (next: Deadline) => {
    timer = null;
    // It is armed again at the head.
    if (closed || !isAtHead(context)) return;
    const current = nextDeadline(fleet);
    if (current === null || keyOf(current) !== keyOf(next)) {
      schedule();
      return;
    }
    // While the connection is broken an append would only queue up with all the later tries.
    if (dueMs(next) <= logClock.server() && context.bus.isConnected()) {
      tries += 1;
      append(context, next, `${tries}${unique}`, (answer) => {
        // Another replica's entry has moved the clock; its ids are taken, so the next tries need others.
        if (!(answer instanceof AppError) && answer.duplicate) unique = `:${context.newId()}`;
      });
    }
    // It may be too early by the log's clock, or not be stored at all: then another one, under a new id.
    wait(next, againMs(context, next, tries));
  };
  return {
    arm() {
      if (armed || isEarlyEnough()) return;
      armed = true;
      setImmediate(schedule);
    },
    onFired(entry, replica) {
      if (replica === context.replica || timer === null || scheduled === null) return;
      if (!isOf(entry, scheduled) || keyOf(nextDeadline(fleet) ?? scheduled) !== scheduledKey) return;
      // It came too early. Whoever appended it goes on, and the others would only append as many more.
      tries += 1;
      timer.clear();
      wait(scheduled, againMs(context, scheduled, tries));
    },
    close() {
      closed = true;
      timer?.clear();
      timer = null;
    },
  };
}

function append(context: HostContext, deadline: Deadline, tries: string, onAnswer: OnStored): void {
  const { kind, id, attempt } = deadline;
  const entity = kind === 'evaluation' ? 'task' : 'worker';
  const data = kind === 'attempt' || kind === 'evaluation' ? { timer: kind, attempt } : { timer: kind };
  const headers = { messageId: timerMessageId(deadline, tries), replica: context.replica };
  context.log.submit(subject(context, `own.${entity}.${id}.timer.fired`), JSON.stringify(data), headers, onAnswer);
}

/** How long after a try the next one is. */
function againMs(context: HostContext, next: Deadline, tries: number): number {
  const untilDueMs = dueMs(next) - context.logClock.server();
  const againMs = Math.max(retryMsMin, untilDueMs, Math.min(retryMsMax, retryMsMin * tries));
  return againMs + (isFirst(context, next) ? 0 : standbyMs);
}

const isCoarse = ({ kind }: Deadline) => kind === 'stale' || kind === 'limit';
const dueMs = (deadline: Deadline) =>
  isCoarse(deadline) ? Math.ceil(deadline.atMs / coarseMs) * coarseMs : deadline.atMs;
const isSame = (a: Deadline, b: Deadline) =>
  a.atMs === b.atMs && a.kind === b.kind && a.id === b.id && a.attempt === b.attempt;
const isOf = ({ id, data }: TimerFired, deadline: Deadline) =>
  id === deadline.id && data.timer === deadline.kind && (data.attempt ?? '') === deadline.attempt;
const keyOf = ({ kind, id, attempt, atMs }: Deadline) => `${kind}:${id}:${attempt}:${atMs}`;

function isFirst({ fleet, replica }: HostContext, deadline: Deadline): boolean {
  const owner =
    deadline.kind === 'attempt' ? fleet.workers.get(deadline.id)?.owner : ownerFor(fleet, keyOf(deadline), null);
  return owner === null || owner === undefined || owner === replica;
}
