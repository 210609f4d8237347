/**
 * Iterations: the rounds of a loop that works on the task, as judged by the task's hooks (protocol.md §7). An
 * evaluation that needs the answer of a remote hook stays open until an entry brings the answer or its deadline
 * passes.
 */
import type { HookResult } from '../guards/decision.ts';
import {
  checkpointOfHooks,
  evaluateHooks,
  fitHookResult,
  type HooksOutcome,
  keptAnswer,
} from '../guards/task-hooks/evaluate.ts';
import type { HookRun, Iteration } from '../guards/task-hooks/hook.ts';
import { checkTimeoutMs } from '../policy/checks/check.ts';
import { type CheckResult, isAbout } from '../policy/checks/check-result.ts';
import { createWork, type Work, workMax } from '../policy/glob.ts';
import { promisesOf } from '../policy/promise.ts';
import { formatIsoTime } from '../values/time.ts';
import { empty, type TaskContext } from './context.ts';
import type { TaskEventBase, TaskEventOf } from './events.ts';
import { addCheckpoint, countHookRuns, type Evaluation, phaseOf } from './records.ts';

export function startIteration({ data }: TaskEventOf<'iteration.started'>): Partial<TaskContext> {
  const { iteration, maxIterations, completionPromises, rules, breakers } = data;
  return {
    iteration: {
      iteration,
      maxIterations,
      completed: false,
      failures: 0,
      failed: false,
      completionPromises: completionPromises ?? null,
      rules: rules ?? null,
      failuresMax: breakers?.failures ?? null,
    },
  };
}

export function advanceIteration({ iteration }: TaskContext): Partial<TaskContext> {
  if (iteration === null) return {};
  const failures = iteration.failed ? iteration.failures + 1 : 0;
  return { iteration: { ...iteration, iteration: iteration.iteration + 1, failures, failed: false } };
}

/** Records the verdict of the last validation, which decides whether the iteration failed. */
const judgeIteration = (iteration: Iteration, fields: Evaluation['fields']): Iteration => ({
  ...iteration,
  failed: hasFailedRule(iteration, fields),
});

export const completeIteration = ({ iteration }: TaskContext): Partial<TaskContext> => ({
  iteration: iteration === null ? null : { ...iteration, completed: true },
});

/** Tells whether a rule that counts in this iteration failed. */
const hasFailedRule = (iteration: Iteration | null, { validation }: Evaluation['fields']): boolean =>
  validation?.some((result) => !result.passed && (iteration?.rules?.includes(result.rule) ?? true)) ?? false;

/** An evaluation that may not be waiting for a hook yet. */
type OpenEvaluation = Omit<Evaluation, 'pending'> & { readonly pending: Evaluation['pending'] | null };

/** Judges the current iteration, unless an evaluation of this attempt is already open. */
export function validate(context: TaskContext, event: TaskEventOf<'iteration.validated'>): TaskContext {
  const { data: fields, seq, facts } = event;
  const { evaluations, iteration } = context;
  const attempt = fields.attempt ?? `seq-${seq}`;
  if (iteration === null || evaluations.some((known) => known.attempt === attempt)) return context;
  const begun = { attempt, seq, owner: facts?.owner ?? null, iteration, fields, results: {}, pending: null };
  const judged = { ...context, iteration: judgeIteration(iteration, fields) };
  return judgeAll(judged, [begun], event);
}

/** Applies the answer of a remote hook to the evaluation that waits for it. */
export function answerHook(context: TaskContext, event: TaskEventOf<'check.finished'>): TaskContext {
  const { data } = event;
  const open = context.evaluations.find((evaluation) => isAbout(data, evaluation, evaluation.pending));
  return open === undefined ? context : judgeAll(context, [answered(open, data)], event);
}

/** Times out the evaluations whose deadline has passed: the one of the named attempt, or all. */
export function expireHooks(context: TaskContext, event: TaskEventOf<'timer.fired'>): TaskContext {
  const { attempt } = event.data;
  const due = context.evaluations.filter(
    (evaluation) =>
      evaluation.pending.deadlineMs <= event.atMs && (attempt === undefined || evaluation.attempt === attempt),
  );
  const timedOut = due.map((evaluation) =>
    answered(evaluation, { attempt: evaluation.attempt, check: evaluation.pending.name, outcome: 'timeout' as const }),
  );
  return judgeAll(context, timedOut, event);
}

/** Judges the open evaluations again. Call it when hooks changed: nothing waits for a removed or disabled hook. */
export const reviewEvaluations = (context: TaskContext, event: TaskEventBase): TaskContext =>
  judgeAll(context, context.evaluations, event);

const answered = (open: Evaluation, result: CheckResult): OpenEvaluation => ({
  ...open,
  results: { ...open.results, [open.pending.key]: keptAnswer(result) },
});

/** All evaluations together share the work limit of one. */
function judgeAll(context: TaskContext, all: readonly OpenEvaluation[], event: TaskEventBase): TaskContext {
  let after: TaskContext = all.length === 0 ? context : { ...context, validated: empty };
  let left = workMax;
  for (const begun of all) {
    const work = createWork(left);
    after = judge(after, begun, event, work);
    left = work.left;
  }
  return after.validated.length > 0 || after === context ? after : { ...after, validated: context.validated };
}

function judge(context: TaskContext, begun: OpenEvaluation, event: TaskEventBase, work: Work): TaskContext {
  const outcome = evaluate(context, begun, event, work);
  const { attempt } = begun;
  const others = context.evaluations.filter((evaluation) => evaluation.attempt !== attempt);
  if (outcome.kind === 'awaits') {
    const pending = pendingFor(begun, outcome, event.atMs);
    return pending === begun.pending ? context : { ...context, evaluations: [...others, { ...begun, pending }] };
  }
  const { runs } = outcome;
  const result = fitHookResult(applyBreaker(resultOf(context, begun, outcome), begun));
  const at = formatIsoTime(event.atMs);
  const isSaved = outcome.kind === 'answer' && result.checkpointCreated;
  const { hookStats, checkpoints } = context;
  return {
    ...context,
    evaluations: others,
    hookStats: runs.length === 0 ? hookStats : countHookRuns(hookStats, runs, { attempt, at }),
    checkpoints: isSaved
      ? addCheckpoint(checkpoints, checkpointOfHooks(attempt, outcome.checkpointData), at)
      : checkpoints,
    validated: [...context.validated, { attempt, result, runs }],
  };
}

function pendingFor(
  { pending }: OpenEvaluation,
  { key, name }: HooksOutcome & { kind: 'awaits' },
  nowMs: number,
): Evaluation['pending'] {
  if (pending?.key === key && pending.name === name) return pending;
  return { key, name, number: (pending?.number ?? 0) + 1, deadlineMs: nowMs + checkTimeoutMs };
}

function evaluate(
  context: TaskContext,
  { fields, results, iteration }: OpenEvaluation,
  { facts }: TaskEventBase,
  work: Work,
): HooksOutcome {
  const scope = {
    iteration: iteration.iteration,
    phase: phaseOf(context),
    files: [facts?.files ?? empty, fields.files ?? empty],
    filesUnknown: facts?.filesUnknown ?? false,
    labels: facts?.labels ?? {},
    work,
    promises: promisesOf(fields),
    validation: fields.validation ?? [],
    current: iteration,
  };
  return evaluateHooks(context.hooks, scope, results);
}

type FinalOutcome = Exclude<HooksOutcome, { kind: 'awaits' }>;

function resultOf({ fleet, task }: TaskContext, { fields }: OpenEvaluation, outcome: FinalOutcome): HookResult {
  const ids = { fleet, attempt: fields.attempt ?? null, taskId: task, iteration: fields.iteration };
  if (outcome.kind !== 'answer') {
    const { reason, metadata } = whyNoAnswer(outcome.runs);
    return {
      ...ids,
      hookId: 'default',
      action: 'continue',
      nextPrompt: null,
      checkpointCreated: false,
      reason,
      metadata,
    };
  }
  const { hookId, action, reason, nextPrompt, checkpoint, metadata } = outcome;
  return { ...ids, hookId, action, reason, nextPrompt, checkpointCreated: checkpoint, metadata: metadata() };
}

/** Reports a hook that failed. If none did, the result is the same as without hooks. */
function whyNoAnswer(runs: readonly HookRun[]): Pick<HookResult, 'reason' | 'metadata'> {
  const failed = runs.find((run) => run.failed);
  if (failed !== undefined)
    return { reason: `Not judged: ${failed.hook}: ${failed.reason}`, metadata: { error: failed.reason } };
  return { reason: 'No hooks registered for this task', metadata: {} };
}

/** Circuit breaker: escalates after `failuresMax` iterations in a row whose last validation had a failed rule. */
function applyBreaker(result: HookResult, { iteration, fields }: OpenEvaluation): HookResult {
  const { failures, failuresMax } = iteration;
  if (failuresMax === null || result.action !== 'continue' || !hasFailedRule(iteration, fields)) return result;
  if (failures + 1 < failuresMax) return result;
  return { ...result, action: 'escalate', reason: `${failuresMax} iterations failed in a row`, nextPrompt: null };
}
