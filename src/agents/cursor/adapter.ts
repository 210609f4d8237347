/**
 * Cursor: translates hook calls into our entries and stop attempts, and our decision into Cursor's JSON. Written from its
 * documentation (cursor.com/docs/hooks), never run here. Pure. Its stop hook cannot refuse the stop: it sends the next
 * prompt, at most `loop_limit` times (5 by default).
 */
import { z } from 'zod';
import type { Agent } from '../agent.ts';
import {
  type Adapter,
  createHookReader,
  type DraftEntries,
  type EventTable,
  fields,
  readBody,
  readEvent,
  sessionName,
  text,
} from '../shared/adapter.ts';
import { allowNote, blockText } from '../shared/block-text.ts';
import { callerOf } from '../shared/claude-calls.ts';
import {
  type BaseCall,
  draftPrompt,
  draftRegistration,
  draftResumption,
  draftSessionEnd,
  draftToolUse,
  type EntryDraft,
  heartbeat,
  toAttempt,
} from '../shared/entry-drafts.ts';
import type { PriorWorker } from '../shared/prior-worker.ts';
import { hookCommand } from './hook-command.ts';

const name = 'cursor';
const title = 'Cursor';

const bodySchema = z.object({
  conversation_id: sessionName,
  hook_event_name: text,
  workspace_roots: z.array(z.string()).optional().catch(undefined),
  prompt: text,
  status: text,
  reason: text,
  tool_name: text,
  tool_input: fields,
  tool_use_id: text,
  file_path: text,
  subagent_id: text,
  subagent_type: text,
  summary: text,
});
type CursorCall = BaseCall & Omit<z.infer<typeof bodySchema>, 'conversation_id' | 'hook_event_name'>;

const events: EventTable<CursorCall> = new Map<string, DraftEntries<CursorCall>>([
  ['sessionStart', (call, prior) => (prior.registered ? [heartbeat] : [draftRegistration(name, call, prior)])],
  ['beforeSubmitPrompt', (call, prior) => [draftPrompt(call.prompt ?? '', prior)]],
  ['postToolUse', (call, prior) => [...draftResumption(prior), draftTool(call, true, prior)]],
  ['postToolUseFailure', (call, prior) => [...draftResumption(prior), draftTool(call, false, prior)]],
  ['afterFileEdit', (call, prior) => [draftEdit(call, prior)]],
  ['stop', (_call, prior) => draftResumption(prior)],
  ['subagentStart', (call, prior) => (call.parent === null ? [heartbeat] : [draftRegistration(name, call, prior)])],
  ['sessionEnd', (call, prior) => draftSessionEnd(call.reason, prior)],
]);

const adapter: Adapter<CursorCall> = {
  name,
  read,
  events,
  stop: (call) => (isStop(call) ? toAttempt(call.summary, reasonOf(call.status)) : null),
  isEnd: ({ event }) => event === 'sessionEnd',
  answer: (call, decision) => {
    if (!isStop(call)) return null;
    return decision.decision === 'block' ? { followup_message: blockText(decision) } : allowNote(call, decision);
  },
};

export const cursor: Agent = {
  name,
  title,
  readHook: createHookReader(adapter),
  hookCommand,
  setup: async () => (await import('./settings.ts')).setup,
  doctor: async () => (await import('./settings.ts')).doctor,
  hasDryTurn: false,
  // Only documented.
  resume: (session, prompt) => ['cursor-agent', '--resume', session, prompt],
  promptsResolution: false,
};

function read(body: unknown, eventInUrl: string | undefined): CursorCall {
  const { conversation_id: conversation, hook_event_name, ...rest } = readBody(bodySchema, body, title);
  const event = readEvent(hook_event_name, eventInUrl, title);
  const { subagent_id: agent, subagent_type: kind, workspace_roots: roots } = rest;
  return { ...rest, ...callerOf(conversation, agent), event, kind, cwd: roots?.[0] };
}

/**
 * The stop of a sub-agent without an id is nobody's: it could not be told from its parent's. A turn that ended with an
 * error of the model is no stop attempt.
 */
const isStop = ({ event, parent, status }: CursorCall): boolean =>
  status !== 'error' && (event === 'stop' ? parent === null : event === 'subagentStop' && parent !== null);

const reasonOf = (status: string | undefined) => (status === 'aborted' ? 'user_interrupt' : 'end_turn');

function draftTool(call: CursorCall, ok: boolean, prior: PriorWorker): EntryDraft {
  return draftToolUse({ tool: call.tool_name, ok, id: call.tool_use_id }, call, prior);
}

/** Comes as a tool call too, but only this event names the file. */
function draftEdit(call: CursorCall, prior: PriorWorker): EntryDraft {
  return draftToolUse({ tool: 'edit', ok: true, files: [call.file_path] }, call, prior);
}
