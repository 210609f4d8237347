/**
 * Reads Qwen Code's hook JSON, which is Claude Code's with names of its own. Seen with 0.24.4. Everything but the session
 * and the name of the event may be missing or of another type: Qwen Code takes an error for "continue".
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
} from '../shared/claude-calls.ts';
import {
  draftChildStart,
  draftPrompt,
  draftSessionEnd,
  draftSessionStart,
  draftToolResult,
  type EntryDraft,
  heartbeat,
} from '../shared/entry-drafts.ts';
import { answerPermission, describeQuestion, describeToolRequest } from '../shared/permission-requests.ts';
import { readPlan } from '../shared/plan-entry.ts';
import type { PriorWorker } from '../shared/prior-worker.ts';
import { hookCommand } from './hook-command.ts';

const bodySchema = z.object({
  session_id: sessionName,
  ...claudeFields,
  background_tasks: backgroundTasks('agent_type'),
  /** StopFailure: `rate_limit` and others. */
  error: text,
  error_details: text,
  /** TodoCompleted: `validation` before the list is written, `postWrite` after it. */
  phase: text,
});
type QwenCall = CallOf<typeof bodySchema>;

const questionTool = 'ask_user_question';
const { isOutput, readAttempt, answer } = createStopCalls('structured_output');
const draftTool = draftToolOf({ write_file: 'file_path', edit: 'file_path', notebook_edit: 'notebook_path' });

export const qwen = defineAgent({
  name: 'qwen',
  title: 'Qwen Code',
  hookCommand,
  settings: () => import('./settings.ts'),
  doctor: 'dry turn',
  resume: (session, prompt) => ['qwen', '--resume', session, '--prompt-interactive', prompt],
  body: bodySchema,
  callerOf: ({ session_id, agent_id, agent_type }) => callerOf(session_id, agent_id, agent_type),
  events: {
    // A registration would clear the resolution, which goes along with the prompt that follows.
    SessionStart: (call, prior, agent) =>
      prior.resolution === null ? draftSessionStart(call, prior, agent) : [heartbeat],
    // The prompt is empty where only the results of tools go to the model.
    UserPromptSubmit: ({ prompt = '' }, prior) => (prompt === '' ? [heartbeat] : [draftPrompt(prompt, prior)]),
    PreToolUse: (call, prior) => (isOutput(call) ? draftToolResult(prior) : draftToolCall(call)),
    // The request itself is stored by `ask`. An allowed question would go on without its answers, so that one is not held.
    PermissionRequest: ({ tool_name: tool, tool_input: input }) =>
      tool === questionTool ? [{ type: 'input.requested', data: describeQuestion(questionTool, input) }] : [],
    PostToolUse: (call, prior) => [...draftToolResult(prior), ...draftToolEnd(call, prior)],
    PostToolUseFailure: (call, prior) => [...draftToolResult(prior), draftTool(call, false, prior)],
    TodoCompleted: () => [],
    Stop: draftStop,
    SubagentStart: draftChildStart,
    SubagentStop: draftStop,
    StopFailure: draftFailure,
    SessionEnd: draftSessionEnd,
  },
  stop: readAttempt,
  check: (call) => (call.event === 'TodoCompleted' && call.phase === 'validation' ? 'step' : null),
  ask: ({ event, tool_name: tool, tool_input: input }) =>
    event === 'PermissionRequest' && tool !== questionTool ? describeToolRequest('permission', tool, input) : null,
  answerInput: answerPermission,
  immediateAnswer: answerWithResolution('UserPromptSubmit'),
  end: 'SessionEnd',
  answer,
});

function draftToolEnd(call: QwenCall, prior: PriorWorker): readonly EntryDraft[] {
  const tool = draftTool(call, true, prior);
  const plan = call.tool_name === 'todo_write' ? readPlan(call.tool_input?.todos, 'content') : null;
  return plan === null ? [tool] : [tool, plan];
}
