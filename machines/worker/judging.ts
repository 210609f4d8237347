/** The transitions of state `validating`, which decide a stop (protocol.md §4 and §5). */
import {
  type FailureGuard,
  failureGuards,
  type GuardName,
  guardNames,
  isFailureGuard,
  isWorkGuard,
  type WorkGuard,
} from '../guards/decision.ts';
import { guardRows } from '../guards/index.ts';
import type { StopOutcome } from '../guards/outcome.ts';

type MainGuard = Exclude<GuardName, FailureGuard>;
const isMain = (guard: GuardName): guard is MainGuard => !isFailureGuard(guard);
const statesOf = (guard: GuardName) => Object.keys(guardRows[guard].leadsTo) as StopOutcome[];

const waitAt = (guard: GuardName) =>
  ({ guard: { type: 'mustWait', params: { guard } }, actions: { type: 'wait', params: { guard } } }) as const;

const insteadOf = (by: WorkGuard) =>
  failureGuards.flatMap((guard) =>
    statesOf(guard).map(
      (to) =>
        ({
          guard: { type: guard, params: { by, to } },
          target: to,
          actions: { type: 'decide', params: { guard, to, by } },
        }) as const,
    ),
  );

const decidedBy = (guard: MainGuard) =>
  statesOf(guard).map(
    (to) =>
      ({
        guard: { type: guard, params: { to } },
        target: to,
        actions: { type: 'decide', params: { guard, to, by: null } },
      }) as const,
  );

const rowsOf = (guard: MainGuard) => [
  ...(guardRows[guard].mayWait ? [waitAt(guard)] : []),
  ...(isWorkGuard(guard) ? insteadOf(guard) : []),
  ...decidedBy(guard),
];

/**
 * Action `judge` evaluates the guards of protocol.md §5 once, in order. Then comes one transition for each state that a
 * guard may lead to. They read the result of `judge`, and the one that is taken makes the decision. If `checks` or
 * `hooks` is about to block, `retries` and `stuck` may decide instead. An attempt that waits for an answer or is held
 * does not change until an event brings news.
 */
export const judging = [
  { guard: 'isWaiting' } as const,
  { guard: 'isUnjudged', actions: 'judge' } as const,
  ...guardNames.filter(isMain).flatMap(rowsOf),
  // A provided guard overruled the guard that it replaces: evaluate the remaining guards.
  { guard: 'isOverruled', actions: 'judge' } as const,
  // No guard decided. The attempt must not stay open because of that.
  { target: 'idle', actions: 'decideNothing' } as const,
];
