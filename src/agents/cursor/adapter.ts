/**
 * Cursor: translates hook calls into entries and stop attempts, and decisions into Cursor's JSON. Based on its
 * documentation (cursor.com/docs/hooks) and never tested with Cursor. Pure. Cursor's stop hook cannot refuse a stop.
 * Instead it sends a follow-up prompt, at most `loop_limit` times (5 by default).
 */
import { z } from 'zod';
import { tryJson } from '../../text/json-text.ts';
import { type CallOf, defineAgent, fields, flag, sessionName, text } from '../agent.ts';
import { allowNote, blockText } from '../shared/block-text.ts';
import { callerOf } from '../shared/claude-calls.ts';
import {
  draftPrompt,
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
import { authorOf, type PromptAuthor } from '../shared/prompt-author.ts';
import { type KnownTools, readCommand, readToolChanges } from '../shared/tool-changes.ts';
import { hookCommand } from './hook-command.ts';

const bodySchema = z.object({
  conversation_id: sessionName,
  hook_event_name: text,
  workspace_roots: z.array(z.string()).optional().catch(undefined),
  /** sessionStart: true if it runs in the cloud, without a person. */
  is_background_agent: flag,
  prompt: text,
  attachments: z.array(z.unknown()).optional().catch(undefined),
  /** afterShellExecution */
  command: text,
  status: text,
  reason: text,
  tool_name: text,
  tool_input: fields,
  tool_use_id: text,
  /** A JSON string. A shell's contains the exit code. */
  tool_output: z.unknown().optional(),
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
  // From the documentation, not tested.
  resume: (session, prompt) => ['cursor-agent', '--resume', session, prompt],
  body: bodySchema,
  callerOf: ({ conversation_id, subagent_id, subagent_type, workspace_roots: roots, is_background_agent }) => ({
    ...callerOf(conversation_id, subagent_id, subagent_type),
    // A window may have several folders, in any order.
    cwd: roots?.[0],
    otherFolders: roots?.slice(1),
    interactive: is_background_agent === true ? false : undefined,
  }),
  events: {
    sessionStart: (call, prior, agent) => (prior.registered ? [heartbeat] : [draftRegistration(call, prior, agent)]),
    beforeSubmitPrompt: (call, prior) => [draftPrompt(call.prompt, prior, promptedBy(call, prior))],
    postToolUse: (call, prior) => [...draftResumption(prior), draftTool(call, true, prior)],
    postToolUseFailure: (call, prior) => [...draftResumption(prior), draftTool(call, false, prior)],
    // An edit is reported as a tool call too, but only this event names the file.
    afterFileEdit: (call, prior) => [draftToolUse({ tool: 'edit', ok: true, files: [call.file_path] }, call, prior)],
    // `init` writes no hook for this event, because shells are reported as tool calls. Hand-written hooks may use it.
    afterShellExecution: (call, prior) => [
      ...draftResumption(prior),
      draftToolUse({ tool: 'shell', ok: true, ...readCommand(call.command) }, call, prior),
    ],
    stop: draftTurnEnd,
    subagentStart: (call, prior, agent) =>
      call.parent === null ? [heartbeat] : [draftRegistration(call, prior, agent)],
    sessionEnd: draftSessionEnd,
  },
  stop: (call) => (isStop(call) ? toAttempt(call.summary, reasonOf(call.status)) : null),
  personPrompt: (call, prior) =>
    call.event === 'beforeSubmitPrompt' && promptedBy(call, prior) === 'person' ? (call.prompt ?? null) : null,
  answerCommand: (text) => ({ continue: false, user_message: text }),
  end: 'sessionEnd',
  answer(call, decision) {
    if (!isStop(call)) return null;
    return decision.decision === 'block' ? { followup_message: blockText(decision) } : allowNote(call, decision);
  },
});

/**
 * A sub-agent's stop without an id is ignored, because it is indistinguishable from its parent's. A turn that ended
 * with a model error is not a stop attempt. Any other status is one, including unknown ones.
 */
const isStop = ({ event, parent, status }: CursorCall): boolean =>
  status !== 'error' && (event === 'stop' ? parent === null : event === 'subagentStop' && parent !== null);

const reasonOf = (status: string | undefined) => (status === 'aborted' ? 'user_interrupt' : 'end_turn');

/** A person's prompt may consist of attachments only. */
function promptedBy({ prompt, attachments = [], parent }: CursorCall, prior: PriorWorker): PromptAuthor {
  if (parent !== null) return 'agent';
  return (prompt ?? '').trim() === '' && attachments.length > 0 ? 'person' : authorOf(prompt, prior);
}

/** Fields that may name the file of a write. Without one, any file may have changed. */
const fileKeys = ['file_path', 'path', 'target_file'];
/** From Cursor's documentation. */
const cursorTools: KnownTools = {
  harmless: ['Read', 'Grep', 'Glob', 'LS', 'List', 'SemanticSearch', 'WebSearch', 'WebFetch', 'TodoWrite', 'ReadLints'],
  writers: { Write: fileKeys, StrReplace: fileKeys, Edit: fileKeys, Delete: fileKeys },
  shells: { Shell: ['command'] },
};

function draftTool(call: CursorCall, ok: boolean, prior: PriorWorker): EntryDraft {
  const { tool_name: tool, tool_input: input, tool_use_id: id, tool_output: output } = call;
  const result = typeof output === 'string' ? (tryJson(output) ?? output) : output;
  return draftToolUse({ tool, ok, id, ...readToolChanges(cursorTools, tool, input, ok, result) }, call, prior);
}
