/**
 * Qwen Code: its hook JSON is Claude Code's with some different names. Tested with 0.24.4. Pure. Any field except the
 * session and the event name may be missing or have another type, because Qwen Code treats an error as "continue".
 */
import { z } from 'zod';
import { type CallOf, defineAgent, sessionName, text } from '../agent.ts';
import {
  answerWithResolution,
  backgroundTasks,
  callerOf,
  claudeFields,
  createStopCalls,
  draftFailure,
  draftStop,
  draftToolCall,
  draftToolOf,
  promptedBy,
  scheduledBy,
  scheduledPrompts,
  sessionCrons,
} from '../shared/claude-calls.ts';
import {
  type DraftEntries,
  draftChildStart,
  draftPrompt,
  draftSessionEnd,
  draftSessionStart,
  draftToolResult,
  type EntryDraft,
  heartbeat,
} from '../shared/entry-drafts.ts';
import { answerPermission, describeQuestion, describeToolRequest } from '../shared/permission-requests.ts';
import { readPlan, withUnreadPlan } from '../shared/plan-entry.ts';
import type { PriorWorker } from '../shared/prior-worker.ts';
import type { KnownTools } from '../shared/tool-changes.ts';
import { hookCommand } from './hook-command.ts';

const bodySchema = z.object({
  session_id: sessionName,
  ...claudeFields,
  /** A shell's contains the exit code. */
  tool_response: z.unknown().optional(),
  background_tasks: backgroundTasks('agent_type'),
  crons: sessionCrons,
  /** StopFailure: `rate_limit` and others. */
  error: text,
  error_details: text,
  /** TodoCompleted: `validation` before the list is written, `postWrite` after it. */
  phase: text,
});
type QwenCall = CallOf<typeof bodySchema>;

const questionTool = 'ask_user_question';
const { isOutput, readAttempt, answer } = createStopCalls('structured_output');
/** Deliberately not harmless: `agent` and `task` (their sub-agents may change any file), `skill` and `save_memory`. */
const qwenTools: KnownTools = {
  harmless: [
    'read_file',
    'read_many_files',
    'list_directory',
    'glob',
    'grep_search',
    'search_file_content',
    'web_fetch',
    'web_search',
    'todo_write',
    'ask_user_question',
    'enter_plan_mode',
    'exit_plan_mode',
    'lsp',
    'tool_search',
    'task_stop',
    'cron_create',
    'cron_list',
    'cron_delete',
    'structured_output',
  ],
  writers: { write_file: ['file_path'], edit: ['file_path'], notebook_edit: ['notebook_path'] },
  shells: { run_shell_command: ['command'], monitor: ['command'] },
  starters: ['monitor'],
};
const draftTool = draftToolOf(qwenTools);

const draftQwenStop: DraftEntries<QwenCall> = ({ crons, ...call }, ...rest) =>
  draftStop({ ...call, session_crons: crons }, ...rest);

export const qwen = defineAgent({
  name: 'qwen',
  title: 'Qwen Code',
  hookCommand,
  settings: () => import('./settings.ts'),
  doctor: 'dry turn',
  resume: (session, prompt) => ['qwen', '--resume', session, '--prompt-interactive', prompt],
  body: bodySchema,
  // Calls of `qwen -p` look like those of a session with a person, so `interactive` stays unknown.
  callerOf: ({ session_id, agent_id, agent_type, permission_mode: mode }) => ({
    ...callerOf(session_id, agent_id, agent_type),
    mode,
  }),
  events: {
    // A registration would clear the resolution, which is delivered with the next prompt.
    SessionStart: (call, prior, agent) =>
      prior.resolution === null ? draftSessionStart(call, prior, agent) : [heartbeat],
    // The prompt is empty when only tool results go to the model. `authorOf` takes that for the system's.
    UserPromptSubmit: (call, prior) => [draftPrompt(call.prompt, prior, promptedBy(call, prior))],
    PreToolUse: (call, prior) => (isOutput(call) ? draftToolResult(prior) : draftToolCall(call)),
    // `ask` stores the request, except for questions: an allowed one would continue without answers, so it is not held.
    PermissionRequest: ({ tool_name: tool, tool_input: input }) =>
      tool === questionTool ? [{ type: 'input.requested', data: describeQuestion(questionTool, input) }] : [],
    PostToolUse: (call, prior) => [...draftToolResult(prior), ...draftToolEnd(call, prior)],
    PostToolUseFailure: (call, prior) => [...draftToolResult(prior), draftTool(call, false, prior)],
    TodoCompleted: () => [],
    Stop: draftQwenStop,
    SubagentStart: draftChildStart,
    SubagentStop: draftQwenStop,
    StopFailure: draftFailure,
    SessionEnd: draftSessionEnd,
  },
  stop: readAttempt,
  check: (call) => (call.event === 'TodoCompleted' && call.phase === 'validation' ? 'step' : null),
  ask: ({ event, tool_name: tool, tool_input: input }) =>
    event === 'PermissionRequest' && tool !== questionTool ? describeToolRequest('permission', tool, input) : null,
  answerInput: answerPermission,
  immediateAnswer: answerWithResolution('UserPromptSubmit'),
  personPrompt: (call, prior) =>
    call.event === 'UserPromptSubmit' && promptedBy(call, prior) === 'person' ? (call.prompt ?? null) : null,
  answerCommand: (reason) => ({ decision: 'block', reason }),
  scheduled: ({ crons, parent }) => (parent === null ? scheduledPrompts(crons) : null),
  schedules: scheduledBy,
  end: 'SessionEnd',
  answer,
});

function draftToolEnd(call: QwenCall, prior: PriorWorker): readonly EntryDraft[] {
  const tool = draftTool(call, true, prior);
  if (call.tool_name !== 'todo_write') return [tool];
  const plan = readPlan(call.tool_input?.todos, 'content');
  return plan === null ? [withUnreadPlan(tool)] : [tool, plan];
}
