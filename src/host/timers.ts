/**
 * Timers: when something is due and no entry comes, somebody must append one, since only entries move the log's
 * clock. Every replica keeps them from the folded state; the attempt's owner is first, the others a little later.
 */
import { type Deadline, nextDeadline, ownerFor } from '../../machines/index.ts';
import { type HostContext, subject } from './context.ts';

/** Deadlines that only change what is shown share one entry a second. */
const coarseMs = 1_000;
const standbyMs = 200;
const timeoutMsMax = 2 ** 31 - 1;

export type Timers = {
  /** The fold has moved: looks at what is due next. */
  arm(): void;
  close(): void;
};

export function createTimers(context: HostContext): Timers {
  let timer: NodeJS.Timeout | null = null;
  let armedFor: string | null = null;
  let tries = 0;
  let closed = false;

  let armed = false;

  /** Once for all that is folded in one turn. */
  const arm = () => {
    if (armed) return;
    armed = true;
    setImmediate(look);
  };
  const look = () => {
    armed = false;
    // What is still folded while this replica leaves must not keep its process alive.
    if (closed || !context.atHead()) return;
    const next = nextDeadline(context.fleet);
    const key = next === null ? null : keyOf(next);
    if (key === armedFor && timer !== null) return;
    if (key !== armedFor) tries = 0;
    if (timer !== null) clearTimeout(timer);
    timer = null;
    armedFor = key;
    if (next !== null) schedule(next);
  };
  const schedule = (next: Deadline) => {
    const delayMs = Math.max(0, dueMs(next) - context.logNow()) + (isFirst(context, next) ? 0 : standbyMs);
    timer = setTimeout(() => fire(next), Math.min(delayMs, timeoutMsMax));
  };
  const fire = (next: Deadline) => {
    timer = null;
    if (closed) return;
    const still = nextDeadline(context.fleet);
    if (still === null || keyOf(still) !== keyOf(next)) {
      look();
      return;
    }
    // Too early by the log's clock, or not stored at all: once more, under a new id.
    // While the connection is broken an append would only wait in line with all the later tries.
    if (dueMs(next) <= context.logNow() && context.bus.isConnected()) {
      tries += 1;
      append(context, next, tries);
    }
    const againMs = Math.max(50, dueMs(next) - context.logNow(), Math.min(1_000, 50 * tries));
    timer = setTimeout(() => fire(next), Math.min(againMs, timeoutMsMax));
  };
  return {
    arm,
    close() {
      closed = true;
      if (timer !== null) clearTimeout(timer);
      timer = null;
    },
  };
}

function append(context: HostContext, { kind, id, attempt, atMs }: Deadline, tries: number): void {
  const tail = kind === 'evaluation' ? `own.task.${id}.timer.fired` : `own.worker.${id}.timer.fired`;
  const data = kind === 'attempt' || kind === 'evaluation' ? { timer: kind, attempt } : { timer: kind };
  const messageId = `${id}:${kind}:${attempt}:${atMs}:${tries}`;
  context.log.submit(subject(context, tail), JSON.stringify(data), { messageId, replica: context.replica }, () => {});
}

const isCoarse = ({ kind }: Deadline) => kind === 'stale' || kind === 'limit';
const dueMs = (deadline: Deadline) =>
  isCoarse(deadline) ? Math.ceil(deadline.atMs / coarseMs) * coarseMs : deadline.atMs;
const keyOf = ({ kind, id, attempt, atMs }: Deadline) => `${kind}:${id}:${attempt}:${atMs}`;

function isFirst({ fleet, replica }: HostContext, deadline: Deadline): boolean {
  const owner =
    deadline.kind === 'attempt' ? fleet.workers.get(deadline.id)?.owner : ownerFor(fleet, keyOf(deadline), null);
  return owner === null || owner === undefined || owner === replica;
}
