/**
 * Cursor: translates hook calls into our entries and stop attempts, and our decision into Cursor's JSON. Written from its
 * documentation (cursor.com/docs/hooks), never run here. Pure. Its stop hook cannot refuse the stop: it sends the next
 * prompt, at most `loop_limit` times (5 by default).
 */
import { z } from 'zod';
import { type CallOf, defineAgent, fields, sessionName, text } from '../agent.ts';
import { allowNote, blockText } from '../shared/block-text.ts';
import { callerOf } from '../shared/claude-calls.ts';
import {
  draftPrompted,
  draftRegistration,
  draftResumption,
  draftSessionEnd,
  draftToolUse,
  draftTurnEnd,
  type EntryDraft,
  heartbeat,
  toAttempt,
} from '../shared/entry-drafts.ts';
import type { PriorWorker } from '../shared/prior-worker.ts';
import { hookCommand } from './hook-command.ts';

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
type CursorCall = CallOf<typeof bodySchema>;

export const cursor = defineAgent({
  name: 'cursor',
  title: 'Cursor',
  hookCommand,
  settings: () => import('./settings.ts'),
  doctor: 'settings',
  // Only documented.
  resume: (session, prompt) => ['cursor-agent', '--resume', session, prompt],
  body: bodySchema,
  callerOf: ({ conversation_id, subagent_id, subagent_type, workspace_roots: roots }) => ({
    ...callerOf(conversation_id, subagent_id, subagent_type),
    cwd: roots?.[0],
  }),
  events: {
    sessionStart: (call, prior, agent) => (prior.registered ? [heartbeat] : [draftRegistration(call, prior, agent)]),
    beforeSubmitPrompt: draftPrompted,
    postToolUse: (call, prior) => [...draftResumption(prior), draftTool(call, true, prior)],
    postToolUseFailure: (call, prior) => [...draftResumption(prior), draftTool(call, false, prior)],
    // Comes as a tool call too, but only this event names the file.
    afterFileEdit: (call, prior) => [draftToolUse({ tool: 'edit', ok: true, files: [call.file_path] }, call, prior)],
    stop: draftTurnEnd,
    subagentStart: (call, prior, agent) =>
      call.parent === null ? [heartbeat] : [draftRegistration(call, prior, agent)],
    sessionEnd: draftSessionEnd,
  },
  stop: (call) => (isStop(call) ? toAttempt(call.summary, reasonOf(call.status)) : null),
  end: 'sessionEnd',
  answer(call, decision) {
    if (!isStop(call)) return null;
    return decision.decision === 'block' ? { followup_message: blockText(decision) } : allowNote(call, decision);
  },
});

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
