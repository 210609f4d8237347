/**
 * Gemini CLI: translates hook calls into our entries and stop attempts, and our decision into Gemini's JSON. Seen with
 * 0.61.0. Pure. A block comes back as `BeforeAgent` with our text as the prompt, and `stop_hook_active` is false again
 * after any tool, so only our own retry count prevents a loop.
 */
import { z } from 'zod';
import { type CallOf, defineAgent, fields, sessionName, text } from '../agent.ts';
import { allowNotice, blockAnswer, differenceText, stopText } from '../shared/block-text.ts';
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

const nothing = () => [];

export const gemini = defineAgent({
  name: 'gemini',
  title: 'Gemini CLI',
  hookCommand,
  settings: () => import('./settings.ts'),
  doctor: 'dry turn',
  resume: (session, prompt) => ['gemini', '--resume', session, prompt],
  body: bodySchema,
  // Nothing in its calls tells `gemini -p` from a session with a person, so `interactive` stays unknown.
  callerOf: ({ session_id: worker }) => ({ worker, parent: null }),
  events: {
    SessionStart: draftSessionStart,
    BeforeAgent: draftPrompted,
    BeforeTool: ({ tool_name: tool }) => [draftToolStart({ tool })],
    AfterTool: (call, prior) => [...draftResumption(prior), ...draftToolEnd(call, prior)],
    AfterAgent: draftTurnEnd,
    Notification: (call) => (isPermission(call) ? [draftInputRequest(call.message, 'permission')] : []),
    // These come with each call of the model, and `AfterModel` with each chunk of its answer: tools show as much.
    PreCompress: nothing,
    BeforeModel: nothing,
    BeforeToolSelection: nothing,
    AfterModel: nothing,
    SessionEnd: draftSessionEnd,
  },
  stop: (call) => (call.event === 'AfterAgent' ? toAttempt(call.prompt_response) : null),
  // An empty prompt comes within a turn, where only the results of tools go to the model: no person's, see `authorOf`.
  personPrompt: (call, prior) =>
    call.event === 'BeforeAgent' && authorOf(call.prompt, prior) === 'person' ? (call.prompt ?? null) : null,
  // `deny` also keeps the prompt out of the session's memory.
  answerCommand: (reason) => ({ decision: 'deny', reason }),
  check: (call) => (call.event === 'AfterTool' ? 'complete-throttled' : null),
  end: 'SessionEnd',
  answer(call, decision, check) {
    if (check === 'complete-throttled')
      return decision.decision === 'block'
        ? { hookSpecificOutput: { hookEventName: 'AfterTool', additionalContext: differenceText(decision) } }
        : { continue: false, stopReason: stopText(decision) };
    return call.event === 'AfterAgent' ? (blockAnswer(decision) ?? allowNotice(call, decision)) : null;
  },
});

/** A notification of another type waits for nobody that we know of. */
const isPermission = (call: GeminiCall): boolean => call.notification_type === 'ToolPermission';

/**
 * Not harmless: `save_memory`, which writes a file of the project or of the user, `activate_skill`, and every agent that it
 * offers as a tool. Tools of MCP servers have names of their own.
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
