/** The loop of an agent on a task: begin, validate, go on, complete (seed 001, Typical Agent Flow). */
import { z } from 'zod';
import { entrySchemas, promiseNames } from '../../machines/index.ts';
import { AppError } from '../errors.ts';
import { currentIteration, evaluate, withNextStep } from './evaluation.ts';
import { hookResultShape, toHookResult } from './hooks.ts';
import { change } from './tasks.ts';
import { defineTool, type Tool } from './tool.ts';
import { formatIterationId, iterationId, notesOf, promise, taskId, workShape } from './vocabulary.ts';

const { maxIterations, rules, breakers } = entrySchemas.task['iteration.started'].shape;
const place = { iterationId: z.string(), taskId: z.string(), iteration: z.number() };

const start = defineTool({
  name: 'iteration_start',
  title: 'Start an iteration loop',
  description:
    'Begins a loop on a task at iteration 1. Register hooks first (hook_register): they judge each iteration. ' +
    'A loop that runs on the task already is begun anew.',
  input: {
    taskId,
    maxIterations: maxIterations.describe('in the last one, a continue becomes an escalate'),
    completionPromises: z.array(promise).optional().describe('promises that count; default: all three'),
    rules: rules.describe('validation rules that count; default: all that are reported'),
    breakers: breakers.describe('failures: escalate when so many iterations in a row had a failed rule'),
  },
  output: { ...place, maxIterations: z.number(), completionPromises: z.array(promise) },
  effect: 'replaces',
  run: async (context, { taskId: task, ...rest }) => {
    await change(context, 'task', task, 'iteration.started', { iteration: 1, ...rest });
    return {
      ...{ iterationId: formatIterationId(1, task), taskId: task, iteration: 1 },
      maxIterations: rest.maxIterations,
      completionPromises: rest.completionPromises ?? [...promiseNames],
    };
  },
});

const signals = { complete: 'COMPLETE', continue: 'CONTINUE', escalate: 'ESCALATE' } as const;

const validate = defineTool({
  name: 'iteration_validate',
  title: 'Validate an iteration',
  description:
    'Asks the hooks of the task about the work of this iteration. completionSignal COMPLETE: call iteration_complete. ' +
    'CONTINUE: read reason and nextPrompt, call iteration_next, go on working. ESCALATE: stop and tell a person the reason.',
  input: { iterationId, ...workShape },
  output: {
    ...hookResultShape,
    iterationId: z.string(),
    completionSignal: z.enum(['CONTINUE', 'COMPLETE', 'ESCALATE']),
    detectedPromise: promise.nullable().describe('found in the output, whether it counts or not'),
    failedRules: z.array(z.string()),
  },
  effect: 'adds',
  run: async ({ port }, { iterationId: id, ...work }) => {
    const { result, promises, notes } = await evaluate(port, id, work);
    const reported = (work.validationResults ?? []).filter((it) => !it.passed).map((it) => it.ruleName);
    // A hook that looked at rules knows better: which count, and which were not reported.
    const failed = z.array(z.string()).catch(reported).parse(result.metadata.failedRules);
    return {
      ...toHookResult(result),
      iterationId: id,
      completionSignal: signals[result.action],
      // In the order in which the hooks look for them.
      detectedPromise: (['COMPLETE', 'ESCALATE', 'BLOCKED'] as const).find((name) => promises.has(name)) ?? null,
      failedRules: [...new Set(failed)],
      ...notesOf(notes),
    };
  },
});

const next = defineTool({
  name: 'iteration_next',
  title: 'Go on to the next iteration',
  description: 'Begins the next iteration after a CONTINUE, and gives its iterationId.',
  input: { iterationId },
  output: { ...place, maxIterations: z.number().nullable() },
  effect: 'adds',
  // The entry does not say from which iteration: of two calls at once, the second must see what the first did.
  run: (context, { iterationId: id }) =>
    context.mutex.runExclusive(id, async () => {
      const { task, iteration, view } = await currentIteration(context.port, id);
      const most = view.maxIterations;
      if (most !== null && iteration >= most) {
        throw new AppError(
          'entry.refused',
          `iteration ${iteration} of ${most} is the last; tell a person, end it by iteration_complete, or begin anew with iteration_start`,
        );
      }
      const after = await withNextStep(() => change(context, 'task', task, 'iteration.advanced', {}));
      const now = after.iteration ?? iteration + 1;
      return { iterationId: formatIterationId(now, task), taskId: task, iteration: now, maxIterations: most };
    }),
});

const complete = defineTool({
  name: 'iteration_complete',
  title: 'Complete the loop',
  description:
    'Ends the loop after a COMPLETE and removes the hooks of the task. The task itself stays as it is: see task_complete.',
  input: { iterationId, completionPromise: promise.default('COMPLETE') },
  output: { ...place, completionPromise: promise, completed: z.boolean(), hooksCleared: z.number() },
  effect: 'replaces',
  run: async (context, { iterationId: id, completionPromise }) => {
    const { task, iteration, view } = await currentIteration(context.port, id);
    const data = { iteration, promise: completionPromise };
    await withNextStep(() => change(context, 'task', task, 'iteration.completed', data));
    const ended = { completionPromise, completed: true, hooksCleared: view.hooks.length };
    return { iterationId: id, taskId: task, iteration, ...ended };
  },
});

export const iterationTools: readonly Tool[] = [start, validate, next, complete];
