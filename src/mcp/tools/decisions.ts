/** Decisions: may a worker stop, would it, and is its work complete? */
import { z } from 'zod';
import { attemptSchema, type Decision, decisionSchema } from '../../../machines/index.ts';
import { AppError } from '../../errors.ts';
import { notes, notesOf, resolveWorker, toWire, worker, workShape } from './input-fields.ts';
import { defineTool, type Tool, type ToolContext } from './tool.ts';

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
  description: 'The final verification: complete only if every check and hook passes. Nothing is logged or counted.',
  input: dryRunShape,
  output: { complete: z.boolean(), reason: z.string(), decision: decisionSchema, notes },
  effect: 'reads',
  run: async (context, input) => {
    const { id, body, notes: found } = readAttempt(context, input);
    try {
      const decision = await context.port.verify(id, body);
      return { complete: true, reason: decision.reason, decision, ...found };
    } catch (error) {
      // Over the wire, "incomplete" is an error; here it is a result.
      if (!(error instanceof AppError) || error.code !== 'stop.incomplete') throw error;
      const { decision } = error.details as { decision: Decision };
      return { complete: false, reason: decision.reason, decision, ...found };
    }
  },
});

export const decisionTools: readonly Tool[] = [decide, probe, verify];
