/**
 * Codex: translates hook calls into entries and stop attempts, and decisions into Codex's JSON. Tested with 0.171.0.
 * Pure. Answers must have exactly the keys below: Codex silently drops a block with any other key.
 */
import { z } from 'zod';
import { tryJson } from '../../text/json-text.ts';
import { type CallOf, defineAgent, sessionName, text } from '../agent.ts';
import { allowNotice, blockAnswer } from '../shared/block-text.ts';
import {
  callerOf,
  claudeFields,
  draftFailure,
  draftToolCall,
  draftToolOf,
  isStop,
  promptedBy,
} from '../shared/claude-calls.ts';
import {
  draftChildStart,
  draftPrompted,
  draftSessionEnd,
  draftSessionStart,
  draftToolResult,
  draftTurnEnd,
  type EntryDraft,
  toAttempt,
} from '../shared/entry-drafts.ts';
import { answerPermission, describeToolRequest } from '../shared/permission-requests.ts';
import { type PlanChange, readPlan, stepUpdate, unread, withUnreadPlan } from '../shared/plan-entry.ts';
import type { PriorWorker } from '../shared/prior-worker.ts';
import type { KnownTools } from '../shared/tool-changes.ts';
import { hookCommand } from './hook-command.ts';

const bodySchema = z.object({
  session_id: sessionName,
  ...claudeFields,
  transcript_path: text,
  /** StopFailure, of newer versions. */
  error: text,
  error_details: text,
  /** A string or a tool-specific object. */
  tool_response: z.unknown().optional(),
});
type CodexCall = CallOf<typeof bodySchema>;

export const codex = defineAgent({
  name: 'codex',
  title: 'Codex',
  hookCommand,
  settings: () => import('./settings.ts'),
  doctor: 'dry turn',
  resume: (session, prompt) => ['codex', 'exec', 'resume', session, prompt],
  body: bodySchema,
  // Calls of `codex exec` look like those of a session with a person, so `interactive` stays unknown.
  callerOf: ({ session_id: session, agent_id, agent_type, transcript_path, permission_mode: mode }) => ({
    ...callerOf(session, agent_id || childInTranscript(transcript_path, session), agent_type),
    mode,
  }),
  events: {
    SessionStart: draftSessionStart,
    UserPromptSubmit: draftPrompted,
    // The request itself is stored by `ask`.
    PermissionRequest: () => [],
    PreToolUse: draftToolCall,
    PostToolUse: (call, prior) => [...draftToolResult(prior), ...draftToolEnd(call, prior)],
    Stop: draftTurnEnd,
    SubagentStart: draftChildStart,
    SubagentStop: draftTurnEnd,
    // The user's interrupt, which is a stop that cannot be blocked.
    Interrupt: draftTurnEnd,
    StopFailure: draftFailure,
    SessionEnd: draftSessionEnd,
  },
  stop(call, prior) {
    if (call.event === 'Interrupt') return isOver(prior) ? null : toAttempt(undefined, 'user_interrupt');
    return isStop(call) ? toAttempt(call.last_assistant_message) : null;
  },
  ask: ({ event, tool_name: tool, tool_input: input }) =>
    event === 'PermissionRequest' ? describeToolRequest('permission', tool, input) : null,
  answerInput: answerPermission,
  personPrompt: (call, prior) =>
    call.event === 'UserPromptSubmit' && promptedBy(call, prior) === 'person' ? (call.prompt ?? null) : null,
  answerCommand: (reason) => ({ decision: 'block', reason }),
  end: 'SessionEnd',
  answer: (call, decision) => (isStop(call) ? (blockAnswer(decision) ?? allowNotice(call, decision)) : null),
});

/**
 * After an allowed stop, Codex starts another turn by itself while its goal is active, and `codex exec` reports an
 * interrupt of that turn when it ends. No user has ended anything then.
 */
const isOver = ({ stopped, escalated }: PriorWorker): boolean => stopped || escalated;

/**
 * Codex also reports prompts of sub-agents, which no person typed, without naming the sub-agent. Its transcript does:
 * the file name ends in the session's id for the session itself, and in another id for a sub-agent.
 */
function childInTranscript(path: string | undefined, session: string): string | undefined {
  const [, id] = /rollout-.{19}-([0-9a-f-]{36})\.jsonl$/.exec(path ?? '') ?? [];
  return id === session ? undefined : id;
}

// --- tools and the plan ---------------------------------------------------------------------------------------

function draftToolEnd(call: CodexCall, prior: PriorWorker): readonly EntryDraft[] {
  const tool = draftTool(call, true, prior);
  const change = planChange(call, prior);
  if (change === unread) return [withUnreadPlan(tool)];
  return change === null ? [tool] : [tool, change];
}

/**
 * Deliberately not harmless: `spawn_agent` and `wait_agent` (the agent may change any file) and `write_stdin` (sends
 * input to a running shell).
 */
const codexTools: KnownTools = {
  harmless: [
    'update_plan',
    'create_goal',
    'update_goal',
    'get_goal',
    'view_image',
    'web_search',
    'read_file',
    'list_dir',
    'grep_files',
    'list_mcp_resources',
    'list_mcp_resource_templates',
    'read_mcp_resource',
    'request_user_input',
    'list_agents',
    'tool_search',
  ],
  writers: {},
  patches: { apply_patch: ['command', 'input', 'patch'] },
  shells: {
    Bash: ['command'],
    shell: ['command'],
    shell_command: ['command'],
    local_shell: ['command'],
    exec_command: ['cmd', 'command'],
    unified_exec: ['cmd', 'command'],
  },
};
const draftTool = draftToolOf(codexTools);

const goalSchema = z.object({ goal: z.object({ objective: text, status: text }) });
const noGoalSchema = z.object({ goal: z.null() });

/** A goal becomes a single step. Older versions write the whole list with `update_plan`. */
function planChange(
  { tool_name: tool, tool_input: input, tool_response: response }: CodexCall,
  { plan }: PriorWorker,
): PlanChange | typeof unread | null {
  if (tool === 'update_plan') return readPlan(input?.plan, 'step') ?? unread;
  if (tool !== 'create_goal' && tool !== 'update_goal' && tool !== 'get_goal') return null;
  const result = typeof response === 'string' ? tryJson(response) : response;
  const answer = goalSchema.safeParse(result);
  if (!answer.success) {
    if (tool !== 'get_goal') return unread;
    // Only the user can clear a goal. A session that never had one has the same response.
    const isCleared = noGoalSchema.safeParse(result).success && plan.some(({ step }) => step === 'goal');
    return isCleared ? stepUpdate('goal', { status: 'deleted' }) : null;
  }
  // A goal without a status counts as open.
  const { objective, status = 'active' } = answer.data.goal;
  return stepUpdate('goal', { title: objective, status: goalStatuses.get(status) ?? status });
}

/**
 * `paused`, `blocked`, `usageLimited` and `budgetLimited` are kept and count as open, as do unknown statuses. The agent
 * may set a goal's budget, so a used-up budget must not let the session stop.
 */
const goalStatuses: ReadonlyMap<string, string> = new Map([
  ['active', 'in_progress'],
  ['complete', 'completed'],
]);
