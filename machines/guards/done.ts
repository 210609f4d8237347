/** Guard `done`: nothing prevents the stop. The last guard, so it always decides. */
import { workGuards } from './decision.ts';
import { allow, decide, type Guard, type GuardScope } from './guard.ts';

export const done: Guard = (scope) => {
  const { inForce, facts } = scope.attempt;
  const { checks } = inForce.policy;
  const hooks = facts.tasks.some((task) => task.hooks.some((hook) => hook.enabled));
  const input = { checks: checks.length, hooks };
  if (checks.length === 0 && !hooks) {
    const ruling = allow('complete', 'no-policy', 'No check or hook was set for this stop');
    return decide(ruling, input, 'nothing to check');
  }
  const error = errorOf(scope);
  if (error === null)
    return decide(allow('complete', 'complete', 'Everything that was asked for is done'), input, 'all done');
  const reason = `Allowed, though a check could not be judged: ${error}`;
  return decide(allow('continue', 'unjudged', reason), input, 'a check could not be judged');
};

/** Returns the error of checks or hooks that could not be judged and were let pass, or null. */
function errorOf({ attempt, resultOf }: GuardScope): string | null {
  for (const name of workGuards) {
    const result = resultOf(name);
    if (result?.kind === 'pass' && result.isError) return result.detail;
    // The guard passed before the attempt had to wait, so only its verdict is left.
    const before = attempt.verdicts.find((verdict) => verdict.guard === name);
    if (before?.verdict === 'error') return before.detail;
  }
  return null;
}
