/** Decisions: may a worker stop, would it, and is its work complete? */
import { z } from 'zod';
import { attemptSchema, type Decision, decisionSchema } from '../../../machines/index.ts';
import { AppError } from '../../errors.ts';
import {
  defineTool,
  notes,
  notesOf,
  resolveWorker,
  type Tool,
  type ToolContext,
  taskId,
  toWire,
  worker,
  workShape,
} from './tool.ts';

const { attempt, stopReason, toolCount, holdMs } = attemptSchema.shape;
const attemptShape = {
  worker,
  attempt: attempt.describe('repeating a call with the same id returns the same decision and counts once'),
  stopReason: stopReason.describe('e.g. end_turn or user_interrupt'),
  toolCount: toolCount.describe('number of tools used so far'),
  holdMs: holdMs.describe('hold the stop this long and wait for a task'),
  ...workShape,
};
const { holdMs: _, ...dryRunShape } = attemptShape;
type Attempt = z.output<z.ZodObject<typeof attemptShape>>;

const decisionShape = { ...decisionSchema.shape, notes };

function readAttempt(
  context: ToolContext,
  { worker: given, attempt: id, stopReason: why, toolCount: tools, holdMs: hold, ...work }: Attempt,
) {
  const { fields, notes: found } = toWire(work);
  const body = { attempt: id, stopReason: why, toolCount: tools, holdMs: hold, ...fields };
  return { id: resolveWorker(context, given), body, notes: notesOf(found) };
}

const decide = defineTool({
  name: 'decide',
  title: 'May I stop?',
  description:
    'Asks whether a worker may stop; the attempt is logged and counts. decision block: follow nextPrompt, then call decide again. ' +
    'action escalate: a person must step in.',
  input: attemptShape,
  output: decisionShape,
  effect: 'adds',
  run: async (context, input) => {
    const { id, body, notes: found } = readAttempt(context, input);
    return { ...(await context.port.decide(id, body)), ...found };
  },
});

const probe = defineTool({
  name: 'probe',
  title: 'Would I be allowed to stop?',
  description: 'A dry run of decide: nothing is logged or counted.',
  input: dryRunShape,
  output: decisionShape,
  effect: 'reads',
  run: async (context, input) => {
    const { id, body, notes: found } = readAttempt(context, input);
    return { ...(await context.port.probe(id, body)), ...found };
  },
});

const verify = defineTool({
  name: 'verify',
  title: 'Is the work complete?',
  description:
    'Final verification of a worker, or of the task taskId: complete only if every check and hook passes, or if the task was ' +
    'judged to be complete before. Nothing is logged or counted.',
  input: { ...dryRunShape, taskId: taskId.optional().describe('verify this task instead of a worker') },
  output: {
    complete: z.boolean(),
    reason: z.string(),
    decision: decisionSchema.nullable().describe('null for a task that nobody holds and that was not judged'),
    said: z.boolean().describe('true if only its worker reported the task as completed'),
    notes,
  },
  effect: 'reads',
  run: async (context, { taskId: task, ...input }) => {
    const { port } = context;
    const { id, body, notes: found } = readAttempt(context, task === undefined ? input : { ...input, worker: task });
    try {
      const decision = await (task === undefined ? port.verify(id, body) : port.verifyTask(task, body));
      return { complete: true, reason: decision.reason, decision, said: false, ...found };
    } catch (error) {
      // On the wire, "incomplete" is an error. For the tool it is a result.
      if (!(error instanceof AppError) || error.code !== 'stop.incomplete') throw error;
      const { decision = null, said = false } = error.details as { decision?: Decision; said?: boolean };
      return { complete: false, reason: decision?.reason ?? error.message, decision, said, ...found };
    }
  },
});

export const decisionTools: readonly Tool[] = [decide, probe, verify];
