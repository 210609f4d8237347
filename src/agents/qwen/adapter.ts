/**
 * Qwen Code: translates hook calls into our entries and stop attempts, and our decision into its JSON. Seen with 0.24.4.
 * Pure. A block comes back as `UserPromptSubmit` with our text as the prompt.
 */
import { z } from 'zod';
import type { AttemptFields } from '../../../machines/index.ts';
import { type Adapter, createHookReader, type DraftEntries, type EventTable } from '../shared/adapter.ts';
import { draftBackground } from '../shared/background-work.ts';
import {
  type AnswerableDecision,
  allowNotice,
  blockText,
  resolutionText,
  unjudgedStepText,
} from '../shared/block-text.ts';
import {
  draftPrompt,
  draftRegistration,
  draftResumption,
  draftSessionEnd,
  draftSessionStart,
  draftToolResult,
  draftToolUse,
  type EntryDraft,
  heartbeat,
  toAttempt,
} from '../shared/entry-drafts.ts';
import { answerPermission, describeQuestion, describeToolRequest } from '../shared/permission-requests.ts';
import { wholePlan } from '../shared/plan-entry.ts';
import type { PriorWorker } from '../shared/prior-worker.ts';
import type { UnsolicitedCheck } from '../shared/unsolicited-checks.ts';
import { type QwenCall, readQwen } from './call.ts';

const name = 'qwen';
const questionTool = 'ask_user_question';

const events: EventTable<QwenCall> = new Map<string, DraftEntries<QwenCall>>([
  [
    'SessionStart',
    // A registration would clear the resolution, which goes along with the prompt that follows.
    (call, prior) => (prior.resolution === null ? draftSessionStart(name, call, prior) : [heartbeat]),
  ],
  ['UserPromptSubmit', ({ prompt = '' }, prior) => (prompt === '' ? [heartbeat] : [draftPrompt(prompt, prior)])],
  ['PreToolUse', (call, prior) => (isOutput(call) ? draftToolResult(prior) : [heartbeat])],
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
  ['StopFailure', ({ error }) => (error === 'rate_limit' ? [{ type: 'limit.reached', data: {} }] : [])],
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
  immediateAnswer: answerWithResolution,
  isEnd: ({ event }) => event === 'SessionEnd',
  answer,
};
export const readQwenHook = createHookReader(adapter);

/** The stop of a sub-agent without an id is nobody's: it could not be told from its parent's. */
const isStop = ({ event, parent }: QwenCall): boolean =>
  event === 'Stop' || (event === 'SubagentStop' && parent !== null);

/** Structured output ends the run, without a `Stop`. */
const isOutput = ({ event, tool_name: tool }: QwenCall): boolean =>
  event === 'PreToolUse' && tool === 'structured_output';

function readAttempt(call: QwenCall): AttemptFields | null {
  if (isOutput(call)) return toAttempt(JSON.stringify(call.tool_input ?? {}), 'structured_output');
  return isStop(call) ? toAttempt(call.last_assistant_message) : null;
}

const denied = { hookEventName: 'PreToolUse', permissionDecision: 'deny' } as const;

function answer(call: QwenCall, decision: AnswerableDecision, check: UnsolicitedCheck | null): object | null {
  if (check === 'step' && decision.cause === 'unjudged')
    return { decision: 'block', reason: unjudgedStepText(decision) };
  if (decision.decision !== 'block') return isStop(call) ? allowNotice(call, decision) : null;
  const reason = blockText(decision);
  if (check === 'step') return { decision: 'block', reason: `The step is not marked as done. ${reason}` };
  if (isOutput(call)) return { hookSpecificOutput: { ...denied, permissionDecisionReason: reason } };
  return isStop(call) ? { decision: 'block', reason } : null;
}

/** A person has resolved the session's escalation with a prompt: the agent gets it along with the next prompt. */
function answerWithResolution({ event }: QwenCall, { resolution }: PriorWorker): object | null {
  if (resolution === null || event !== 'UserPromptSubmit') return null;
  return { hookSpecificOutput: { hookEventName: event, additionalContext: resolutionText(resolution) } };
}

const todos = z.object({ todos: z.array(z.object({ content: z.string(), status: z.string() })) });

function draftToolEnd(call: QwenCall, prior: PriorWorker): readonly EntryDraft[] {
  const tool = draftTool(call, true, prior);
  const plan = call.tool_name === 'todo_write' ? todos.safeParse(call.tool_input) : null;
  if (!plan?.success) return [tool];
  return [tool, wholePlan(plan.data.todos.map(({ content, status }) => ({ title: content, status })))];
}

const pathKeys: ReadonlyMap<string, string> = new Map([
  ['write_file', 'file_path'],
  ['edit', 'file_path'],
  ['notebook_edit', 'notebook_path'],
]);

function draftTool(call: QwenCall, ok: boolean, prior: PriorWorker): EntryDraft {
  const key = pathKeys.get(call.tool_name ?? '');
  const files = ok && key !== undefined ? [call.tool_input?.[key]] : [];
  return draftToolUse({ tool: call.tool_name, ok, id: call.tool_use_id, files }, call, prior);
}
