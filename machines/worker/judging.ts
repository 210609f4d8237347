/** The transitions of `validating`, by which the chart decides a stop (protocol.md §4 and §5). */
import type { FailureGuard, GuardName, WorkGuard } from '../guards/decision.ts';
import type { Verdict } from './attempt.ts';

const row = (guard: Exclude<GuardName, FailureGuard>, to: Verdict) =>
  ({ guard: { type: guard, params: { to } }, target: to, actions: { type: 'decide', params: { guard, to } } }) as const;
const waitAt = (guard: GuardName) =>
  ({ guard: { type: 'mustWait', params: { guard } }, actions: { type: 'wait', params: { guard } } }) as const;
const insteadOf = (by: WorkGuard, guard: FailureGuard, to: Verdict) =>
  ({
    guard: { type: guard, params: { by, to } },
    target: to,
    actions: { type: 'decideInstead', params: { by, guard, to } },
  }) as const;

/**
 * A stop is judged here: the guards of protocol.md §5 in their order, a row for each state that one of them may lead
 * to. The action of the row that is taken makes the decision. If `checks` or `hooks` would block, `retries` and `stuck`
 * are evaluated first. An attempt that waits for an answer, or is held, stays as it is until an event brings news.
 */
export const judging = [
  { guard: 'waits' },
  row('retired', 'stopped'),
  row('escalated', 'escalated'),
  row('bypass', 'stopped'),
  row('bypass', 'escalated'),
  row('limited', 'idle'),
  row('waiting', 'idle'),
  row('waiting', 'blocked'),
  row('waiting', 'stopped'),
  row('promise', 'escalated'),
  waitAt('checks'),
  insteadOf('checks', 'retries', 'stopped'),
  insteadOf('checks', 'retries', 'escalated'),
  insteadOf('checks', 'stuck', 'escalated'),
  row('checks', 'blocked'),
  row('checks', 'escalated'),
  waitAt('hooks'),
  insteadOf('hooks', 'retries', 'stopped'),
  insteadOf('hooks', 'retries', 'escalated'),
  insteadOf('hooks', 'stuck', 'escalated'),
  row('hooks', 'blocked'),
  row('hooks', 'escalated'),
  row('pending', 'blocked'),
  row('pending', 'stopped'),
  waitAt('idle'),
  row('idle', 'blocked'),
  row('idle', 'stopped'),
  row('done', 'idle'),
  row('done', 'stopped'),
  // Nothing stays open because no guard decided.
  { target: 'idle', actions: 'decideNothing' },
] as const;
