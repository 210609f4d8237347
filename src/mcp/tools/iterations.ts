/** An agent's loop on a task: start, validate, next, complete (seed 001, Typical Agent Flow). */
import { z } from 'zod';
import { entrySchemas, type PromiseName, promiseNames } from '../../../machines/index.ts';
import { AppError } from '../../errors.ts';
import { publishAndRead } from './actors.ts';
import { currentIteration, evaluateIteration, hookResultShape, toHookResult, withNextStep } from './hooks.ts';
import { defineTool, formatIterationId, iterationId, notesOf, promise, type Tool, taskId, workShape } from './tool.ts';

const { maxIterations, rules, breakers } = entrySchemas.task['iteration.started'].shape;
const iterationShape = { iterationId: z.string(), taskId: z.string(), iteration: z.number() };

const start = defineTool({
  name: 'iteration_start',
  title: 'Start an iteration loop',
  description:
    'Starts a loop on a task at iteration 1. Register hooks first (hook_register): they evaluate each iteration. ' +
    'If the task already has a loop, it starts over.',
  input: {
    taskId,
    maxIterations: maxIterations.describe('in the last iteration, continue becomes escalate'),
    completionPromises: z.array(promise).optional().describe('promises that count; default: all three'),
    rules: rules.describe('validation rules that count; default: all reported rules'),
    breakers: breakers.describe('failures: escalate after this many iterations in a row with a failed rule'),
  },
  output: { ...iterationShape, maxIterations: z.number(), completionPromises: z.array(promise) },
  effect: 'replaces',
  run: async (context, { taskId: task, ...rest }) => {
    await publishAndRead(context, 'task', task, 'iteration.started', { iteration: 1, ...rest });
    return {
      iterationId: formatIterationId(1, task),
      taskId: task,
      iteration: 1,
      maxIterations: rest.maxIterations,
      completionPromises: rest.completionPromises ?? [...promiseNames],
    };
  },
});

const signals = { complete: 'COMPLETE', continue: 'CONTINUE', escalate: 'ESCALATE' } as const;

/** In the order in which hooks check promises. */
const promisesByWeight = ['COMPLETE', 'ESCALATE', 'BLOCKED'] as const;

/** Answers like a hook of type `promise`. Returns null if no promise counts. */
function answerPromise(promises: ReadonlySet<PromiseName>, counted: readonly PromiseName[] | null) {
  const name = promisesByWeight.find((each) => promises.has(each) && (counted?.includes(each) ?? true));
  if (name === undefined) return null;
  const verbs = { COMPLETE: 'signaled completion', ESCALATE: 'asked for a person', BLOCKED: 'is blocked and said so' };
  return {
    action: name === 'COMPLETE' ? ('complete' as const) : ('escalate' as const),
    reason: `Agent ${verbs[name]} via <promise>${name}</promise>`,
    nextPrompt: null,
  };
}

const validate = defineTool({
  name: 'iteration_validate',
  title: 'Validate an iteration',
  description:
    'Evaluates the hooks of the task for the work of this iteration; without hooks, a promise that counts decides. completionSignal COMPLETE: call iteration_complete. ' +
    'CONTINUE: follow reason and nextPrompt, call iteration_next, keep working. ESCALATE: stop and tell a person the reason.',
  input: { iterationId, ...workShape },
  output: {
    ...hookResultShape,
    iterationId: z.string(),
    completionSignal: z.enum(['CONTINUE', 'COMPLETE', 'ESCALATE']),
    detectedPromise: promise.nullable().describe('detected in the output, whether it counts or not'),
    failedRules: z.array(z.string()),
  },
  effect: 'adds',
  run: async ({ port }, { iterationId: id, ...work }) => {
    const { view, promises, notes, ...evaluated } = await evaluateIteration(port, id, work);
    // Without hooks, only this code reads the promise that the loop waits for.
    const isWithoutHooks = view.hooks.every(({ enabled }) => !enabled);
    const promised = isWithoutHooks ? answerPromise(promises, view.completionPromises) : null;
    const result = promised === null ? evaluated.result : { ...evaluated.result, ...promised };
    const reported = (work.validationResults ?? []).filter(({ passed }) => !passed).map(({ ruleName }) => ruleName);
    // A hook that evaluated rules knows which of them count and which are missing.
    const failed = z.array(z.string()).catch(reported).parse(result.metadata.failedRules);
    return {
      ...toHookResult(result),
      iterationId: id,
      completionSignal: signals[result.action],
      detectedPromise: promisesByWeight.find((name) => promises.has(name)) ?? null,
      failedRules: [...new Set(failed)],
      ...notesOf(notes),
    };
  },
});

const next = defineTool({
  name: 'iteration_next',
  title: 'Start the next iteration',
  description: 'Starts the next iteration after a CONTINUE and returns its iterationId.',
  input: { iterationId },
  output: { ...iterationShape, maxIterations: z.number().nullable() },
  effect: 'adds',
  // The entry does not name the iteration that it advances from, so calls must not run concurrently.
  run: (context, { iterationId: id }) =>
    context.mutex.runExclusive(id, async () => {
      const { task, iteration, view } = await currentIteration(context.port, id);
      const { maxIterations: limit } = view;
      if (limit !== null && iteration >= limit) {
        throw new AppError(
          'entry.refused',
          `iteration ${iteration} of ${limit} is the last; tell a person, end the loop with iteration_complete, or start over with iteration_start`,
        );
      }
      const after = await withNextStep(() => publishAndRead(context, 'task', task, 'iteration.advanced', {}));
      const current = after.iteration ?? iteration + 1;
      return {
        iterationId: formatIterationId(current, task),
        taskId: task,
        iteration: current,
        maxIterations: limit,
      };
    }),
});

const complete = defineTool({
  name: 'iteration_complete',
  title: 'Complete the loop',
  description:
    'Ends the loop and removes the hooks of the task. It does not change the task itself: see task_complete after a COMPLETE, task_fail after a BLOCKED or ESCALATE.',
  input: { iterationId, completionPromise: promise.default('COMPLETE') },
  output: {
    ...iterationShape,
    completionPromise: promise,
    completed: z.boolean(),
    hooksCleared: z.number(),
    nextStep: z.string().optional().describe('how to mark the task after a BLOCKED or ESCALATE'),
  },
  effect: 'replaces',
  run: async (context, { iterationId: id, completionPromise }) => {
    const { task, iteration, view } = await currentIteration(context.port, id);
    const data = { iteration, promise: completionPromise };
    await withNextStep(() => publishAndRead(context, 'task', task, 'iteration.completed', data));
    const ended = { completionPromise, completed: true, hooksCleared: view.hooks.length };
    const nextStep = `The loop is over, but task ${task} is still ${view.state}: mark it with task_fail and your reason, which asks a person, or release it with task_release.`;
    const isGivenUp = completionPromise !== 'COMPLETE';
    return { iterationId: id, taskId: task, iteration, ...ended, ...(isGivenUp ? { nextStep } : {}) };
  },
});

export const iterationTools: readonly Tool[] = [start, validate, next, complete];
