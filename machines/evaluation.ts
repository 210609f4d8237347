/** `iteration.validated`: what the hooks of a task say of an iteration (protocol 7; seed 001, hook_evaluate). */
import { checkTimeoutMs } from './check.ts';
import type { HookResult } from './decision.ts';
import type { CheckResult, TaskEntry } from './entry.ts';
import { type Fleet, ownerFor } from './fleet.ts';
import { askHooks, checkpointOfHooks, type HookResults, type HooksAnswer, type Iteration } from './hook.ts';
import { formatIsoTime } from './iso-time.ts';
import { moveTask, noteOpinions } from './move-task.ts';
import { promisesOf } from './promise.ts';
import { type Evaluation, hasFailedRule, phaseOf, type TaskContext } from './task.ts';

type Fields = Evaluation['fields'];
type Begun = Omit<Evaluation, 'asked'> & { readonly number: number };

export function beginEvaluation(
  fleet: Fleet,
  entry: Extract<TaskEntry, { type: 'iteration.validated' }>,
  seq: number,
  owner: string | null,
): void {
  const attempt = entry.data.attempt ?? `seq-${seq}`;
  const open = fleet.tasks.get(entry.id)?.snapshot.context.evaluations.some((it) => it.attempt === attempt);
  if (open) return;
  const begun = { attempt, seq, owner: ownerFor(fleet, `${entry.id}:${attempt}`, owner) };
  evaluate(fleet, entry.id, { ...begun, fields: entry.data, results: {}, number: 0 });
}

/** An answer to what an open evaluation asked has come; null: its time is up. */
export function resumeEvaluation(fleet: Fleet, task: string, attempt: string, result: CheckResult | null): void {
  const open = fleet.tasks.get(task)?.snapshot.context.evaluations.find((it) => it.attempt === attempt);
  if (open === undefined || (result !== null && result.check !== open.asked.name)) return;
  const answer: CheckResult = result ?? { attempt, check: open.asked.name, outcome: 'timeout' };
  const results = { ...open.results, [open.asked.key]: answer };
  evaluate(fleet, task, { ...open, results, number: open.asked.number });
}

function evaluate(fleet: Fleet, task: string, begun: Begun): void {
  const context = fleet.tasks.get(task)?.snapshot.context as TaskContext;
  const { iteration } = context;
  const failed = hasFailedRule(iteration, begun.fields);
  const answer = ask(fleet, context, begun.fields, begun.results);
  if (answer.is === 'ask') {
    const asked = {
      key: answer.key,
      name: answer.name,
      number: begun.number + 1,
      deadlineMs: fleet.nowMs + checkTimeoutMs,
    };
    const { number: _, ...evaluation } = begun;
    const { attempt } = begun;
    moveTask(fleet, task, { type: 'iteration.judged', failed, evaluation: { ...evaluation, asked } });
    fleet.evaluating.add(task);
    fleet.deadlines.push({ atMs: asked.deadlineMs, kind: 'evaluation', id: task, attempt });
    fleet.outcomes.push({ kind: 'hookAsked', task, attempt });
    return;
  }
  moveTask(fleet, task, { type: 'iteration.judged', failed, evaluation: null });
  moveTask(fleet, task, { type: 'evaluation.ended', attempt: begun.attempt });
  if (fleet.tasks.get(task)?.snapshot.context.evaluations.length === 0) fleet.evaluating.delete(task);
  noteOpinions(fleet, task, begun.attempt, answer.opinions);
  const result = breakRow(resultOf(fleet, context, begun, answer), iteration, failed);
  if (result.checkpointCreated && answer.is === 'said') {
    const data = checkpointOfHooks(begun.attempt, answer.checkpointData);
    moveTask(fleet, task, { type: 'checkpoint.saved', data, at: formatIsoTime(fleet.nowMs) });
  }
  fleet.outcomes.push({ kind: 'validated', task, attempt: begun.attempt, result });
}

function ask(fleet: Fleet, context: TaskContext, fields: Fields, results: HookResults): HooksAnswer {
  const worker = context.worker === null ? undefined : fleet.workers.get(context.worker)?.snapshot.context.worker;
  const facts = {
    iteration: context.iteration?.iteration ?? 0,
    phase: phaseOf(context),
    files: [...new Set([...(worker?.files ?? []), ...(fields.files ?? [])])],
    labels: worker?.labels ?? {},
    promises: promisesOf(fields),
    validation: fields.validation ?? [],
    current: context.iteration,
  };
  return askHooks(context.hooks, facts, results);
}

function resultOf(fleet: Fleet, { task }: TaskContext, { fields }: Begun, answer: HooksAnswer): HookResult {
  const place = { fleet: fleet.name, attempt: fields.attempt ?? null, taskId: task, iteration: fields.iteration };
  if (answer.is !== 'said') {
    const silent = {
      reason: 'No hooks registered for this task',
      nextPrompt: null,
      checkpointCreated: false,
      metadata: {},
    };
    return { ...place, hookId: 'default', action: 'continue', ...silent };
  }
  const { hookId, action, reason, nextPrompt, checkpoint, metadata } = answer;
  return { ...place, hookId, action, reason, nextPrompt, checkpointCreated: checkpoint, metadata };
}

/** Breaker: n iterations in a row had a failed rule in their last validation. */
function breakRow(result: HookResult, iteration: Iteration | null, failed: boolean): HookResult {
  if (iteration === null || iteration.failuresMax === null || !failed || result.action !== 'continue') return result;
  if (iteration.failures + 1 < iteration.failuresMax) return result;
  return {
    ...result,
    action: 'escalate',
    reason: `${iteration.failuresMax} iterations failed in a row`,
    nextPrompt: null,
  };
}
