/** Guard `hooks`: evaluates the hooks of the held tasks, task by task in the order of the claims (protocol.md §7). */
import { checkTimeoutMs } from '../policy/checks/check.ts';
import type { Feedback } from '../policy/checks/check-result.ts';
import { createWork, type Work } from '../policy/glob.ts';
import { promisesOf } from '../policy/promise.ts';
import { cutMiddle } from '../values/text.ts';
import type { TaskFacts } from './attempt.ts';
import { awaitedSince } from './awaited-check.ts';
import { circumstancesOf } from './circumstances.ts';
import { allow, block, constantPass, type Guard, type GuardResult, type GuardScope } from './guard.ts';
import { promptFor } from './prompt.ts';
import { evaluateHooks } from './task-hooks/evaluate.ts';
import type { HookFacts, HookResults, HookRun, JudgedTask } from './task-hooks/hook.ts';

/**
 * The first task whose hooks do not complete decides. If all pass but a hook could not be judged, the verdict is an
 * error.
 */
export const hooks: Guard = (scope) => {
  const { tasks } = scope.attempt.facts;
  const work = createWork();
  const judgedTasks: JudgedTask[] = [];
  const details: string[] = [];
  let result = none;
  let error: string | null = null;
  for (const task of tasks) {
    if (task.hooks.length === 0) continue;
    const judged = judgeTask(scope, task, work);
    if (judged.kind === 'awaits') return judged;
    judgedTasks.push(...(judged.kept?.judgedTasks ?? []));
    if (judged.isError) error ??= judged.detail;
    details.push(judged.detail);
    result = { ...judged, detail: details.slice(0, detailsMax).join('; '), kept: { ...judged.kept, judgedTasks } };
    if (result.kind === 'decides') return { ...result, detail: judged.detail };
  }
  return error === null ? result : { ...result, isError: true, detail: error };
};

const none = constantPass('hooks', 'none');
/** Details are cut at 500 characters anyway, and a worker may hold a thousand tasks. */
const detailsMax = 8;

function judgeTask(scope: GuardScope, task: TaskFacts, work: Work): GuardResult {
  const { attempt } = scope;
  // With several held tasks, each text names its task.
  const prefix = attempt.facts.tasks.length > 1 ? `${task.task}: ` : '';
  const evaluated = { task: task.task, hooks: task.hooks.filter((hook) => hook.enabled).map((hook) => hook.hook) };
  const outcome = evaluateHooks(task.hooks, hookFactsOf(scope, task, work), resultsOf(scope, task.task));
  if (outcome.kind === 'awaits') {
    const { key, name } = outcome;
    const waiting = awaitedSince(attempt, { name, timeoutMs: checkTimeoutMs, onRunner: false });
    const check = { by: 'hooks', task: task.task, key: `${task.task}:${key}`, remote: name, ...waiting } as const;
    return { kind: 'awaits', detail: `${prefix}asked ${name}`, input: evaluated, check };
  }
  const { runs } = outcome;
  const input = { task: evaluated.task, hooks: evaluated.hooks, said: runs.map(shortRun) };
  const failed = runs.find((run) => run.action === 'skip' && run.failed);
  const error =
    failed === undefined ? {} : ({ isError: true, detail: `${prefix}${failed.hook}: ${failed.reason}` } as const);
  const isSaved = outcome.kind === 'answer' && outcome.checkpoint;
  const checkpoint = isSaved ? { data: outcome.checkpointData } : null;
  const judgedTasks = [{ task: task.task, runs, checkpoint }];
  if (outcome.kind === 'none')
    return { kind: 'pass', detail: `${prefix}none has a say`, input, kept: { judgedTasks }, ...error };
  const { hookId, action, metadata } = outcome;
  const detail = `${prefix}${hookId}: ${action} (${outcome.reason})`;
  if (action === 'complete') return { kind: 'pass', detail, input, kept: { judgedTasks }, ...error };
  const reason = `${prefix}${outcome.reason}`;
  if (action === 'escalate')
    return {
      kind: 'decides',
      detail,
      input,
      kept: { judgedTasks },
      ruling: allow('escalate', 'escalated', reason),
    };
  const feedback: Feedback[] = [{ check: hookId, outcome: 'fail', message: reason, details: metadata() }];
  const ruling = block('incomplete', reason, outcome.nextPrompt ?? promptFor(reason, feedback));
  const [first = '', ...others] = outcome.reasons;
  const reasons = [`${prefix}${first}`, ...others];
  return { kind: 'decides', detail, input, kept: { judgedTasks, feedback }, ruling, reasons };
}

const shortRun = ({ hook, action, reason }: HookRun) => ({ hook, action, reason: cutMiddle(reason, 200) });

function hookFactsOf(scope: GuardScope, task: TaskFacts, work: Work): HookFacts {
  const { fields } = scope.attempt;
  return {
    promises: promisesOf(fields),
    validation: fields.validation ?? [],
    current: task.iteration,
    ...circumstancesOf(scope, task, work),
  };
}

/** Selects the answers of one task. Keys include the task, since hook names are unique only within their task. */
function resultsOf({ attempt: { hookResults } }: GuardScope, task: string): HookResults {
  const prefix = `${task}:`;
  return Object.fromEntries(
    Object.entries(hookResults)
      .filter(([key]) => key.startsWith(prefix))
      .map(([key, result]) => [key.slice(prefix.length), result]),
  );
}
