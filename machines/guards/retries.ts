/** Guard `retries`: at the retry limit, a stop is no longer blocked for failing work (protocol.md §5). */
import { allow, decide, failureOf, type Guard, nothingFailed, pass } from './guard.ts';

export const retries: Guard = (scope) => {
  const { retryCount } = scope.worker;
  const { retries: max, onCap } = scope.attempt.inForce.policy;
  const failure = max === null ? null : failureOf(scope);
  if (max === null || failure === null) return nothingFailed;
  const input = { count: retryCount, max };
  if (retryCount < max) return pass(`${retryCount} of ${max}`, input);
  const limit = max === 0 ? 'The policy blocks no stop' : `Retry limit reached (${retryCount} of ${max})`;
  const reason = `${limit}: ${failure.ruling.reason}`;
  return decide(
    allow(onCap === 'escalate' ? 'escalate' : 'complete', 'capped', reason),
    input,
    `${retryCount} of ${max}`,
  );
};
