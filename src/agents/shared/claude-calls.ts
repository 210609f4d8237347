/** Reads Claude Code's hook JSON, as far as Codex and Qwen Code have adopted it. */
import { z } from 'zod';
import type { AttemptFields } from '../../../machines/index.ts';
import { fields, text } from '../agent.ts';
import {
  type AnswerableDecision,
  allowNotice,
  blockText,
  resolutionText,
  stopText,
  unjudgedStepText,
} from './block-text.ts';
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
import { draftLimit } from './limit-end.ts';
import type { PriorWorker } from './prior-worker.ts';
import { firstChars, toId } from './text.ts';
import type { UnsolicitedCheck } from './unsolicited-checks.ts';

/** The fields that all of them have. */
export const claudeFields = {
  hook_event_name: text,
  cwd: text,
  /** SessionStart: `startup`, `resume`, `clear` or `compact`. */
  source: text,
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
      if (check === 'complete') return { continue: false, stopReason: stopText(decision) };
      if (check === 'step' && decision.cause === 'unjudged')
        return { decision: 'block', reason: unjudgedStepText(decision) };
      if (decision.decision !== 'block') return isStop(call) ? allowNotice(call, decision) : null;
      const reason = blockText(decision);
      if (check === 'output')
        return { hookSpecificOutput: { hookEventName: 'PostToolUse', additionalContext: reason } };
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
    resolution === null || !events.includes(event)
      ? null
      : { hookSpecificOutput: { hookEventName: event, additionalContext: resolutionText(resolution) } };

/** For `PreToolUse`. */
export const draftToolCall = ({ tool_name: tool, tool_use_id: id }: ToolCall): readonly EntryDraft[] => [
  draftToolStart({ tool, id }),
];

/** `pathKeys`: the field of a writing tool's input that names the file. A failed write is assumed to have changed nothing. */
export const draftToolOf =
  (pathKeys: Readonly<Record<string, string>>) =>
  (call: ToolCall, ok: boolean, prior: PriorWorker): EntryDraft => {
    const { tool_name: tool, tool_input: input, tool_use_id: id } = call;
    const key = Object.hasOwn(pathKeys, tool ?? '') ? pathKeys[tool ?? ''] : undefined;
    const files = ok && key !== undefined ? [input?.[key] ?? input?.file_path] : [];
    return draftToolUse({ tool, ok, id, files }, call, prior);
  };

type FailedCall = {
  readonly error?: string | undefined;
  readonly error_type?: string | undefined;
  readonly error_details?: string | undefined;
  readonly last_assistant_message?: string | undefined;
};

/**
 * For `StopFailure`. Other failures of the model's API pass by themselves or need a person. Only a limit means "come back
 * later".
 */
export const draftFailure: DraftEntries<FailedCall> = ({ error, error_type, error_details = '', ...call }) =>
  error === 'rate_limit' || error_type === 'rate_limit'
    ? [draftLimit(`${error_details}\n${call.last_assistant_message ?? ''}`)]
    : [];

// Background work, which these agents list when they ask to stop.

/** Each becomes an entry. More background work than this is not tracked. */
export const backgroundMax = 200;

const shortName = z.string().transform((name) => firstChars(name, nameCharsMax));

const kindName = shortName.optional().catch(undefined);

/** `kindKey`: the field of an item that says what it is. */
export const backgroundTasks = (kindKey: 'type' | 'agent_type') =>
  z
    .array(
      z
        .looseObject({ id: z.string().min(1).pipe(shortName), status: text })
        .transform(({ id, status, ...rest }) => ({ id, status, kind: kindName.parse(rest[kindKey]) })),
    )
    .optional()
    .catch(undefined);

type ListingCall = {
  /** It is undefined if the call has no list, so it tells nothing. */
  readonly background_tasks?: z.output<ReturnType<typeof backgroundTasks>>;
  /** A sub-agent lists itself too. */
  readonly agent_id?: string | undefined;
};

/** Drafts what has begun and ended since the last list. */
function draftBackground(
  { background_tasks: tasks, agent_id: self }: ListingCall,
  prior: PriorWorker,
): readonly EntryDraft[] {
  if (tasks === undefined) return [];
  const running = tasks.filter(({ id, status }) => status === 'running' && id !== self).slice(0, backgroundMax);
  const started = running.filter(({ id }) => !prior.background.includes(id));
  const finished = prior.background.filter((id) => !running.some((task) => task.id === id));
  return [
    ...started.map(({ id, kind }) => ({
      type: 'background.started',
      data: { id, ...(kind === undefined ? {} : { kind }) },
    })),
    ...finished.map((id) => ({ type: 'background.finished', data: { id } })),
  ];
}

/** For `Stop` and `SubagentStop`: whatever the agent waited for has been answered, or refused without a call to us. */
export const draftStop: DraftEntries<ListingCall> = (call, prior) => [
  ...draftResumption(prior),
  ...draftBackground(call, prior),
];
