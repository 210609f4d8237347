/** The transitions of `validating`, by which the chart decides a stop (protocol.md §4 and §5). */
import {
  type FailureGuard,
  failureGuards,
  type GuardName,
  guardNames,
  isWorkGuard,
  type WorkGuard,
} from '../guards/decision.ts';
import { guardRows } from '../guards/index.ts';
import type { StopOutcome } from '../guards/outcome.ts';

type MainGuard = Exclude<GuardName, FailureGuard>;
const isMain = (guard: GuardName): guard is MainGuard => !failureGuards.some((it) => it === guard);
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
 * A stop is judged here: action `judge` evaluates the guards of protocol.md §5 in their order, once, and then there is a
 * row for each state that one of them may lead to. The rows read the result of `judge`, and the action of the row that
 * is taken makes the decision. If `checks` or `hooks` blocks, `retries` and `stuck` may decide instead. An attempt that
 * waits for an answer, or is held, stays as it is until an event brings news.
 */
export const judging = [
  { guard: 'waits' } as const,
  { guard: 'isUnjudged', actions: 'judge' } as const,
  ...guardNames.filter(isMain).flatMap(rowsOf),
  // A provided guard does not agree with the guard that it replaces: the next ones are asked.
  { guard: 'isPassedOver', actions: 'judge' } as const,
  // Nothing stays open because no guard decided.
  { target: 'idle', actions: 'decideNothing' } as const,
];
