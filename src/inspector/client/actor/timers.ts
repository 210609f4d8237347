/** The running timers of a worker, and the limits of its budgets, as texts. Pure. */
import type { WorkerView } from '../../../../machines/index.ts';
import { dollars, duration, time } from '../ui/format.ts';

/** A running timer of a worker. */
export type Timer = {
  readonly name: string;
  /** What happens at the end. */
  readonly outcome: string;
  readonly fromMs: number;
  /** Null if it has no end. */
  readonly untilMs: number | null;
};

type Times = { readonly staleAfterMs: number; readonly idleSinceMs: number; readonly nowMs: number };

export const timersOf = (view: WorkerView, { staleAfterMs, idleSinceMs, nowMs }: Times): Timer[] =>
  [attemptTimer(view), pauseTimer(view, nowMs), idleTimer(view, idleSinceMs), staleTimer(view, staleAfterMs)].filter(
    (timer) => timer !== null,
  );

function attemptTimer({ attempt }: WorkerView): Timer | null {
  if (attempt === null) return null;
  const { waitsFor, since, until, pending } = attempt;
  const isHold = waitsFor === 'hold';
  return {
    name: isHold ? 'held stop' : waitsFor,
    outcome: isHold ? 'then the stop is decided without a new task' : `${pendingText(pending)}then the check times out`,
    fromMs: Date.parse(since),
    untilMs: until === null ? null : Date.parse(until),
  };
}

/** The check's own message while it is pending. */
const pendingText = (pending: NonNullable<WorkerView['attempt']>['pending']): string =>
  pending === null
    ? ''
    : `${pending.reason ?? 'it has no result yet'} (asked again at ${time(Date.parse(pending.askedAgainAt))}); `;

/** The view may still have a pause that is over, because a timed pause ends without an entry. */
function pauseTimer({ paused }: WorkerView, nowMs: number): Timer | null {
  const untilMs = paused === null || paused.until === null ? null : Date.parse(paused.until);
  if (paused === null || (untilMs !== null && untilMs <= nowMs)) return null;
  return {
    name: 'pause',
    outcome: untilMs === null ? 'until its session ends' : 'then its stops are judged again',
    fromMs: Date.parse(paused.since),
    untilMs,
  };
}

/** Without persistence an idle worker waits for nothing. */
function idleTimer({ tasks, state, idle }: WorkerView, fromMs: number): Timer | null {
  if (tasks.length > 0 || state === 'stopped' || idle.limitMs === null) return null;
  const untilMs = fromMs + idle.limitMs;
  return { name: 'idle', outcome: 'then a stop is allowed as idle-timeout', fromMs, untilMs };
}

function staleTimer({ presence, state, lastSeen }: WorkerView, staleAfterMs: number): Timer | null {
  if (presence !== 'active' || state === 'stopped') return null;
  const fromMs = Date.parse(lastSeen);
  return { name: 'stale', outcome: 'then it is stale, unless an entry comes', fromMs, untilMs: fromMs + staleAfterMs };
}

/** An amount of a budget. */
export const amount = (kind: string, value: number): string =>
  kind === 'usd' ? dollars(value) : kind === 'time' ? duration(value) : value.toLocaleString('en');

/** How much of a budget is used. An agent that reports tokens without dollars uses an unknown amount of them. */
export function describeBudget(
  { per, kind, used, limit, configured }: WorkerView['budgets'][number],
  { session }: Pick<WorkerView['usage'], 'session'>,
): string {
  const isUnknown = kind === 'usd' && per !== 'day' && session.usd === 0 && session.tokens > 0;
  return `${isUnknown ? 'unknown' : amount(kind, used)} of ${amount(kind, limit)}${configured === undefined ? '' : ' granted'}`;
}
