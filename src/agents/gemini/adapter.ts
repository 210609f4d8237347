/**
 * Gemini CLI: translates hook calls into entries and stop attempts, and decisions into Gemini's JSON. Tested with
 * 0.61.0. Pure. A block comes back as `BeforeAgent` with our text as the prompt. `stop_hook_active` becomes false again
 * after any tool, so only our own retry count prevents an endless loop.
 */
import { z } from 'zod';
import { type CallOf, defineAgent, fields, sessionName, text } from '../agent.ts';
import { allowNotice, blockAnswer, findingsText, stopText } from '../shared/block-text.ts';
import {
  draftInputRequest,
  draftPrompted,
  draftResumption,
  draftSessionEnd,
  draftSessionStart,
  draftToolStart,
  draftToolUse,
  draftTurnEnd,
  type EntryDraft,
  toAttempt,
} from '../shared/entry-drafts.ts';
import { readPlan, withUnreadPlan } from '../shared/plan-entry.ts';
import type { PriorWorker } from '../shared/prior-worker.ts';
import { authorOf } from '../shared/prompt-author.ts';
import { type KnownTools, readToolChanges } from '../shared/tool-changes.ts';
import { hookCommand } from './hook-command.ts';

const bodySchema = z.object({
  session_id: sessionName,
  hook_event_name: text,
  cwd: text,
  source: text,
  prompt: text,
  prompt_response: text,
  tool_name: text,
  tool_input: fields,
  tool_response: fields,
  notification_type: text,
  message: text,
  reason: text,
});
type GeminiCall = CallOf<typeof bodySchema>;

const noEntries = () => [];

export const gemini = defineAgent({
  name: 'gemini',
  title: 'Gemini CLI',
  hookCommand,
  settings: () => import('./settings.ts'),
  doctor: 'dry turn',
  resume: (session, prompt) => ['gemini', '--resume', session, prompt],
  body: bodySchema,
  // Calls of `gemini -p` look like those of a session with a person, so `interactive` stays unknown.
  callerOf: ({ session_id: worker }) => ({ worker, parent: null }),
  events: {
    SessionStart: draftSessionStart,
    BeforeAgent: draftPrompted,
    BeforeTool: ({ tool_name: tool }) => [draftToolStart({ tool })],
    AfterTool: (call, prior) => [...draftResumption(prior), ...draftToolEnd(call, prior)],
    AfterAgent: draftTurnEnd,
    Notification: (call) => (isPermission(call) ? [draftInputRequest(call.message, 'permission')] : []),
    // Sent with every model call, `AfterModel` even with every chunk. Tool events are enough to see that the agent is
    // alive.
    PreCompress: noEntries,
    BeforeModel: noEntries,
    BeforeToolSelection: noEntries,
    AfterModel: noEntries,
    SessionEnd: draftSessionEnd,
  },
  stop: (call) => (call.event === 'AfterAgent' ? toAttempt(call.prompt_response) : null),
  // Within a turn, the prompt is empty when only tool results go to the model. `authorOf` takes that for the system's.
  personPrompt: (call, prior) =>
    call.event === 'BeforeAgent' && authorOf(call.prompt, prior) === 'person' ? (call.prompt ?? null) : null,
  // `deny` also keeps the prompt out of the session's history.
  answerCommand: (reason) => ({ decision: 'deny', reason }),
  check: (call) => (call.event === 'AfterTool' ? 'complete-throttled' : null),
  end: 'SessionEnd',
  answer(call, decision, check) {
    if (check === 'complete-throttled')
      return decision.decision === 'block'
        ? { hookSpecificOutput: { hookEventName: 'AfterTool', additionalContext: findingsText(decision) } }
        : { continue: false, stopReason: stopText(decision) };
    return call.event === 'AfterAgent' ? (blockAnswer(decision) ?? allowNotice(call, decision)) : null;
  },
});

/** Notifications of other types do not wait for a person, as far as we know. */
const isPermission = (call: GeminiCall): boolean => call.notification_type === 'ToolPermission';

/**
 * Deliberately not harmless: `save_memory` (writes a file of the project or the user), `activate_skill`, and agents
 * offered as tools.
 */
const geminiTools: KnownTools = {
  harmless: [
    'read_file',
    'read_many_files',
    'list_directory',
    'glob',
    'search_file_content',
    'grep_search',
    'google_web_search',
    'web_fetch',
    'write_todos',
    'ask_user',
    'get_internal_docs',
    'enter_plan_mode',
    'exit_plan_mode',
    'complete_task',
  ],
  writers: { write_file: ['file_path'], replace: ['file_path'] },
  shells: { run_shell_command: ['command'] },
};

function draftToolEnd(call: GeminiCall, prior: PriorWorker): readonly EntryDraft[] {
  const { tool_name: tool, tool_input: input, tool_response: response } = call;
  const ok = response?.error === undefined || response.error === null;
  const use = draftToolUse({ tool, ok, ...readToolChanges(geminiTools, tool, input, ok, response) }, call, prior);
  if (!ok || tool !== 'write_todos') return [use];
  const plan = readPlan(input?.todos, 'description');
  return plan === null ? [withUnreadPlan(use)] : [use, plan];
}
