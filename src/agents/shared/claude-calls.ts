/** Reads Claude Code's hook JSON, as far as Codex and Qwen Code have adopted it. */
import type { AttemptFields } from '../../../machines/index.ts';
import {
  type AnswerableDecision,
  allowNotice,
  blockText,
  resolutionText,
  stopText,
  unjudgedStepText,
} from './block-text.ts';
import { type BaseCall, draftToolStart, draftToolUse, type EntryDraft, toAttempt } from './entry-drafts.ts';
import type { PriorWorker } from './prior-worker.ts';
import { toId } from './text.ts';
import type { UnsolicitedCheck } from './unsolicited-checks.ts';

/** The session, or the sub-agent within it. */
export const callerOf = (session: string, agent: string | undefined): Pick<BaseCall, 'worker' | 'parent'> =>
  agent ? { worker: toId(`${session}-${agent}`), parent: session } : { worker: session, parent: null };

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
export const draftToolCall = ({ tool_name: tool, tool_use_id: id }: ToolCall): EntryDraft =>
  draftToolStart({ tool, id });

/** `pathKeys`: the field of a writing tool's input that names the file. A failed write is assumed to have changed nothing. */
export const draftToolOf =
  (pathKeys: ReadonlyMap<string | undefined, string>) =>
  (call: ToolCall, ok: boolean, prior: PriorWorker): EntryDraft => {
    const { tool_name: tool, tool_input: input, tool_use_id: id } = call;
    const key = pathKeys.get(tool);
    const files = ok && key !== undefined ? [input?.[key] ?? input?.file_path] : [];
    return draftToolUse({ tool, ok, id, files }, call, prior);
  };
