/**
 * Guard `retries`: after as many blocks as the policy allows, work that fails once more is no longer blocked: the stop is
 * allowed, or a person is asked. Evaluated before a block of `checks` or `hooks` is given, and listed only when it decides.
 */
import { failureOf, nothingFailed } from './failure.ts';
import { allow, decide, type Guard, pass } from './guard.ts';

export const retries: Guard = (scope) => {
  const { retryCount } = scope.worker;
  const { retries: max, onCap } = scope.attempt.inForce.policy;
  const failure = max === null ? null : failureOf(scope);
  if (max === null || failure === null) return nothingFailed;
  const input = { count: retryCount, max };
  if (retryCount < max) return pass(`${retryCount} of ${max}`, input);
  const blocked =
    max === 0 ? 'The policy blocks no stop' : `Blocked ${timesText(retryCount)}, the most that the policy allows`;
  const reason = `${blocked}: ${failure.ruling.reason}`;
  return decide(
    allow(onCap === 'escalate' ? 'escalate' : 'complete', 'capped', reason),
    input,
    `${retryCount} of ${max}`,
  );
};

const timesText = (count: number): string => (count === 1 ? 'once' : `${count} times`);
