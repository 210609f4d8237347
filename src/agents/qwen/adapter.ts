/**
 * Reads Qwen Code's hook JSON, which is Claude Code's with names of its own. Seen with 0.24.4. Everything but the session
 * and the name of the event may be missing or of another type: Qwen Code takes an error for "continue".
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
import { type BackgroundTask, draftBackground, shortName } from '../shared/background-work.ts';
import { answerWithResolution, callerOf, createStopCalls, draftToolCall, draftToolOf } from '../shared/claude-calls.ts';
import {
  type BaseCall,
  draftPrompt,
  draftRegistration,
  draftResumption,
  draftSessionEnd,
  draftSessionStart,
  draftToolResult,
  type EntryDraft,
  heartbeat,
} from '../shared/entry-drafts.ts';
import { draftLimit } from '../shared/limit-end.ts';
import { answerPermission, describeQuestion, describeToolRequest } from '../shared/permission-requests.ts';
import { readPlan } from '../shared/plan-entry.ts';
import type { PriorWorker } from '../shared/prior-worker.ts';
import { hookCommand } from './hook-command.ts';

const backgroundTask = z
  .object({ id: z.string().min(1).pipe(shortName), agent_type: shortName.optional().catch(undefined), status: text })
  .transform(({ id, agent_type: kind, status }): BackgroundTask => ({ id, kind, status }));

const bodySchema = z.object({
  session_id: sessionName,
  hook_event_name: text,
  cwd: text,
  /** SessionStart: `startup`, `resume`, `clear` or `compact`. */
  source: text,
  /** Empty where only the results of tools go to the model. */
  prompt: text,
  tool_name: text,
  tool_input: fields,
  tool_use_id: text,
  last_assistant_message: text,
  background_tasks: z.array(backgroundTask).optional().catch(undefined),
  agent_id: text,
  agent_type: text,
  reason: text,
  /** StopFailure: `rate_limit` and others. */
  error: text,
  error_details: text,
  /** TodoCompleted: `validation` before the list is written, `postWrite` after it. */
  phase: text,
});

type QwenCall = BaseCall & Omit<z.infer<typeof bodySchema>, 'session_id' | 'hook_event_name'>;

const title = 'Qwen Code';

/** @throws AppError input.bad */
function readQwen(body: unknown, eventInUrl: string | undefined): QwenCall {
  const { session_id: session, hook_event_name, ...rest } = readBody(bodySchema, body, title);
  const event = readEvent(hook_event_name, eventInUrl, title);
  return { ...rest, ...callerOf(session, rest.agent_id), event, kind: rest.agent_type };
}

const name = 'qwen';
const questionTool = 'ask_user_question';
const { isOutput, readAttempt, answer } = createStopCalls('structured_output');
const draftTool = draftToolOf(
  new Map([
    ['write_file', 'file_path'],
    ['edit', 'file_path'],
    ['notebook_edit', 'notebook_path'],
  ]),
);

const events: EventTable<QwenCall> = new Map<string, DraftEntries<QwenCall>>([
  [
    'SessionStart',
    // A registration would clear the resolution, which goes along with the prompt that follows.
    (call, prior) => (prior.resolution === null ? draftSessionStart(name, call, prior) : [heartbeat]),
  ],
  ['UserPromptSubmit', ({ prompt = '' }, prior) => (prompt === '' ? [heartbeat] : [draftPrompt(prompt, prior)])],
  ['PreToolUse', (call, prior) => (isOutput(call) ? draftToolResult(prior) : [draftToolCall(call)])],
  // The request itself is stored by `ask`. An allowed question would go on without its answers, so that one is not held.
  [
    'PermissionRequest',
    ({ tool_name: tool, tool_input: input }) =>
      tool === questionTool ? [{ type: 'input.requested', data: describeQuestion(questionTool, input) }] : [],
  ],
  ['PostToolUse', (call, prior) => [...draftToolResult(prior), ...draftToolEnd(call, prior)]],
  ['PostToolUseFailure', (call, prior) => [...draftToolResult(prior), draftTool(call, false, prior)]],
  ['TodoCompleted', () => []],
  ['Stop', (call, prior) => [...draftResumption(prior), ...draftBackground(call, prior)]],
  ['SubagentStart', (call, prior) => [draftRegistration(name, call, prior)]],
  ['SubagentStop', (call, prior) => [...draftResumption(prior), ...draftBackground(call, prior)]],
  [
    'StopFailure',
    ({ error, error_details: details = '', last_assistant_message: message = '' }) =>
      error === 'rate_limit' ? [draftLimit(`${details}\n${message}`)] : [],
  ],
  ['SessionEnd', (call, prior) => draftSessionEnd(call.reason, prior)],
]);

const adapter: Adapter<QwenCall> = {
  name,
  read: readQwen,
  events,
  stop: readAttempt,
  check: (call) => (call.event === 'TodoCompleted' && call.phase === 'validation' ? 'step' : null),
  ask: ({ event, tool_name: tool, tool_input: input }) =>
    event === 'PermissionRequest' && tool !== questionTool ? describeToolRequest('permission', tool, input) : null,
  answerInput: answerPermission,
  immediateAnswer: answerWithResolution('UserPromptSubmit'),
  isEnd: ({ event }) => event === 'SessionEnd',
  answer,
};

export const qwen: Agent = {
  name,
  title,
  readHook: createHookReader(adapter),
  hookCommand,
  setup: async () => (await import('./settings.ts')).setup,
  doctor: async () => (await import('./settings.ts')).doctor,
  hasDryTurn: true,
  resume: (session, prompt) => ['qwen', '--resume', session, '--prompt-interactive', prompt],
  promptsResolution: false,
};

function draftToolEnd(call: QwenCall, prior: PriorWorker): readonly EntryDraft[] {
  const tool = draftTool(call, true, prior);
  const plan = call.tool_name === 'todo_write' ? readPlan(call.tool_input?.todos, 'content') : null;
  return plan === null ? [tool] : [tool, plan];
}
