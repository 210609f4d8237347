/**
 * Codex: translates hook calls into our entries and stop attempts, and our decision into Codex's JSON. Seen with 0.169.0.
 * Pure. An answer has exactly the keys below: Codex silently drops a block that has any other key.
 */
import { z } from 'zod';
import { tryJson } from '../../text/json-text.ts';
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
import { allowNotice, blockAnswer } from '../shared/block-text.ts';
import { callerOf, draftToolCall, isStop } from '../shared/claude-calls.ts';
import {
  type BaseCall,
  draftPrompt,
  draftRegistration,
  draftResumption,
  draftSessionEnd,
  draftSessionStart,
  draftToolResult,
  draftToolUse,
  type EntryDraft,
  toAttempt,
} from '../shared/entry-drafts.ts';
import { answerPermission, describeToolRequest } from '../shared/permission-requests.ts';
import { oneStep, type PlanChange, readPlan } from '../shared/plan-entry.ts';
import type { PriorWorker } from '../shared/prior-worker.ts';
import { hookCommand } from './hook-command.ts';

const name = 'codex';
const title = 'Codex';

const bodySchema = z.object({
  session_id: sessionName,
  hook_event_name: text,
  cwd: text,
  transcript_path: text,
  source: text,
  prompt: text,
  tool_name: text,
  tool_input: fields,
  /** A string, or an object of the tool's own. */
  tool_response: z.unknown().optional(),
  tool_use_id: text,
  last_assistant_message: text,
  agent_id: text,
  agent_type: text,
  reason: text,
});
type CodexCall = BaseCall & Omit<z.infer<typeof bodySchema>, 'session_id' | 'hook_event_name'>;

const events: EventTable<CodexCall> = new Map<string, DraftEntries<CodexCall>>([
  ['SessionStart', (call, prior) => draftSessionStart(name, call, prior)],
  ['UserPromptSubmit', (call, prior) => [draftPrompt(call.prompt ?? '', prior)]],
  // The request itself is stored by `ask`.
  ['PermissionRequest', () => []],
  ['PreToolUse', (call) => [draftToolCall(call)]],
  ['PostToolUse', (call, prior) => [...draftToolResult(prior), ...draftToolEnd(call, prior)]],
  ['Stop', (_call, prior) => draftResumption(prior)],
  ['SubagentStart', (call, prior) => [draftRegistration(name, call, prior)]],
  ['SubagentStop', (_call, prior) => draftResumption(prior)],
  ['SessionEnd', (call, prior) => draftSessionEnd(call.reason, prior)],
]);

const adapter: Adapter<CodexCall> = {
  name,
  read,
  events,
  stop: (call) => (isStop(call) ? toAttempt(call.last_assistant_message) : null),
  ask: ({ event, tool_name: tool, tool_input: input }) =>
    event === 'PermissionRequest' ? describeToolRequest('permission', tool, input) : null,
  answerInput: answerPermission,
  isEnd: ({ event }) => event === 'SessionEnd',
  answer(call, decision) {
    return isStop(call) ? (blockAnswer(decision) ?? allowNotice(call, decision)) : null;
  },
};

export const codex: Agent = {
  name,
  title,
  readHook: createHookReader(adapter),
  hookCommand,
  setup: async () => (await import('./settings.ts')).setup,
  doctor: async () => (await import('./settings.ts')).doctor,
  hasDryTurn: true,
  resume: (session, prompt) => ['codex', 'exec', 'resume', session, prompt],
  promptsResolution: false,
};

function read(body: unknown, eventInUrl: string | undefined): CodexCall {
  const { session_id: session, hook_event_name, ...rest } = readBody(bodySchema, body, title);
  const event = readEvent(hook_event_name, eventInUrl, title);
  const agent = rest.agent_id || childInTranscript(rest.transcript_path, session);
  return { ...rest, ...callerOf(session, agent), event, kind: rest.agent_type };
}

/**
 * Codex reports a sub-agent's prompts too, which no person typed. If a call names no sub-agent, its transcript does: the
 * name of a session's own transcript ends in the session's id.
 */
function childInTranscript(path: string | undefined, session: string): string | undefined {
  const [, id] = /rollout-.{19}-([0-9a-f-]{36})\.jsonl$/.exec(path ?? '') ?? [];
  return id === session ? undefined : id;
}

// --- tools and the plan ---------------------------------------------------------------------------------------

function draftToolEnd(call: CodexCall, prior: PriorWorker): readonly EntryDraft[] {
  const tool = draftToolUse(
    { tool: call.tool_name, ok: true, id: call.tool_use_id, files: patchedFiles(call) },
    call,
    prior,
  );
  const change = planChange(call);
  return change === null ? [tool] : [tool, change];
}

/** The files that a patch names in its header lines. */
function patchedFiles({ tool_name: tool, tool_input: input }: CodexCall): string[] {
  const patch = input?.command ?? input?.input;
  if (tool !== 'apply_patch' || typeof patch !== 'string') return [];
  return [...patch.matchAll(/^\*\*\* (?:Add File|Update File|Delete File|Move to): (.+)$/gm)].map(([, file]) =>
    (file ?? '').trim(),
  );
}

const goalSchema = z.object({
  goal: z.object({ objective: z.string().optional().catch(undefined), status: z.string() }),
});

/** A goal is one step. Versions that still have `update_plan` write the whole list. */
function planChange({ tool_name: tool, tool_input: input, tool_response: response }: CodexCall): PlanChange | null {
  if (tool === 'update_plan') return readPlan(input?.plan, 'step');
  if (tool !== 'create_goal' && tool !== 'update_goal' && tool !== 'get_goal') return null;
  const answer = goalSchema.safeParse(typeof response === 'string' ? tryJson(response) : response);
  if (!answer.success) return null;
  const { objective, status } = answer.data.goal;
  return oneStep('goal', { title: objective, status: goalStatuses.get(status) ?? status });
}

const goalStatuses: ReadonlyMap<string, string> = new Map([
  ['active', 'in_progress'],
  ['complete', 'completed'],
]);
