/**
 * Claude Code, and the Agent SDK's callbacks, which use the same JSON. Translates hook calls into entries and stop
 * attempts, and decisions into Claude Code's JSON. Tested with 2.1.332. Pure. Any field except the session and the
 * event name may be missing or have another type. Other programs that run Claude Code's hooks are in callers.ts.
 */
import { z } from 'zod';
import { type InputAnswer, idSchema } from '../../../machines/index.ts';
import type { Step } from '../../../machines/policy/plan.ts';
import { questionsIn } from '../../../machines/values/questions.ts';
import { type CallOf, defineAgent, flag, text } from '../agent.ts';
import { type AnswerableDecision, blockText } from '../shared/block-text.ts';
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
  scheduledBy,
  scheduledPrompts,
  sessionCrons,
} from '../shared/claude-calls.ts';
import {
  draftChildStart,
  draftInputRequest,
  draftPrompt,
  draftRegistration,
  draftSessionEnd,
  draftSessionStart,
  draftToolResult,
  draftToolUse,
  draftUnusedTool,
  type EntryDraft,
  heartbeat,
  toAttempt,
} from '../shared/entry-drafts.ts';
import {
  answerPermission,
  answersTo,
  decidePermission,
  describeQuestion,
  describeToolRequest,
} from '../shared/permission-requests.ts';
import {
  type PlanChange,
  planUpdate,
  readPlan,
  readStep,
  stepUpdate,
  unread,
  withUnreadPlan,
} from '../shared/plan-entry.ts';
import type { PriorWorker } from '../shared/prior-worker.ts';
import { toId } from '../shared/text.ts';
import { readToolChanges } from '../shared/tool-changes.ts';
import type { UnsolicitedCheck } from '../shared/unsolicited-checks.ts';
import { hookCommand } from './hook-command.ts';
import { claudeTools } from './tools.ts';

const bodySchema = z.object({
  session_id: idSchema,
  ...claudeFields,
  /** A tool-specific object. Some versions send the model's view of it instead: a string or a list of text parts. */
  tool_response: z.unknown().optional(),
  background_tasks: backgroundTasks('type'),
  session_crons: sessionCrons,
  /** The caller's team, whose members share a list of steps. */
  team_name: text,
  transcript_path: text,
  prompt_id: text,
  /** CwdChanged: the new working folder. */
  new_cwd: text,
  /** Notification: `permission_prompt`, `idle_prompt`, `elicitation_dialog` and others. */
  notification_type: text,
  /** Notification and Elicitation: the text for the person. */
  message: text,
  /** PostToolUseFailure: true if the user interrupted the turn while the tool ran. */
  is_interrupt: flag,
  /** StopFailure: 2.1.329 sends `error`; the documentation names `error_type`. */
  error: text,
  error_type: text,
  /** StopFailure: the message of the model's API. `last_assistant_message` is the text shown to the user. */
  error_details: text,
  /** MessageDisplay: false while the message still grows. */
  final: flag,
});
type ClaudeCall = CallOf<typeof bodySchema>;

const { isOutput, readAttempt, answer } = createStopCalls('StructuredOutput');

/** The adapter without the program's identity, for programs that send the same JSON (callers.ts). */
export const claudeAdapter = {
  hookCommand,
  settings: () => import('./settings.ts'),
  doctor: 'dry turn',
  body: bodySchema,
  callerOf: (
    { session_id, agent_id, agent_type, permission_mode: mode, source, cwd, new_cwd }: z.output<typeof bodySchema>,
    event: string,
  ) => ({
    ...callerOf(session_id, agent_id, agent_type),
    cwd: event === 'CwdChanged' ? (new_cwd ?? cwd) : cwd,
    mode,
    interactive: event === 'UserPromptSubmit' && source === 'sdk' ? false : undefined,
  }),
  events: {
    SessionStart: draftSessionStart,
    UserPromptSubmit: draftPrompted,
    PreToolUse: draftToolStart,
    PreSkillShellCommand: draftSkillShell,
    // The request itself is stored by `ask`.
    PermissionRequest: () => [],
    // The tool has not run, but its start was reported.
    PermissionDenied: ({ tool_name: tool, tool_use_id: id }: ClaudeCall, prior: PriorWorker) => [
      ...draftToolResult(prior),
      ...(tool === undefined ? [] : [draftUnusedTool(tool, id)]),
    ],
    Notification: draftNotification,
    Elicitation: ({ message }: ClaudeCall) => [draftInputRequest(message, 'question')],
    ElicitationResult: (_call: ClaudeCall, prior: PriorWorker) => draftToolResult(prior),
    PostToolUse: (call: ClaudeCall, prior: PriorWorker) => [...draftToolResult(prior), ...draftToolEnd(call, prior)],
    PostToolUseFailure: (call: ClaudeCall, prior: PriorWorker) => [
      ...draftToolResult(prior),
      draftTool(call, false, prior),
    ],
    Stop: draftStop,
    SubagentStart: draftChildStart,
    SubagentStop: draftStop,
    SessionEnd: draftSessionEnd,
    StopFailure: draftFailure,
    // Sent repeatedly while a message grows.
    MessageDisplay: (call: ClaudeCall) => (call.final === false ? [] : [heartbeat]),
  },
  stop: (call: ClaudeCall, prior: PriorWorker) =>
    isInterrupted(call, prior) ? toAttempt(undefined, 'user_interrupt') : readAttempt(call),
  check: chooseCheck,
  ask: ({ event, tool_name: tool, tool_input: input }: ClaudeCall) =>
    event !== 'PermissionRequest'
      ? null
      : tool === questionTool
        ? describeQuestion(questionTool, input)
        : describeToolRequest('permission', tool, input),
  answerInput,
  immediateAnswer: answerWithResolution('UserPromptSubmit', 'SessionStart'),
  personPrompt: (call: ClaudeCall, prior: PriorWorker) =>
    call.event === 'UserPromptSubmit' && promptedBy(call, prior) === 'person' ? (call.prompt ?? null) : null,
  answerCommand: (reason: string) => ({ decision: 'block', reason }),
  scheduled: ({ session_crons: crons, parent }: ClaudeCall) => (parent === null ? scheduledPrompts(crons) : null),
  schedules: scheduledBy,
  planLists: ({ parent, worker, team_name: team }: ClaudeCall) => [
    `session ${parent ?? worker}`,
    ...(team === undefined || team === '' ? [] : [`team ${team}`]),
  ],
  // Compaction runs as a sub-agent without a type and reports its own stop, but it is not a worker.
  isIgnored: ({ parent, kind }: ClaudeCall) => parent !== null && kind === '',
  end: 'SessionEnd',
  answer: answerCall,
} as const;

export const claudeCode = defineAgent({
  ...claudeAdapter,
  name: 'claude',
  title: 'Claude Code',
  resume: (session, prompt) => ['claude', '--resume', session, prompt],
});

/**
 * True if the user interrupted the turn. Claude Code reports that with the tool that was running. If none was running,
 * the only sign is `idle_prompt`, a minute later. It also follows a turn that ended normally, but then the worker is no
 * longer `working`.
 */
const isInterrupted = ({ event, is_interrupt, notification_type: type }: ClaudeCall, prior: PriorWorker): boolean =>
  event === 'PostToolUseFailure'
    ? is_interrupt === true
    : event === 'Notification' && type === 'idle_prompt' && prior.working === true;

function draftNotification(call: ClaudeCall, prior: PriorWorker): readonly EntryDraft[] {
  // The same request may have been reported by its own event.
  if (prior.awaitsInput) return [heartbeat];
  if (call.notification_type === 'permission_prompt') return [draftInputRequest(call.message, 'permission')];
  if (call.notification_type === 'elicitation_dialog') return [draftInputRequest(call.message, 'question')];
  return [heartbeat];
}

// --- answers --------------------------------------------------------------------------------------------------

/**
 * Blocks a stop with `additionalContext` where the version honours it: since 2.1.163 Claude then continues without an
 * error, and without reading the hook's command line. No field names the version, so a call counts as new if it has all
 * fields that newer versions send. An older version would ignore the context and stop.
 */
function answerCall(call: ClaudeCall, decision: AnswerableDecision, check: UnsolicitedCheck | null): object | null {
  const usual = answer(call, decision, check);
  // Not tested for the stop of a sub-agent.
  const isBlock = check === null && call.event === 'Stop' && decision.decision === 'block';
  if (!isBlock || !readsContext(call)) return usual;
  return { hookSpecificOutput: { hookEventName: call.event, additionalContext: blockText(decision) } };
}

const readsContext = (call: ClaudeCall): boolean =>
  [call.prompt_id, call.transcript_path, call.cwd, call.background_tasks, call.session_crons].every(
    (field) => field !== undefined,
  );

function chooseCheck({ event, tool_name: tool }: ClaudeCall, { lastDecision }: PriorWorker): UnsolicitedCheck | null {
  if (event === 'PostToolBatch') return 'complete';
  if (event === 'TaskCompleted') return 'step';
  // If PreToolUse has just allowed the output, there is nothing left to check.
  const isUnchecked = event === 'PostToolUse' && tool === 'StructuredOutput' && lastDecision?.decision !== 'allow';
  return isUnchecked ? 'output' : null;
}

function answerInput(answer: InputAnswer, { tool_name: tool, tool_input: input }: ClaudeCall): object | null {
  if (tool !== questionTool || answer.verdict === 'deny') return answerPermission(answer);
  const questions = questionsIn(input);
  const answers = answersTo(input, answer.message);
  // If allowed without answers, the session would wait for answers that nobody can give any more.
  if (questions === null || answers === null) return null;
  const byText = Object.fromEntries(questions.map(({ question }, index) => [question, answers[index]]));
  return decidePermission({ behavior: 'allow', updatedInput: { ...input, answers: byText } });
}

const questionTool = 'AskUserQuestion';

// --- prompts and tools ----------------------------------------------------------------------------------------

/**
 * A run without a terminal (`claude -p`, the Agent SDK) is recognised only at its prompt (`source: sdk`), after the
 * session was registered, so it is registered again. Versions that omit the source cannot be recognised.
 */
function draftPrompted(call: ClaudeCall, prior: PriorWorker, agent: string): readonly EntryDraft[] {
  const { prompt } = call;
  const by = promptedBy(call, prior);
  const becomesHeadless = call.interactive === false && prior.registered && prior.interactive !== false;
  return [
    ...(becomesHeadless ? [draftRegistration(call, prior, agent)] : []),
    ...draftBackgroundEnds(by === 'person' ? '' : (prompt ?? '')),
    draftPrompt(prompt, prior, by),
  ];
}

/** When background work ends, Claude Code wakes the agent with a prompt that names the task. */
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

/**
 * A shell command in the text of a skill, since 2.1.332. It is no tool call: if a person typed the skill's name, no
 * other event reports the command, and none reports its end. It has not run yet, so it is no evidence.
 */
function draftSkillShell(call: ClaudeCall, prior: PriorWorker): readonly EntryDraft[] {
  const { tool_name: tool, tool_input: input, tool_use_id: id } = call;
  const { command: _command, ...changes } = readToolChanges(claudeTools, tool, input);
  // With its own id, it does not end a running call of the same tool.
  return [draftToolUse({ tool: tool || call.event, ok: true, id, ...changes }, call, prior)];
}

function draftToolEnd(call: ClaudeCall, prior: PriorWorker): readonly EntryDraft[] {
  const change = planChange(call);
  const tool = draftTool(call, true, prior);
  if (change === unread) return [withUnreadPlan(tool)];
  return change === null ? [tool] : [tool, { ...change, worker: ownerOf(change, call, prior) }];
}

/** A session and its sub-agents share a task list. A step that the sub-agent did not create belongs to its session. */
function ownerOf({ data }: PlanChange, { tool_name: tool, worker, parent }: ClaudeCall, { plan }: PriorWorker): string {
  const isForeign = tool === 'TaskUpdate' && 'step' in data && !plan.some(({ step }) => step === data.step);
  return isForeign && parent !== null ? parent : worker;
}

const draftTool = draftToolOf(claudeTools);

// The plan, as changed by Claude Code's tools. Newer versions change single tasks (`TaskCreate`, `TaskUpdate`,
// `TaskList`), older ones write the whole list (`TodoWrite`).

const id = z.union([z.string().min(1), z.number().transform(String)]);
const created = z.object({ task: z.object({ id, subject: text }) });
const updated = z.object({
  taskId: id,
  subject: z.string().optional().catch(undefined),
  status: z.string().optional().catch(undefined),
});

/**
 * Returns the change that a successful tool call made to the plan. Null if it made none, `unread` if it made one in an
 * unknown form.
 */
function planChange(call: ClaudeCall): PlanChange | typeof unread | null {
  switch (call.tool_name) {
    case 'TaskCreate':
      return createdStep(call);
    case 'TaskUpdate':
      return updatedStep(call);
    case 'TaskList':
      // The list belongs to the session, so a sub-agent's call must not replace the sub-agent's own plan.
      return call.parent === null ? listedSteps(call) : null;
    case 'TodoWrite':
      return readPlan(call.tool_input?.todos, 'content') ?? unread;
    default:
      return null;
  }
}

function listedSteps({ tool_response: response }: ClaudeCall): PlanChange | typeof unread {
  const tasks = objectOf(response)?.tasks ?? listedInText(textIn(response));
  if (!Array.isArray(tasks)) return unread;
  return planUpdate(tasks.map(readTask).filter(({ status }) => status !== 'deleted'));
}

/** Parses lines such as `#1 [completed] Fix the test`. Returns null for any other text. */
function listedInText(words: string | null): readonly object[] | null {
  if (words === null) return null;
  const lines = words.split('\n').filter((line) => line.trim() !== '');
  const tasks = lines.map((line) => /^\s*#(\S{1,100})\.? \[(\w{1,40})\] (.+)$/.exec(line));
  return lines.length === 0 || tasks.includes(null)
    ? null
    : tasks.map((task) => ({ id: task?.[1], status: task?.[2], subject: task?.[3] }));
}

function readTask(task: unknown, index: number): Step {
  const step = id.safeParse((task as { id?: unknown } | null)?.id);
  return { ...readStep(task, 'subject', index), ...(step.success ? { step: toId(step.data) } : {}) };
}

/**
 * If the new step's id cannot be read, its title becomes the id. It then stays open until `TaskList` names the steps.
 */
function createdStep({ tool_input: input, tool_response: response }: ClaudeCall): PlanChange | typeof unread {
  const result = created.safeParse(response);
  const task = result.success ? result.data.task : undefined;
  const subject = typeof input?.subject === 'string' && input.subject.trim() !== '' ? input.subject : task?.subject;
  const named = task?.id ?? /\bTask #([\w-]{1,100})\b/i.exec(textIn(response) ?? '')?.[1] ?? subject;
  return named === undefined ? unread : stepUpdate(named, { title: subject ?? named, status: 'pending' });
}

/**
 * A refused update lacks `success: true`, or does not list the status as changed. An update of only the owner or the
 * description changes no step.
 */
function updatedStep({ tool_input, tool_response: response }: ClaudeCall): PlanChange | typeof unread | null {
  const input = updated.safeParse(tool_input);
  if (!input.success) return unread;
  const { taskId, subject, ...wanted } = input.data;
  const result = objectOf(response);
  const words = textIn(response);
  const isRefused =
    result?.success === undefined ? words !== null && !/\bUpdated task\b/i.test(words) : result.success !== true;
  if (isRefused) return null;
  const changed = result?.updatedFields;
  // A deletion is listed as `deleted`.
  const isUnchanged = Array.isArray(changed) && !changed.includes('status') && !changed.includes(wanted.status);
  const status = isUnchanged ? undefined : wanted.status;
  if (subject === undefined && status === undefined) return null;
  return stepUpdate(taskId, { title: subject, status });
}

const objectOf = (value: unknown): Readonly<Record<string, unknown>> | null =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : null;

/** The text of a result that is a string or a list of text parts. Null for any other form. */
function textIn(response: unknown): string | null {
  if (typeof response === 'string') return response;
  const parts = Array.isArray(response) ? response : objectOf(response)?.content;
  if (!Array.isArray(parts)) return null;
  const texts = parts.flatMap((part: unknown) => {
    const { text: words } = objectOf(part) ?? {};
    return typeof words === 'string' ? [words] : [];
  });
  return texts.length === 0 ? null : texts.join('\n');
}
