/**
 * The budget rule: once the budget of the session, prompt, task or day is used up, stops are allowed without judging,
 * or a person is asked (policy `onBudget`). It is the first part of guard `bypass`.
 */
import { type BudgetLine, type BudgetPeriod, budgetLines, describeLine, usedUp } from '../policy/budget.ts';
import type { TaskFacts } from './attempt.ts';
import { allow, decide, type GuardResult, type GuardScope } from './guard.ts';

/** Returns null if no budget is used up. */
export function judgeBudget(scope: GuardScope): GuardResult | null {
  const { inForce, facts } = scope.attempt;
  const line = lineUsedUp(scope);
  return line === null ? null : overBudget(line, inForce.policy.onBudget, facts.tasks);
}

function lineUsedUp({ worker, attempt }: GuardScope): BudgetLine | null {
  const { facts, inForce } = attempt;
  if (inForce.policy.budget === null && facts.day === null) return null;
  // The open attempt is already counted as a turn, but only earlier ones count here.
  const usage = withoutTurn(worker.usage);
  return usedUp(budgetLines(inForce.policy, usage, facts.tasks.at(-1)?.usage ?? null, facts.day, facts.nowMs));
}

const withoutTurn = ({ session, prompt }: GuardScope['worker']['usage']): GuardScope['worker']['usage'] => ({
  session: { ...session, turns: session.turns - 1 },
  prompt: { ...prompt, turns: prompt.turns - 1 },
});

function overBudget(line: BudgetLine, onBudget: 'allow' | 'escalate', tasks: readonly TaskFacts[]): GuardResult {
  const text = describeLine(line);
  // All held tasks are escalated with this reason, but only the one claimed last has used its budget up.
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
