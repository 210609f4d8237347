/** Reads the part of Claude Code's hook JSON that Codex and Qwen Code have adopted. */
import { z } from 'zod';
import type { AttemptFields } from '../../../machines/index.ts';
import { fields, text } from '../agent.ts';
import {
  type AnswerableDecision,
  allowNotice,
  blockText,
  findingsText,
  resolutionText,
  stopText,
  unjudgedStepText,
} from './block-text.ts';
import { classifySchedule } from './cron.ts';
import {
  type BaseCall,
  type DraftEntries,
  draftResumption,
  draftToolStart,
  draftToolUse,
  type EntryDraft,
  nameCharsMax,
  toAttempt,
} from './entry-drafts.ts';
import { draftLimit, mentionsLimit } from './limit-end.ts';
import type { PriorWorker } from './prior-worker.ts';
import { authorOf, type PromptAuthor } from './prompt-author.ts';
import { commandIn, shownCommand } from './shell-command.ts';
import { firstChars, toId } from './text.ts';
import { type KnownTools, readToolChanges } from './tool-changes.ts';
import type { UnsolicitedCheck } from './unsolicited-checks.ts';

/** The fields that all three agents send. */
export const claudeFields = {
  hook_event_name: text,
  cwd: text,
  /** SessionStart: `startup`, `resume`, `clear`, `compact` or `fork`. UserPromptSubmit: who made the prompt. */
  source: text,
  permission_mode: text,
  prompt: text,
  tool_name: text,
  tool_input: fields,
  tool_use_id: text,
  last_assistant_message: text,
  agent_id: text,
  agent_type: text,
  reason: text,
};

/** Identifies the caller: the session, or a sub-agent if `agent` is set. */
export const callerOf = (
  session: string,
  agent: string | undefined,
  kind: string | undefined,
): Pick<BaseCall, 'worker' | 'parent' | 'kind'> =>
  agent ? { worker: toId(`${session}-${agent}`), parent: session, kind } : { worker: session, parent: null, kind };

/** A sub-agent's stop without an id is ignored, because it is indistinguishable from its parent's. */
export const isStop = ({ event, parent }: BaseCall): boolean =>
  event === 'Stop' || (event === 'SubagentStop' && parent !== null);

type ToolCall = BaseCall & {
  readonly tool_name?: string | undefined;
  readonly tool_input?: Readonly<Record<string, unknown>> | undefined;
  readonly tool_use_id?: string | undefined;
  readonly tool_response?: unknown;
  readonly last_assistant_message?: string | undefined;
};

const denied = { hookEventName: 'PreToolUse', permissionDecision: 'deny' } as const;

/**
 * A call of `outputTool`, which delivers structured output, is treated as a stop: once the tool has run, the session
 * ends and a block at `Stop` would be too late.
 */
export function createStopCalls(outputTool: string) {
  const isOutput = ({ event, tool_name: tool }: ToolCall): boolean => event === 'PreToolUse' && tool === outputTool;
  return {
    isOutput,
    readAttempt(call: ToolCall): AttemptFields | null {
      if (isOutput(call)) return toAttempt(JSON.stringify(call.tool_input ?? {}), 'structured_output');
      return isStop(call) ? toAttempt(call.last_assistant_message) : null;
    },
    /** A block has exactly two keys. Null is an empty answer, which every version treats as "continue". */
    answer(call: ToolCall, decision: AnswerableDecision, check: UnsolicitedCheck | null): object | null {
      // `decision: block` would end the turn here.
      if (check === 'complete' && decision.decision === 'block')
        return withContext('PostToolBatch', findingsText(decision));
      if (check === 'complete') return { continue: false, stopReason: stopText(decision) };
      if (check === 'step' && decision.cause === 'unjudged')
        return { decision: 'block', reason: unjudgedStepText(decision) };
      if (decision.decision !== 'block') return isStop(call) ? allowNotice(call, decision) : null;
      const reason = blockText(decision);
      if (check === 'output') return withContext('PostToolUse', reason);
      if (check === 'step') return { decision: 'block', reason: `The step is not marked as done. ${reason}` };
      if (isOutput(call)) return { hookSpecificOutput: { ...denied, permissionDecisionReason: reason } };
      return isStop(call) ? { decision: 'block', reason } : null;
    },
  };
}

/** Delivers the prompt of a resolved escalation with the first of these events that comes. */
export const answerWithResolution =
  (...events: readonly string[]) =>
  ({ event }: BaseCall, { resolution }: PriorWorker): object | null =>
    resolution === null || !events.includes(event) ? null : withContext(event, resolutionText(resolution));

/** Adds a text to the model's context and changes nothing else. */
const withContext = (hookEventName: string, additionalContext: string): object => ({
  hookSpecificOutput: { hookEventName, additionalContext },
});

/** The entries of `PreToolUse`. */
export const draftToolCall = ({ tool_name: tool, tool_use_id: id }: ToolCall): readonly EntryDraft[] => [
  draftToolStart({ tool, id }),
];

export const draftToolOf =
  (tools: KnownTools) =>
  (call: ToolCall, ok: boolean, prior: PriorWorker): EntryDraft => {
    const { tool_name: tool, tool_input: input, tool_use_id: id, tool_response: response } = call;
    return draftToolUse({ tool, ok, id, ...readToolChanges(tools, tool, input, ok, response) }, call, prior);
  };

/**
 * The author of a prompt. A `source` of `user` or `sdk` (a run without a terminal) is a person; any other, such as
 * `system` or `loop_wakeup`, is not. Older versions send no source, so the text decides.
 */
export function promptedBy(
  {
    prompt,
    source,
    parent,
  }: Pick<BaseCall, 'parent'> & { readonly prompt?: string | undefined; source?: string | undefined },
  prior: PriorWorker,
): PromptAuthor {
  if (parent !== null) return 'agent';
  if (source === undefined || source === '') return authorOf(prompt, prior);
  if (source === 'user' || source === 'sdk') return prompt === undefined ? 'system' : 'person';
  return authorOf(prompt, prior) === 'agent' ? 'agent' : 'system';
}

type FailedCall = {
  readonly error?: string | undefined;
  readonly error_type?: string | undefined;
  readonly error_details?: string | undefined;
  readonly last_assistant_message?: string | undefined;
};

/** Kinds of failure that are not usage limits, whatever their message says: they are temporary, or need a person. */
const otherFailures: ReadonlySet<string | undefined> = new Set([
  'authentication_failed',
  'oauth_org_not_allowed',
  'account_on_hold',
  'verification_required',
  'billing_error',
  'overloaded',
  'invalid_request',
  'model_not_found',
  'server_error',
  'max_output_tokens',
  'cloud_credential_error',
]);

/** The entries of `StopFailure`. Only a usage limit is recorded. An unlisted kind is recognised by its message. */
export const draftFailure: DraftEntries<FailedCall> = ({ error, error_type, error_details = '', ...call }) => {
  const words = `${error_details}\n${call.last_assistant_message ?? ''}`;
  const kinds = [error, error_type];
  const isNamed = kinds.includes('rate_limit');
  const isDescribed = !kinds.some((kind) => otherFailures.has(kind)) && mentionsLimit(`${error ?? ''} ${words}`);
  return isNamed || isDescribed ? [draftLimit(words)] : [];
};

// The background work that these agents list when they ask to stop.

/** Each task becomes an entry. Tasks beyond this number are not tracked. */
export const backgroundMax = 200;

/**
 * States of running work. A stop does not wait for work in any other state, including states of future versions:
 * waiting lets the agent stop unjudged, and such work might never end. An item without a state counts as running,
 * because agents list only unfinished work.
 */
const runningStatuses: ReadonlySet<string> = new Set([
  'running',
  'in_progress',
  'in-progress',
  'inprogress',
  'active',
  'working',
  'started',
  'starting',
  'pending',
  'queued',
  'scheduled',
]);

/**
 * Kinds of work that a stop never waits for. A teammate is listed as running as long as the session lives, even while
 * it is idle, so waiting for one would leave every later stop unjudged. A teammate that has a message wakes the
 * session. All other kinds are waited for, including kinds of future versions.
 */
const endlessKinds: ReadonlySet<string> = new Set(['in_process_teammate', 'teammate']);

/** Unfinished background work. */
type Work = { readonly id: string; readonly kind?: string; readonly command?: string };

/** @param kindKey the field that holds an item's kind. The result is undefined if the call has no list. */
export const backgroundTasks = (kindKey: 'type' | 'agent_type') =>
  z
    .array(z.unknown())
    .transform((items) => items.flatMap((item, index) => readWork(item, index, kindKey)))
    .optional()
    .catch(undefined);

/**
 * Reads one item. Without an id it is named by its index. Returns an empty list for finished work or a malformed item.
 */
function readWork(item: unknown, index: number, kindKey: 'type' | 'agent_type'): Work[] {
  if (typeof item !== 'object' || item === null) return [];
  const { id, task_id, status, command, type, ...rest } = item as Readonly<Record<string, unknown>>;
  if (!isMissing(status) && !runningStatuses.has(String(status).trim().toLowerCase())) return [];
  const kind = [kindKey === 'type' ? type : rest[kindKey], type].find(
    (name) => typeof name === 'string' && name !== '',
  );
  if (endlessKinds.has(String(type ?? kind))) return [];
  const name = [id, task_id].find((value) => (typeof value === 'string' && value !== '') || typeof value === 'number');
  const shown = commandIn(command);
  return [
    {
      id: firstChars(String(name ?? `${kind ?? 'work'} ${index + 1}`), nameCharsMax),
      ...(kind === undefined ? {} : { kind: firstChars(String(kind), nameCharsMax) }),
      ...(shown === undefined ? {} : { command: shownCommand(shown) }),
    },
  ];
}

const isMissing = (value: unknown): boolean => value === undefined || value === null || value === '';

/** `cron` is the name of `schedule` in older versions and in Qwen Code. */
const cron = z.looseObject({
  id: z.union([text, z.number().transform(String)]).catch(undefined),
  schedule: text,
  cron: text,
  recurring: z.boolean().optional().catch(undefined),
  prompt: text,
});
export type SessionCron = z.output<typeof cron>;

/** The wake-ups that a session has scheduled. Undefined if the call has no list. */
export const sessionCrons = z
  .array(z.unknown())
  .transform((items) =>
    items.flatMap((item): SessionCron[] => {
      const read = cron.safeParse(item);
      return read.success ? [read.data] : [];
    }),
  )
  .optional()
  .catch(undefined);

/** More than any version of Claude Code allows. */
const cronsMax = 100;

export const scheduledPrompts = (crons: readonly SessionCron[] | undefined): readonly string[] | null =>
  crons?.slice(0, cronsMax).flatMap(({ prompt }) => (prompt ? [prompt] : [])) ?? null;

/**
 * One-time wake-ups that are still due. A stop waits for these, but not for recurring ones, which would let every stop
 * pass. Without the field `recurring` the schedule decides; an unreadable schedule is not waited for.
 */
function pendingWakeUps(crons: readonly SessionCron[], nowMs: number): readonly Work[] {
  return crons.slice(0, cronsMax).flatMap(({ id, schedule, cron: older, recurring, prompt }, index) => {
    const kind = classifySchedule(schedule ?? older, nowMs);
    const isSingle = recurring === undefined ? kind === 'once' : !recurring;
    if (!isSingle || kind === 'over' || kind === 'unreadable') return [];
    const command = prompt === undefined || prompt === '' ? {} : { command: shownCommand(prompt) };
    return [{ id: firstChars(`wakeup-${id ?? index + 1}`, nameCharsMax), kind: 'wakeup', ...command }];
  });
}

/** Tools with which an agent schedules a prompt for itself. */
const schedulers: ReadonlySet<string | undefined> = new Set([
  'CronCreate',
  'ScheduleWakeup',
  'cron_create',
  'loop_wakeup',
]);

/** The prompt that this call schedules, or null. It arrives later and looks like a person's. */
export function scheduledBy({ event, tool_name: tool, tool_input: input }: ToolCall): string | null {
  const prompt = event === 'PostToolUse' && schedulers.has(tool) ? input?.prompt : undefined;
  return typeof prompt === 'string' && prompt.trim() !== '' ? prompt.slice(0, promptCharsMax) : null;
}
/** Longer scheduled prompts are recognised by their beginning. */
const promptCharsMax = 1_000;

type ListingCall = {
  readonly background_tasks?: readonly Work[] | undefined;
  readonly session_crons?: readonly SessionCron[] | undefined;
  /** The caller, if it is a sub-agent. It appears in its own list. */
  readonly agent_id?: string | undefined;
};

/** Drafts an entry for each piece of work that started or finished since the last list. */
function draftBackground(
  { background_tasks: tasks, session_crons: crons, agent_id: self }: ListingCall,
  prior: PriorWorker,
  nowMs: number,
): readonly EntryDraft[] {
  if (tasks === undefined && crons === undefined) return [];
  // Wake-ups wake the session, never a sub-agent.
  const wakeUps = self === undefined || self === '' ? pendingWakeUps(crons ?? [], nowMs) : [];
  const listed = [...(tasks ?? []), ...wakeUps];
  const running = listed.filter(({ id }) => id !== self).slice(0, backgroundMax);
  const started = running.filter(({ id }) => !prior.background.includes(id));
  // A missing list does not mean that its work has finished.
  const isListed = (id: string) => (id.startsWith('wakeup-') ? crons : tasks) !== undefined;
  const finished = prior.background.filter((id) => isListed(id) && !running.some((work) => work.id === id));
  return [
    ...started.map((work) => ({ type: 'background.started', data: work })),
    ...finished.map((id) => ({ type: 'background.finished', data: { id } })),
  ];
}

/** The entries of `Stop` and `SubagentStop`. Requests to a person are over by then, answered or refused. */
export const draftStop: DraftEntries<ListingCall> = (call, prior) => [
  ...draftResumption(prior),
  ...draftBackground(call, prior, Date.now()),
];
