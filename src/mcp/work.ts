/** A worker, its stops and its tasks. */
import { z } from 'zod';
import {
  attemptSchema,
  type Decision,
  decisionSchema,
  type TaskDetail,
  type WorkerView,
} from '../../machines/index.ts';
import { AppError } from '../errors.ts';
import { change, findActor, getTask } from './tasks.ts';
import { defineTool, type Tool, type ToolContext } from './tool.ts';
import { formatIterationId, notes, notesOf, taskId, toWire, worker, workShape } from './vocabulary.ts';

const { attempt, stopReason, toolCount, holdMs } = attemptSchema.shape;
const attemptShape = {
  worker,
  attempt: attempt.describe('the same id again gives the same decision and counts once'),
  stopReason: stopReason.describe('e.g. end_turn or user_interrupt'),
  toolCount: toolCount.describe('tools used so far'),
  holdMs: holdMs.describe('keep the stop open this long to wait for a task'),
  ...workShape,
};
type Attempt = z.output<z.ZodObject<typeof attemptShape>>;

/** @throws AppError input.bad */
function workerOf(context: ToolContext, given: string | undefined): string {
  const found = given ?? context.worker;
  if (found !== null) return found;
  throw new AppError(
    'input.bad',
    'which worker? Give `worker`, or set it once: "stopgate mcp --worker W", over HTTP "/mcp?worker=W"',
  );
}

function readAttempt(
  context: ToolContext,
  { worker: given, attempt: id, stopReason: why, toolCount: tools, holdMs: hold, ...work }: Attempt,
) {
  const { fields, notes: found } = toWire(work);
  const body = { attempt: id, stopReason: why, toolCount: tools, holdMs: hold, ...fields };
  return { who: workerOf(context, given), body, notes: notesOf(found) };
}

const decisionShape = { ...decisionSchema.shape, notes };

const decide = defineTool({
  name: 'decide',
  title: 'May I stop?',
  description:
    'Asks whether a worker may stop; the attempt is logged and counts. decision block: do what nextPrompt says, then ask again. ' +
    'action escalate: a person must look.',
  input: attemptShape,
  output: decisionShape,
  effect: 'adds',
  run: async (context, input) => {
    const { who, body, notes: found } = readAttempt(context, input);
    return { ...(await context.port.decide(who, body)), ...found };
  },
});

const { holdMs: _, ...dryShape } = attemptShape;

const probe = defineTool({
  name: 'probe',
  title: 'Would I be allowed to stop?',
  description: 'The same question as decide, without an attempt: nothing is logged or counted.',
  input: dryShape,
  output: decisionShape,
  effect: 'reads',
  run: async (context, input) => {
    const { who, body, notes: found } = readAttempt(context, input);
    return { ...(await context.port.probe(who, body)), ...found };
  },
});

const verify = defineTool({
  name: 'verify',
  title: 'Is the work complete?',
  description: 'The final verification: complete only where every check and hook passes. Nothing is logged or counted.',
  input: dryShape,
  output: { complete: z.boolean(), reason: z.string(), decision: decisionSchema, notes },
  effect: 'reads',
  run: async (context, input) => {
    const { who, body, notes: found } = readAttempt(context, input);
    try {
      const decision = await context.port.verify(who, body);
      return { complete: true, reason: decision.reason, decision, ...found };
    } catch (error) {
      // "No" is an answer; the wire gives it as an error.
      if (!(error instanceof AppError) || error.code !== 'stop.incomplete') throw error;
      const { decision } = error.details as { decision: Decision };
      return { complete: false, reason: decision.reason, decision, ...found };
    }
  },
});

const workerGet = defineTool({
  name: 'worker_get',
  title: 'Look at a worker',
  description: 'What is known of a worker: state, tasks, plan, retries, idle time, last decision.',
  input: { worker },
  output: { worker: z.string(), state: z.string(), tasks: z.array(z.string()) },
  effect: 'reads',
  run: async (context, input) => {
    const who = workerOf(context, input.worker);
    const view = await findActor<WorkerView>(context.port, 'worker', who);
    if (view !== null) return { ...view, tasks: [...view.tasks] };
    throw new AppError('actor.unknown', `worker ${who} is unknown: its first entry registers it, such as a task_claim`);
  },
});

const taskShape = {
  taskId: z.string(),
  state: z.string(),
  iterationId: z.string().nullable().describe('of the iteration that it is in'),
  executionPhase: z.string().nullable(),
};

/** The view, and what the seed calls its parts; a checkpoint's context is for checkpoint_resume. */
const toTask = ({ checkpoint: _context, ...view }: TaskDetail) => ({
  taskId: view.task,
  iterationId: view.iteration === null ? null : formatIterationId(view.iteration, view.task),
  executionPhase: view.phase,
  ...view,
});

const taskGet = defineTool({
  name: 'task_get',
  title: 'Look at a task',
  description:
    'What is known of a task: state, worker, plan, iteration, hooks, checkpoints, and entries that were refused.',
  input: { taskId },
  output: taskShape,
  effect: 'reads',
  run: async ({ port }, { taskId: task }) => toTask(await getTask(port, task)),
});

const claim = defineTool({
  name: 'task_claim',
  title: 'Claim a task',
  description: 'Takes a task: it is yours until you complete it. One that nobody has heard of is created.',
  input: { taskId, worker },
  output: { ...taskShape, worker: z.string().nullable() },
  effect: 'adds',
  again: true,
  run: async (context, { taskId: task, worker: given }) => {
    const who = workerOf(context, given);
    try {
      await change(context, 'worker', who, 'task.claimed', { task });
    } catch (error) {
      if (!(error instanceof AppError) || error.code !== 'entry.refused') throw error;
      throw new AppError(error.code, `${error.message}; claim another one, or wait until it is free (task_get)`, {
        cause: error,
      });
    }
    return toTask(await getTask(context.port, task));
  },
});

const complete = defineTool({
  name: 'task_complete',
  title: 'Complete a task',
  description: 'Says that a task that you hold is done. Its hooks are removed.',
  input: { taskId, worker, result: z.unknown().optional().describe('what came of it; kept in the log') },
  output: taskShape,
  effect: 'replaces',
  run: async (context, { taskId: task, worker: given, result }) => {
    const who = workerOf(context, given);
    const held = (await getTask(context.port, task)).worker;
    if (held !== who) {
      const holder = held === null ? 'nobody holds it' : `${held} holds it`;
      throw new AppError(
        'entry.refused',
        `worker ${who} does not hold task ${task} (${holder}); take it by task_claim first`,
      );
    }
    await change(context, 'worker', who, 'task.completed', { task, result });
    return toTask(await getTask(context.port, task));
  },
});

export const workTools: readonly Tool[] = [decide, probe, verify, workerGet, taskGet, claim, complete];
