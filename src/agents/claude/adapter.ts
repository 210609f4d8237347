/**
 * Claude Code, and the Agent SDK's callbacks, which use the same JSON: reads hook calls, translates them into our entries
 * and stop attempts, and our decision into Claude Code's JSON. Seen with 2.1.330. Pure. Everything but the session and the
 * name of the event may be missing or of another type.
 */
import { z } from 'zod';
import { type InputAnswer, idSchema } from '../../../machines/index.ts';
import type { Step } from '../../../machines/policy/plan.ts';
import { questionsIn } from '../../../machines/values/questions.ts';
import { type CallOf, defineAgent, fields, flag, text } from '../agent.ts';
import {
  answerWithResolution,
  backgroundMax,
  backgroundTasks,
  callerOf,
  claudeFields,
  createStopCalls,
  draftFailure,
  draftStop,
  draftToolCall,
  draftToolOf,
  promptedBy,
  scheduledPrompts,
  sessionCrons,
} from '../shared/claude-calls.ts';
import {
  draftChildStart,
  draftPrompt,
  draftRegistration,
  draftSessionEnd,
  draftSessionStart,
  draftToolResult,
  type EntryDraft,
  heartbeat,
} from '../shared/entry-drafts.ts';
import {
  answerPermission,
  answersTo,
  decidePermission,
  describeQuestion,
  describeToolRequest,
} from '../shared/permission-requests.ts';
import { oneStep, type PlanChange, readPlan, readStep, wholePlan } from '../shared/plan-entry.ts';
import type { PriorWorker } from '../shared/prior-worker.ts';
import { toId } from '../shared/text.ts';
import type { UnsolicitedCheck } from '../shared/unsolicited-checks.ts';
import { hookCommand } from './hook-command.ts';
import { claudeTools } from './tools.ts';

const bodySchema = z.object({
  session_id: idSchema,
  ...claudeFields,
  tool_response: fields,
  background_tasks: backgroundTasks('type'),
  session_crons: sessionCrons,
  /** Of calls within a team, whose members share a list of steps. */
  team_name: text,
  /** CwdChanged: where it works now. */
  new_cwd: text,
  /** StopFailure: 2.1.329 sends `error`, other descriptions name `error_type`. */
  error: text,
  error_type: text,
  /** StopFailure: what the model's API said; `last_assistant_message` is what the user is shown. */
  error_details: text,
  /** MessageDisplay: false while the message still grows. */
  final: flag,
});
type ClaudeCall = CallOf<typeof bodySchema>;

const { isOutput, readAttempt, answer } = createStopCalls('StructuredOutput');

export const claude = defineAgent({
  name: 'claude',
  title: 'Claude Code',
  hookCommand,
  settings: () => import('./settings.ts'),
  doctor: 'dry turn',
  resume: (session, prompt) => ['claude', '--resume', session, prompt],
  body: bodySchema,
  callerOf: ({ session_id, agent_id, agent_type, permission_mode: mode, source, cwd, new_cwd }, event) => ({
    ...callerOf(session_id, agent_id, agent_type),
    cwd: event === 'CwdChanged' ? (new_cwd ?? cwd) : cwd,
    mode,
    interactive: event === 'UserPromptSubmit' && source === 'sdk' ? false : undefined,
  }),
  events: {
    SessionStart: draftSessionStart,
    UserPromptSubmit: draftPrompted,
    PreToolUse: draftToolStart,
    // The request itself is stored by `ask`.
    PermissionRequest: () => [],
    PostToolUse: (call, prior) => [...draftToolResult(prior), ...draftToolEnd(call, prior)],
    PostToolUseFailure: (call, prior) => [...draftToolResult(prior), draftTool(call, false, prior)],
    Stop: draftStop,
    SubagentStart: draftChildStart,
    SubagentStop: draftStop,
    SessionEnd: draftSessionEnd,
    StopFailure: draftFailure,
    // Comes many times for one message, while it grows.
    MessageDisplay: (call) => (call.final === false ? [] : [heartbeat]),
  },
  stop: readAttempt,
  check: chooseCheck,
  ask: ({ event, tool_name: tool, tool_input: input }) =>
    event !== 'PermissionRequest'
      ? null
      : tool === questionTool
        ? describeQuestion(questionTool, input)
        : describeToolRequest('permission', tool, input),
  answerInput,
  immediateAnswer: answerWithResolution('UserPromptSubmit', 'SessionStart'),
  personPrompt: (call, prior) =>
    call.event === 'UserPromptSubmit' && promptedBy(call, prior) === 'person' ? (call.prompt ?? null) : null,
  answerCommand: (reason) => ({ decision: 'block', reason }),
  scheduled: ({ session_crons: crons, parent }) => (parent === null ? scheduledPrompts(crons) : null),
  planLists: ({ parent, worker, team_name: team }) => [
    `session ${parent ?? worker}`,
    ...(team === undefined || team === '' ? [] : [`team ${team}`]),
  ],
  // Compaction runs as a sub-agent without a type and reports its own stop. It is no worker.
  isIgnored: ({ parent, kind }) => parent !== null && kind === '',
  end: 'SessionEnd',
  answer,
});

// --- answers --------------------------------------------------------------------------------------------------

function chooseCheck({ event, tool_name: tool }: ClaudeCall, { lastDecision }: PriorWorker): UnsolicitedCheck | null {
  if (event === 'PostToolBatch') return 'complete';
  if (event === 'TaskCompleted') return 'step';
  // If it was allowed a moment ago, there is nothing to check.
  const isUnchecked = event === 'PostToolUse' && tool === 'StructuredOutput' && lastDecision?.decision !== 'allow';
  return isUnchecked ? 'output' : null;
}

/** An operator has answered. */
function answerInput(given: InputAnswer, { tool_name: tool, tool_input: input }: ClaudeCall): object | null {
  if (tool !== questionTool || given.verdict === 'deny') return answerPermission(given);
  const questions = questionsIn(input);
  const answers = answersTo(input, given.message);
  // Allowed without answers, the session would wait for them with nobody left who could give them.
  if (questions === null || answers === null) return null;
  const byText = Object.fromEntries(questions.map(({ question }, index) => [question, answers[index]]));
  return decidePermission({ behavior: 'allow', updatedInput: { ...input, answers: byText } });
}

const questionTool = 'AskUserQuestion';

// --- prompts and tools ----------------------------------------------------------------------------------------

/**
 * A run without a terminal (`claude -p`, the Agent SDK) says so with its prompt (`source: sdk`), not when its session starts,
 * so a session that is registered already is registered again. A version that leaves the source out does not tell it.
 */
function draftPrompted(call: ClaudeCall, prior: PriorWorker, agent: string): readonly EntryDraft[] {
  const { prompt } = call;
  const by = promptedBy(call, prior);
  const isNews = call.interactive === false && prior.registered && prior.interactive !== false;
  return [
    ...(isNews ? [draftRegistration(call, prior, agent)] : []),
    ...draftBackgroundEnds(by === 'person' ? '' : (prompt ?? '')),
    draftPrompt(prompt, prior, by),
  ];
}

/** The end of background work wakes the agent with a prompt that no person typed. */
function draftBackgroundEnds(prompt: string): readonly EntryDraft[] {
  const ids = [...prompt.matchAll(/<task-notification>\s*<task-id>([^<]{1,200})<\/task-id>/g)].map(
    ([, id]) => id?.trim() ?? '',
  );
  const ended = [...new Set(ids)].filter((id) => id !== '').slice(0, backgroundMax);
  return ended.map((id) => ({ type: 'background.finished', data: { id } }));
}

function draftToolStart(call: ClaudeCall, prior: PriorWorker): readonly EntryDraft[] {
  if (isOutput(call)) return draftToolResult(prior);
  if (call.tool_name !== questionTool) return draftToolCall(call);
  return [{ type: 'input.requested', data: describeQuestion(questionTool, call.tool_input) }];
}

function draftToolEnd(call: ClaudeCall, prior: PriorWorker): readonly EntryDraft[] {
  const change = planChange(call);
  const tool = draftTool(call, true, prior);
  return change === null ? [tool] : [tool, { ...change, worker: ownerOf(change, call, prior) }];
}

/** A session and its sub-agents share one task list: a step that the sub-agent did not create is its session's. */
function ownerOf({ data }: PlanChange, { tool_name: tool, worker, parent }: ClaudeCall, { plan }: PriorWorker): string {
  const isForeign = tool === 'TaskUpdate' && 'step' in data && !plan.some(({ step }) => step === data.step);
  return isForeign && parent !== null ? parent : worker;
}

const draftTool = draftToolOf(claudeTools);

// Reads Claude Code's plan from its plan tools. Newer versions change tasks one by one (`TaskCreate`, `TaskUpdate`,
// `TaskList`), older ones write the whole list (`TodoWrite`).

const id = z.union([z.string().min(1), z.number().transform(String)]);
const created = z.object({ task: z.object({ id, subject: text }) });
const updated = z.object({
  taskId: id,
  subject: z.string().optional().catch(undefined),
  status: z.string().optional().catch(undefined),
});

/** Returns what a successful tool call did to the plan; null if it did nothing, or in a form that we do not know. */
function planChange(call: ClaudeCall): PlanChange | null {
  switch (call.tool_name) {
    case 'TaskCreate':
      return createdStep(call);
    case 'TaskUpdate':
      return updatedStep(call);
    case 'TaskList': {
      // The whole list belongs to the session: its steps are not the sub-agent's.
      if (call.parent !== null) return null;
      const tasks = call.tool_response?.tasks;
      if (!Array.isArray(tasks)) return null;
      return wholePlan(tasks.map(readTask).filter(({ status }) => status !== 'deleted'));
    }
    case 'TodoWrite':
      return readPlan(call.tool_input?.todos, 'content');
    default:
      return null;
  }
}

function readTask(task: unknown, index: number): Step {
  const own = id.safeParse((task as { id?: unknown } | null)?.id);
  return { ...readStep(task, 'subject', index), ...(own.success ? { step: toId(own.data) } : {}) };
}

function createdStep(call: ClaudeCall): PlanChange | null {
  const result = created.safeParse(call.tool_response);
  if (!result.success) return null;
  const { task } = result.data;
  const subject = call.tool_input?.subject;
  return oneStep(task.id, {
    title: typeof subject === 'string' ? subject : (task.subject ?? task.id),
    status: 'pending',
  });
}

/**
 * The result of a refused update has `success: false`, or does not list the status as changed. An update of the owner or
 * the description changes no step.
 */
function updatedStep(call: ClaudeCall): PlanChange | null {
  const input = updated.safeParse(call.tool_input);
  if (!input.success || call.tool_response?.success === false) return null;
  const { taskId, subject, ...wanted } = input.data;
  const changed = call.tool_response?.updatedFields;
  // A deletion is listed as `deleted`.
  const stays = Array.isArray(changed) && !changed.includes('status') && !changed.includes(wanted.status);
  const status = stays ? undefined : wanted.status;
  if (subject === undefined && status === undefined) return null;
  return oneStep(taskId, { title: subject, status });
}
