/**
 * Guard `bypass`: stops for a budget that is used up, while a person has paused the worker, or for a reason that the
 * policy lists, are not judged.
 */
import { type BudgetLine, type BudgetPeriod, budgetLines, describeLine, usedUp } from '../policy/budget.ts';
import { describePause, type Pause, pauseAt, viewPause } from '../values/pause.ts';
import type { TaskFacts } from './attempt.ts';
import { allow, constantPass, decide, type Guard, type GuardResult, type GuardScope, pass } from './guard.ts';

export const bypass: Guard = (scope) => {
  const { worker, attempt } = scope;
  const { policy } = attempt.inForce;
  const line = budgetUsedUp(scope);
  if (line !== null) return overBudget(line, policy.onBudget, attempt.facts.tasks);
  const pause = pauseAt(worker.pause, attempt.facts.nowMs);
  if (pause !== null) return paused(pause);
  const { budgetExhausted } = worker;
  const stopReason = attempt.fields.stopReason ?? null;
  if (!budgetExhausted && stopReason === null) return judged;
  const input = { budgetExhausted, stopReason };
  const isListed = stopReason !== null && policy.bypass.includes(stopReason);
  if (!budgetExhausted && !isListed) return pass('judged', input);
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

const judged = constantPass('judged', { budgetExhausted: false, stopReason: null });

function budgetUsedUp({ worker, attempt }: GuardScope): BudgetLine | null {
  const { facts, inForce } = attempt;
  if (inForce.policy.budget === null && facts.day === null) return null;
  // The open attempt is a turn of its own.
  const usage = withoutTurn(worker.usage);
  return usedUp(budgetLines(inForce.policy, usage, facts.tasks.at(-1)?.usage ?? null, facts.day, facts.nowMs));
}

const withoutTurn = ({ session, prompt }: GuardScope['worker']['usage']): GuardScope['worker']['usage'] => ({
  session: { ...session, turns: session.turns - 1 },
  prompt: { ...prompt, turns: prompt.turns - 1 },
});

function overBudget(line: BudgetLine, onBudget: 'allow' | 'escalate', tasks: readonly TaskFacts[]): GuardResult {
  const text = describeLine(line);
  // All held tasks are escalated for this reason, and only the one claimed last has used its budget up.
  const owner = line.per === 'task' && tasks.length > 1 ? `The budget of task ${tasks.at(-1)?.task}` : whose[line.per];
  const what = `${owner} is used up (${text})`;
  const ruling =
    onBudget === 'escalate'
      ? allow('escalate', 'budget', `${what}: a person may grant it once more`)
      : allow('complete', 'bypassed', `${what}: the stop is not judged`);
  return decide(ruling, { ...line }, `budget: ${text}`);
}

const whose: Readonly<Record<BudgetPeriod, string>> = {
  session: "The session's budget",
  prompt: "The prompt's budget",
  task: "The task's budget",
  day: "The fleet's budget of the day",
};
