/** Guard 6: after as many blocks as the policy allows, the stop is allowed, or a person is asked. */
import { allow, decide, type Guard, pass } from './guard.ts';

export const retries: Guard = ({ worker: { retryCount }, attempt: { inForce } }) => {
  const { retries: max, onCap } = inForce.policy;
  const input = { count: retryCount, max };
  const detail = max === null ? `${retryCount}, no cap` : `${retryCount} of ${max}`;
  if (max === null || retryCount < max) return pass(detail, input);
  const reason = `Blocked ${retryCount} times, the most that the policy allows: the work was not judged complete`;
  return decide(allow(onCap === 'escalate' ? 'escalate' : 'complete', 'capped', reason), input, detail);
};
