/** `iteration.validated`: the hooks of a task judge an iteration (protocol.md §7; seed 001, hook_evaluate). */

import type { TaskEntry } from '../entries/index.ts';
import type { HookResult } from '../guards/decision.ts';
import { checkpointOfHooks } from '../guards/task-hooks/checkpoint.ts';
import { evaluateHooks, type HooksOutcome } from '../guards/task-hooks/evaluate.ts';
import { checkTimeoutMs } from '../policy/checks/check.ts';
import type { CheckResult } from '../policy/checks/check-result.ts';
import { promisesOf } from '../policy/promise.ts';
import { createWork, type Work, workMax } from '../policy/work.ts';
import { phaseOf } from '../task/checkpoint.ts';
import type { TaskContext } from '../task/context.ts';
import type { Evaluation } from '../task/evaluation.ts';
import { hasFailedRule } from '../task/iteration.ts';
import { formatIsoTime } from '../values/iso-time.ts';
import type { Fleet } from './fleet.ts';
import { ownerFor } from './owner.ts';
import { recordHookRuns, stepTask } from './tasks.ts';

/** `pending` null: nothing yet. */
type Begun = Omit<Evaluation, 'pending'> & { readonly pending: Evaluation['pending'] | null };

export function beginEvaluation(
  fleet: Fleet,
  entry: Extract<TaskEntry, { type: 'iteration.validated' }>,
  seq: number,
  owner: string | null,
): void {
  const attempt = entry.data.attempt ?? `seq-${seq}`;
  const { id: task, data: fields } = entry;
  const { evaluations, iteration } = contextOf(fleet, task);
  if (iteration === null || evaluations.some((it) => it.attempt === attempt)) return;
  stepTask(fleet, task, { type: 'iteration.judged', failed: hasFailedRule(iteration, fields) });
  const begun = { attempt, seq, owner: ownerFor(fleet, `${task}:${attempt}`, owner), iteration };
  evaluate(fleet, task, { ...begun, fields, results: {}, pending: null });
}

/** The answer to an open evaluation's pending hook has come; null: its time is up. */
export function resumeEvaluation(fleet: Fleet, task: string, attempt: string, result: CheckResult | null): void {
  const open = contextOf(fleet, task).evaluations.find((it) => it.attempt === attempt);
  if (open === undefined || (result !== null && result.check !== open.pending.name)) return;
  const answer: CheckResult = result ?? { attempt, check: open.pending.name, outcome: 'timeout' };
  const results = { ...open.results, [open.pending.key]: answer };
  evaluate(fleet, task, { ...open, results });
}

/** Where the pending hook is gone or disabled, its answer is not waited for. */
export function reviewEvaluations(fleet: Fleet): void {
  for (const task of fleet.rehooked) {
    fleet.rehooked.delete(task);
    // All of them together may cost as much as one.
    let left = workMax;
    for (const open of contextOf(fleet, task).evaluations) {
      const work = createWork(left);
      evaluate(fleet, task, open, work);
      left = work.left;
    }
  }
}

const contextOf = (fleet: Fleet, task: string): TaskContext => fleet.tasks.get(task)?.snapshot.context as TaskContext;

function evaluate(fleet: Fleet, task: string, begun: Begun, work = createWork()): void {
  const context = contextOf(fleet, task);
  const outcome = evaluateNow(fleet, context, begun, work);
  if (outcome.kind === 'pending') {
    awaitHook(fleet, task, begun, outcome);
    return;
  }
  stepTask(fleet, task, { type: 'evaluation.ended', attempt: begun.attempt });
  if (contextOf(fleet, task).evaluations.length === 0) fleet.evaluating.delete(task);
  recordHookRuns(fleet, task, begun.attempt, outcome.runs);
  const result = applyBreaker(resultOf(fleet, context, begun, outcome), begun);
  if (result.checkpointCreated && outcome.kind === 'answer') {
    const data = checkpointOfHooks(begun.attempt, outcome.checkpointData);
    stepTask(fleet, task, { type: 'checkpoint.saved', data, at: formatIsoTime(fleet.nowMs) });
  }
  fleet.outcomes.push({ kind: 'validated', task, attempt: begun.attempt, result });
}

function awaitHook(fleet: Fleet, task: string, begun: Begun, { key, name }: HooksOutcome & { kind: 'pending' }): void {
  const { attempt, pending: before } = begun;
  if (before?.key === key && before.name === name) return;
  const pending = { key, name, number: (before?.number ?? 0) + 1, deadlineMs: fleet.nowMs + checkTimeoutMs };
  stepTask(fleet, task, { type: 'evaluation.pending', evaluation: { ...begun, pending } });
  fleet.evaluating.add(task);
  fleet.deadlines.push({ atMs: pending.deadlineMs, kind: 'evaluation', id: task, attempt });
  fleet.outcomes.push({ kind: 'hookPending', task, attempt });
}

function evaluateNow(
  fleet: Fleet,
  context: TaskContext,
  { fields, results, iteration }: Begun,
  work: Work,
): HooksOutcome {
  const worker = context.worker === null ? undefined : fleet.workers.get(context.worker)?.snapshot.context.worker;
  const facts = {
    iteration: iteration.iteration,
    phase: phaseOf(context),
    files: [...new Set([...(worker?.files ?? []), ...(fields.files ?? [])])],
    labels: worker?.labels ?? {},
    work,
    promises: promisesOf(fields),
    validation: fields.validation ?? [],
    current: iteration,
  };
  return evaluateHooks(context.hooks, facts, results);
}

function resultOf(fleet: Fleet, { task }: TaskContext, { fields }: Begun, outcome: HooksOutcome): HookResult {
  const place = { fleet: fleet.name, attempt: fields.attempt ?? null, taskId: task, iteration: fields.iteration };
  if (outcome.kind !== 'answer') {
    const noAnswer = {
      reason: 'No hooks registered for this task',
      nextPrompt: null,
      checkpointCreated: false,
      metadata: {},
    };
    return { ...place, hookId: 'default', action: 'continue', ...noAnswer };
  }
  const { hookId, action, reason, nextPrompt, checkpoint, metadata } = outcome;
  return { ...place, hookId, action, reason, nextPrompt, checkpointCreated: checkpoint, metadata };
}

/** Breaker: n iterations in a row had a failed rule in their last validation. */
function applyBreaker(result: HookResult, { iteration, fields }: Begun): HookResult {
  const { failures, failuresMax } = iteration;
  if (failuresMax === null || result.action !== 'continue' || !hasFailedRule(iteration, fields)) return result;
  if (failures + 1 < failuresMax) return result;
  return { ...result, action: 'escalate', reason: `${failuresMax} iterations failed in a row`, nextPrompt: null };
}
