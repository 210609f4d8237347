/** Reads Claude Code's hook JSON, as far as Codex and Qwen Code have adopted it. */
import { z } from 'zod';
import type { AttemptFields } from '../../../machines/index.ts';
import { fields, text } from '../agent.ts';
import {
  type AnswerableDecision,
  allowNotice,
  blockText,
  differenceText,
  resolutionText,
  stopText,
  unjudgedStepText,
} from './block-text.ts';
import { readCronEnd } from './cron.ts';
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
import { draftLimit, tellsOfLimit } from './limit-end.ts';
import type { PriorWorker } from './prior-worker.ts';
import { authorOf, type PromptAuthor } from './prompt-author.ts';
import { commandIn, shownCommand } from './shell-command.ts';
import { firstChars, toId } from './text.ts';
import { type KnownTools, readToolChanges } from './tool-changes.ts';
import type { UnsolicitedCheck } from './unsolicited-checks.ts';

/** The fields that all of them have. */
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

/** The session, or the sub-agent within it. */
export const callerOf = (
  session: string,
  agent: string | undefined,
  kind: string | undefined,
): Pick<BaseCall, 'worker' | 'parent' | 'kind'> =>
  agent ? { worker: toId(`${session}-${agent}`), parent: session, kind } : { worker: session, parent: null, kind };

/** The stop of a sub-agent without an id is nobody's: it could not be told from its parent's. */
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
 * `outputTool`: by which it hands in structured output. Once accepted, that ends the session: a block at the `Stop` that
 * follows comes too late, or there is none.
 */
export function createStopCalls(outputTool: string) {
  const isOutput = ({ event, tool_name: tool }: ToolCall): boolean => event === 'PreToolUse' && tool === outputTool;
  return {
    isOutput,
    readAttempt(call: ToolCall): AttemptFields | null {
      if (isOutput(call)) return toAttempt(JSON.stringify(call.tool_input ?? {}), 'structured_output');
      return isStop(call) ? toAttempt(call.last_assistant_message) : null;
    },
    /** A block has exactly two keys. Anything else is null: every version takes an empty answer for "continue". */
    answer(call: ToolCall, decision: AnswerableDecision, check: UnsolicitedCheck | null): object | null {
      // `decision: block` would end the turn here.
      if (check === 'complete' && decision.decision === 'block')
        return withContext('PostToolBatch', differenceText(decision));
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

/** A person has resolved the session's escalation with a prompt: the agent gets it along with the next of these events. */
export const answerWithResolution =
  (...events: readonly string[]) =>
  ({ event }: BaseCall, { resolution }: PriorWorker): object | null =>
    resolution === null || !events.includes(event) ? null : withContext(event, resolutionText(resolution));

/** Adds a text to what the model reads next, and changes nothing else. */
const withContext = (hookEventName: string, additionalContext: string): object => ({
  hookSpecificOutput: { hookEventName, additionalContext },
});

/** For `PreToolUse`. */
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
 * Who made a prompt, as the agent names it: `user` and `sdk` (a run without a terminal) are a person's. `system`,
 * `loop_wakeup`, `schedule_wakeup`, `poll_event` and any other word are not. Older versions do not say, so the text shows it.
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
  const shown = authorOf(prompt, prior);
  return shown === 'agent' ? 'agent' : 'system';
}

type FailedCall = {
  readonly error?: string | undefined;
  readonly error_type?: string | undefined;
  readonly error_details?: string | undefined;
  readonly last_assistant_message?: string | undefined;
};

/** Kinds of failures that are no limit, whatever their words say: they pass by themselves, or need a person. */
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

/** For `StopFailure`. Only a limit means "come back later". A kind that is on no list is told by its words. */
export const draftFailure: DraftEntries<FailedCall> = ({ error, error_type, error_details = '', ...call }) => {
  const words = `${error_details}\n${call.last_assistant_message ?? ''}`;
  const kinds = [error, error_type];
  const isNamed = kinds.includes('rate_limit');
  const isTold = !kinds.some((kind) => otherFailures.has(kind)) && tellsOfLimit(`${error ?? ''} ${words}`);
  return isNamed || isTold ? [draftLimit(words)] : [];
};

// Background work, which these agents list when they ask to stop.

/** Each becomes an entry. More background work than this is not tracked. */
export const backgroundMax = 200;

/**
 * States in which work goes on. A state that is not here, also one that no version has today, is not waited for: to wait is
 * to let the agent stop unjudged, and nobody knows whether such work ever ends. Agents list only what they have not ended,
 * so an item without a state goes on.
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
 * A teammate stays listed as running while it is idle, for as long as the session lives, and nothing in the list tells
 * whether it works. So no stop waits for one: it would let every later stop go unjudged. A teammate that has something to
 * say wakes the session. Kinds that are not here are waited for, also those that no version has today.
 */
const standingKinds: ReadonlySet<string> = new Set(['in_process_teammate', 'teammate']);

/** Work that is outstanding. */
type Work = { readonly id: string; readonly kind?: string; readonly command?: string };

/** `kindKey`: the field of an item that says what it is. Undefined: the call has no list, so it tells nothing. */
export const backgroundTasks = (kindKey: 'type' | 'agent_type') =>
  z
    .array(z.unknown())
    .transform((items) => items.flatMap((item, index) => readWork(item, index, kindKey)))
    .optional()
    .catch(undefined);

/** Reads an item field by field. One without an id is named by its place in the list. Empty: it is over, or no item. */
function readWork(item: unknown, index: number, kindKey: 'type' | 'agent_type'): Work[] {
  if (typeof item !== 'object' || item === null) return [];
  const { id, task_id, status, command, type, ...rest } = item as Readonly<Record<string, unknown>>;
  if (!isMissing(status) && !runningStatuses.has(String(status).trim().toLowerCase())) return [];
  const kind = [kindKey === 'type' ? type : rest[kindKey], type].find((it) => typeof it === 'string' && it !== '');
  if (standingKinds.has(String(type ?? kind))) return [];
  const name = [id, task_id].find((it) => (typeof it === 'string' && it !== '') || typeof it === 'number');
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

/** `id`, `schedule`, `recurring`, `prompt`. Other names are those of older versions, and of Qwen Code. */
const cron = z.looseObject({
  id: z.union([text, z.number().transform(String)]).catch(undefined),
  schedule: text,
  cron: text,
  recurring: z.boolean().optional().catch(undefined),
  prompt: text,
});
export type SessionCron = z.output<typeof cron>;

/** The wake-ups that a session has planned. Undefined: the call has no list. */
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

/** As many as a version of Claude Code allows, and some more. */
const cronsMax = 100;

export const scheduledPrompts = (crons: readonly SessionCron[] | undefined): readonly string[] | null =>
  crons?.slice(0, cronsMax).flatMap(({ prompt }) => (prompt ? [prompt] : [])) ?? null;

/**
 * A single wake-up is waited for until it is due. One that comes again and again is not: it would let every stop go. What
 * does not say which it is, is told by its schedule, and one whose schedule cannot be read is not waited for.
 */
function plannedWork(crons: readonly SessionCron[], nowMs: number): readonly Work[] {
  return crons.slice(0, cronsMax).flatMap(({ id, schedule, cron: older, recurring, prompt }, index) => {
    const end = readCronEnd(schedule ?? older, nowMs);
    const isSingle = recurring === undefined ? end.kind === 'once' : !recurring;
    if (!isSingle || end.kind === 'over' || end.kind === 'unreadable') return [];
    const command = prompt === undefined || prompt === '' ? {} : { command: shownCommand(prompt) };
    return [{ id: firstChars(`wakeup-${id ?? index + 1}`, nameCharsMax), kind: 'wakeup', ...command }];
  });
}

/** Tools by which an agent schedules a prompt for itself. */
const schedulers: ReadonlySet<string | undefined> = new Set([
  'CronCreate',
  'ScheduleWakeup',
  'cron_create',
  'loop_wakeup',
]);

/** The prompt that comes back later, as a person's prompt would. Null: the call schedules none. */
export function scheduledBy({ event, tool_name: tool, tool_input: input }: ToolCall): string | null {
  const prompt = event === 'PostToolUse' && schedulers.has(tool) ? input?.prompt : undefined;
  return typeof prompt === 'string' && prompt.trim() !== '' ? prompt.slice(0, promptCharsMax) : null;
}
/** Of a scheduled prompt: longer ones are told by their beginning. */
const promptCharsMax = 1_000;

type ListingCall = {
  readonly background_tasks?: readonly Work[] | undefined;
  readonly session_crons?: readonly SessionCron[] | undefined;
  /** A sub-agent lists itself too. */
  readonly agent_id?: string | undefined;
};

/** Drafts what has begun and ended since the last list. */
function draftBackground(
  { background_tasks: tasks, session_crons: crons, agent_id: self }: ListingCall,
  prior: PriorWorker,
  nowMs: number,
): readonly EntryDraft[] {
  if (tasks === undefined && crons === undefined) return [];
  // The wake-ups are the session's: they wake no sub-agent.
  const planned = self === undefined || self === '' ? plannedWork(crons ?? [], nowMs) : [];
  const listed = [...(tasks ?? []), ...planned];
  const running = listed.filter(({ id }) => id !== self).slice(0, backgroundMax);
  const started = running.filter(({ id }) => !prior.background.includes(id));
  // A list that is not there says nothing of what it would hold.
  const isListed = (id: string) => (id.startsWith('wakeup-') ? crons : tasks) !== undefined;
  const finished = prior.background.filter((id) => isListed(id) && !running.some((work) => work.id === id));
  return [
    ...started.map((work) => ({ type: 'background.started', data: work })),
    ...finished.map((id) => ({ type: 'background.finished', data: { id } })),
  ];
}

/** For `Stop` and `SubagentStop`: whatever the agent waited for has been answered, or refused without a call to us. */
export const draftStop: DraftEntries<ListingCall> = (call, prior) => [
  ...draftResumption(prior),
  ...draftBackground(call, prior, Date.now()),
];
