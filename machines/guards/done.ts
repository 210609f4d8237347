/** Guard 13: nothing stands in the way. Always decides. */
import { allow, decide, type Guard } from './guard.ts';

export const done: Guard = ({ attempt: { inForce, facts, verdicts } }) => {
  const { checks } = inForce.policy;
  const hooks = facts.task?.hooks.some((it) => it.enabled) ?? false;
  const input = { checks: checks.length, hooks };
  if (checks.length === 0 && !hooks) {
    const ruling = allow('complete', 'no-policy', 'No check or hook was set for this stop');
    return decide(ruling, input, 'nothing to check');
  }
  // A check in error that its `onError` lets pass is named: it is not a pass.
  const error = verdicts.find((it) => it.guard === 'checks' && it.verdict === 'error');
  if (error === undefined)
    return decide(allow('complete', 'complete', 'Everything that was asked for is done'), input, 'all done');
  const reason = `Allowed, though a check could not be judged: ${error.detail}`;
  return decide(allow('complete', 'complete', reason), input, 'a check could not be judged');
};
