/** Guard `bypass`: stops for a used-up budget, or for a reason that the policy lists, are not judged. */
import { allow, constantPass, decide, type Guard, pass } from './guard.ts';

export const bypass: Guard = ({ worker: { budgetExhausted }, attempt: { fields, inForce } }) => {
  const stopReason = fields.stopReason ?? null;
  if (!budgetExhausted && stopReason === null) return judged;
  const input = { budgetExhausted, stopReason };
  const isListed = stopReason !== null && inForce.policy.bypass.includes(stopReason);
  if (!budgetExhausted && !isListed) return pass('judged', input);
  const reason = budgetExhausted
    ? 'The budget is used up: the stop is not judged'
    : `Stops for '${stopReason}' are not judged`;
  return decide(allow('complete', 'bypassed', reason), input);
};

const judged = constantPass('judged', { budgetExhausted: false, stopReason: null });
