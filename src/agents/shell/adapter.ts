/**
 * Any tool that can run a command (`stopgate hook shell --worker W`). This JSON is our own contract, so mistakes in it
 * are errors.
 */
import { z } from 'zod';
import { attemptSchema, idSchema } from '../../../machines/index.ts';
import { AppError } from '../../errors.ts';
import { type CallOf, defineAgent } from '../agent.ts';
import { formatCommand, formatUrl } from '../setup/line.ts';
import type { LineSetup } from '../setup/setup.ts';
import { allowNote, blockText } from '../shared/block-text.ts';
import {
  cutOutput,
  type DraftEntries,
  draftChildStart,
  draftPrompt,
  draftResumption,
  draftSessionEnd,
  draftToolStart,
  draftToolUse,
  draftTurnEnd,
  type EntryDraft,
} from '../shared/entry-drafts.ts';
import { planUpdate, readStep } from '../shared/plan-entry.ts';
import type { PriorWorker } from '../shared/prior-worker.ts';
import { authorOf } from '../shared/prompt-author.ts';
import { readCommand, type ToolChanges } from '../shared/tool-changes.ts';
import { hookCommand } from './hook-command.ts';

const bodySchema = z.object({
  ...attemptSchema.shape,
  worker: idSchema,
  /** Default: the event in the URL, otherwise `stop`. */
  event: z.string().min(1).optional(),
  cwd: z.string().min(1).optional(),
  text: z.string().optional(),
  tool: z.string().min(1).optional(),
  /** The id of a tool call, the same at its start and its end. */
  call: z.string().min(1).optional(),
  ok: z.boolean().optional(),
  /** Default: `files` if files are named, otherwise derived from the command, otherwise `unknown`. */
  changes: z.enum(['none', 'files', 'unknown']).optional(),
  /** The command that a shell ran. */
  command: z.string().optional(),
  /** The author of the prompt. Default: derived from the text; a person if there is none. */
  by: z.enum(['person', 'agent', 'system']).optional(),
  /** False if the session runs without a person. */
  interactive: z.boolean().optional(),
  mode: z.string().min(1).optional(),
  steps: z.array(z.unknown()).optional(),
  reason: z.string().optional(),
});
type ShellCall = CallOf<typeof bodySchema>;

const events: Readonly<Record<string, DraftEntries<ShellCall>>> = {
  start: draftChildStart,
  prompt: (call, prior) => [draftPrompt(call.text, prior, promptedBy(call, prior))],
  'tool-start': ({ tool = 'command', call: id }) => [draftToolStart({ tool, id })],
  tool: (call, prior) => [...draftResumption(prior), draftTool(call, prior)],
  plan: ({ steps }) => (steps === undefined ? [] : [planUpdate(steps.map(readOwnStep))]),
  stop: draftTurnEnd,
  end: draftSessionEnd,
};

/** A script has no settings, so `init` prints the command that it must run. */
const setup: LineSetup = {
  kind: 'line',
  forms: ['command', 'curl'],
  commandFor: (line, worker) =>
    line.form === 'curl'
      ? `curl -sf --noproxy '*' -X POST -H 'content-type: application/json' -d '{"worker":"${worker}"}' '${formatUrl('shell', null, line, false)}'`
      : formatCommand({ agent: 'shell', hook: hookCommand }, null, line, `--worker ${worker}`),
  meaningOf: (form) =>
    form === 'curl'
      ? 'it may stop unless the reply has "decision":"block"'
      : 'exit code 0: it may stop; 2: it may not, and stderr has the reason',
};

export const shell = defineAgent({
  name: 'shell',
  title: 'a script',
  hookCommand,
  settings: async () => ({ setup }),
  doctor: null,
  resume: null,
  body: bodySchema,
  eventOf: ({ event }, inUrl) => event ?? inUrl ?? 'stop',
  callerOf({ worker }, event) {
    if (Object.hasOwn(events, event)) return { worker, parent: null };
    throw new AppError('input.bad', `unknown event '${event}'; use one of: ${Object.keys(events).join(', ')}`);
  },
  events,
  stop: (call) => (call.event === 'stop' ? readAttempt(call) : null),
  personPrompt: (call, prior) =>
    call.event === 'prompt' && promptedBy(call, prior) === 'person' ? (call.text ?? null) : null,
  answerCommand: (reason) => ({ decision: 'block', reason }),
  end: 'end',
  answer(call, decision) {
    if (call.event !== 'stop') return null;
    return decision.decision === 'block'
      ? { decision: 'block', reason: blockText(decision) }
      : allowNote(call, decision);
  },
});

function readAttempt(call: ShellCall) {
  const { output, ...attempt } = attemptSchema.parse(call);
  return { ...attempt, ...(output === undefined ? {} : { output: cutOutput(output) }) };
}

/** `step` is the script's id for the step. */
function readOwnStep(item: unknown, index: number) {
  const step = idSchema.safeParse((item as { step?: unknown } | null)?.step);
  return { ...readStep(item, 'title', index), ...(step.success ? { step: step.data } : {}) };
}

/** The text is optional. Without it, the prompt is a person's. */
const promptedBy = ({ by, text }: ShellCall, prior: PriorWorker) =>
  by ?? (text === undefined ? 'person' : authorOf(text, prior));

function draftTool(call: ShellCall, prior: PriorWorker): EntryDraft {
  const { tool = 'command', ok = true, call: id } = call;
  return draftToolUse({ tool, ok, id, ...changesOf(call) }, call, prior);
}

function changesOf({ changes, command, files }: ShellCall): Partial<ToolChanges> {
  const ran = command === undefined ? null : readCommand(command);
  const named = files ?? ran?.files ?? [];
  return {
    changes: changes ?? (files === undefined ? (ran?.changes ?? 'unknown') : 'files'),
    files: named,
    ...(ran?.command === undefined ? {} : { command: ran.command }),
  };
}
