/**
 * Any tool that can run a command (`stopgate hook shell --worker W`). This JSON is our own contract, so a mistake in it
 * is an error and not passed over.
 */
import { z } from 'zod';
import { attemptSchema, idSchema } from '../../../machines/index.ts';
import { AppError } from '../../errors.ts';
import type { Agent } from '../agent.ts';
import { type Adapter, createHookReader, type DraftEntries, type EventTable, readBody } from '../shared/adapter.ts';
import { allowNote, blockText } from '../shared/block-text.ts';
import {
  type BaseCall,
  cutOutput,
  draftPrompt,
  draftRegistration,
  draftResumption,
  draftSessionEnd,
  draftToolStart,
  draftToolUse,
  type EntryDraft,
} from '../shared/entry-drafts.ts';
import { wholePlan } from '../shared/plan-entry.ts';
import type { PriorWorker } from '../shared/prior-worker.ts';
import { hookCommand } from './hook-command.ts';

const name = 'shell';

const bodySchema = z.object({
  ...attemptSchema.shape,
  worker: idSchema,
  /** Default: `stop`. */
  event: z.string().min(1).optional(),
  cwd: z.string().min(1).optional(),
  text: z.string().optional(),
  tool: z.string().min(1).optional(),
  /** The tool's own id of its call, at its start and at its end. */
  call: z.string().min(1).optional(),
  ok: z.boolean().optional(),
  steps: z.array(z.object({ title: z.string(), status: z.string(), step: idSchema.optional() })).optional(),
  reason: z.string().optional(),
});
type ShellCall = Omit<BaseCall, 'worker'> & z.infer<typeof bodySchema>;

const events: EventTable<ShellCall> = new Map<string, DraftEntries<ShellCall>>([
  ['start', (call, prior) => [draftRegistration(name, call, prior)]],
  ['prompt', (call, prior) => [draftPrompt(call.text ?? '', prior)]],
  ['tool-start', ({ tool = 'command', call: id }) => [draftToolStart({ tool, id })]],
  ['tool', (call, prior) => [...draftResumption(prior), draftTool(call, prior)]],
  ['plan', ({ steps }) => (steps === undefined ? [] : [wholePlan(steps)])],
  ['stop', (_call, prior) => draftResumption(prior)],
  ['end', (call, prior) => draftSessionEnd(call.reason, prior)],
]);

const adapter: Adapter<ShellCall> = {
  name,
  read: (body, eventInUrl) => {
    const call = readBody(bodySchema, body, 'a shell');
    const event = call.event ?? eventInUrl ?? 'stop';
    if (!events.has(event))
      throw new AppError(
        'input.bad',
        `'${event}' is not an event of a shell; these are: ${[...events.keys()].join(', ')}`,
      );
    return { ...call, event, parent: null };
  },
  events,
  stop: (call) => (call.event === 'stop' ? readAttempt(call) : null),
  isEnd: ({ event }) => event === 'end',
  answer: (call, decision) => {
    if (call.event !== 'stop') return null;
    return decision.decision === 'block'
      ? { decision: 'block', reason: blockText(decision) }
      : allowNote(call, decision);
  },
};

export const shell: Agent = {
  name,
  title: 'a script',
  readHook: createHookReader(adapter),
  hookCommand,
  setup: async () => (await import('./settings.ts')).setup,
  doctor: null,
  hasDryTurn: false,
  resume: null,
  promptsResolution: false,
};

function readAttempt(call: ShellCall) {
  const { output, ...attempt } = attemptSchema.parse(call);
  return { ...attempt, ...(output === undefined ? {} : { output: cutOutput(output) }) };
}

function draftTool(call: ShellCall, prior: PriorWorker): EntryDraft {
  const { tool = 'command', ok = true, call: id, files = [] } = call;
  return draftToolUse({ tool, ok, id, files }, call, prior);
}
