/**
 * Guard `bypass`: allows stops without judging them if a budget is used up (`budget.ts`), a person has paused the
 * worker, the policy lists the stop reason, or the program that asks is not known to obey an answer.
 */
import { describePause, type Pause, pauseAt, viewPause } from '../values/pause.ts';
import { judgeBudget } from './budget.ts';
import { allow, constantPass, decide, type Guard, type GuardResult, pass } from './guard.ts';

export const bypass: Guard = (scope) => {
  const { worker, attempt } = scope;
  const { policy } = attempt.inForce;
  const overBudget = judgeBudget(scope);
  if (overBudget !== null) return overBudget;
  const pause = pauseAt(worker.pause, attempt.facts.nowMs);
  if (pause !== null) return paused(pause);
  const { budgetExhausted } = worker;
  const { stopReason = null, unjudged = null } = attempt.fields;
  if (!budgetExhausted && stopReason === null && unjudged === null) return judged;
  const input = { budgetExhausted, stopReason };
  const isListed = stopReason !== null && policy.bypass.includes(stopReason);
  if (!budgetExhausted && !isListed) {
    if (unjudged === null) return pass('judged', input);
    const reason = `${unjudged} is not known to obey an answer: the stop is not judged`;
    return decide(allow('continue', 'unjudged', reason), { ...input, unjudged }, `asked by ${unjudged}`);
  }
  const reason = budgetExhausted
    ? 'The budget is used up: the stop is not judged'
    : `Stops for '${stopReason}' are not judged`;
  return decide(allow('complete', 'bypassed', reason), input);
};

function paused(pause: Pause): GuardResult {
  const { by, until } = viewPause(pause);
  const text = describePause({ by, until });
  const input = { paused: { by, until } };
  return decide(allow('complete', 'bypassed', `The worker is ${text}: the stop is not judged`), input, text);
}

const judged = constantPass('bypass', 'judged', { budgetExhausted: false, stopReason: null });
