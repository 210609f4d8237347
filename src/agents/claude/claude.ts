/**
 * Claude Code, and the Agent SDK's callbacks, which get and give the same JSON: its hook calls to our entries and our
 * question, our decision to its JSON. Seen with 2.1.329. Pure.
 */
import type { AttemptFields } from '../../../machines/index.ts';
import type { Answerable, KnownWorker } from '../shared/adapter.ts';
import { blockWords, completeWords, resolvedWords, waitNotice } from '../shared/block-text.ts';
import {
  attemptOf,
  heartbeat,
  inputRequested,
  promptSubmitted,
  registration,
  resumed,
  type Said,
  sessionEnded,
  sessionStarted,
  toolUsed,
} from '../shared/entry-drafts.ts';
import type { PlanChange } from '../shared/plan-entry.ts';
import { type Agent, createReader, type Row, type Table } from '../shared/reader.ts';
import type { Look } from '../shared/unsolicited-checks.ts';
import { type ClaudeCall, readClaude } from './call.ts';
import { planChange } from './plan.ts';

/** Background work beyond this is not told apart: each makes an entry. */
const backgroundMax = 200;
const name = 'claude';

const rows: Table<ClaudeCall> = new Map<string, Row<ClaudeCall>>([
  ['SessionStart', (call, known) => sessionStarted(name, call, known)],
  ['UserPromptSubmit', prompted],
  ['PreToolUse', begun],
  ['PermissionRequest', (call) => [asked(call, 'permission')]],
  ['PostToolUse', (call, known) => [...resumed(known), ...used(call, known)]],
  ['PostToolUseFailure', (call, known) => [...resumed(known), toolEntry(call, false, known)]],
  // A stop is asked for when the turn is over: whatever the agent waited for has been answered, or refused unseen.
  ['Stop', (call, known) => [...resumed(known), ...backgroundChanges(call, known)]],
  ['SubagentStart', (call, known) => [registration(name, call, known)]],
  ['SubagentStop', (call, known) => [...resumed(known), ...backgroundChanges(call, known)]],
  ['SessionEnd', (call, known) => sessionEnded(call.reason, known)],
  ['StopFailure', (call) => (isUsageLimit(call) ? [{ type: 'limit.reached', data: {} }] : [])],
  // One message makes many of these while it grows.
  ['MessageDisplay', (call) => (call.final === false ? [] : [heartbeat])],
]);

const claude: Agent<ClaudeCall> = {
  name,
  read: readClaude,
  rows,
  stop: attempt,
  look: lookOf,
  tell,
  isNobodys: (call) => call.ofCompaction,
  isEnd: (call) => call.event === 'SessionEnd',
  answer,
};
export const readClaudeHook = createReader(claude);

/** A sub-agent that does not say which it is cannot be told from its parent, so its stop is nobody's. */
const isStop = ({ event, parent }: ClaudeCall): boolean =>
  event === 'Stop' || (event === 'SubagentStop' && parent !== null);

/** Structured output that was taken ends the session: a block of the `Stop` that follows comes too late. */
const isOutput = ({ event, tool_name: tool }: ClaudeCall): boolean =>
  event === 'PreToolUse' && tool === 'StructuredOutput';

function attempt(call: ClaudeCall): AttemptFields | null {
  if (isOutput(call)) return attemptOf(JSON.stringify(call.tool_input ?? {}), 'structured_output');
  return isStop(call) ? attemptOf(call.last_assistant_message) : null;
}

// --- answers --------------------------------------------------------------------------------------------------

function lookOf({ event, tool_name: tool }: ClaudeCall, { lastDecision }: KnownWorker): Look | null {
  if (event === 'PostToolBatch') return 'complete';
  if (event === 'TaskCompleted') return 'step';
  // Where it was let through a moment ago, there is nothing to look for.
  const isUnasked = event === 'PostToolUse' && tool === 'StructuredOutput' && lastDecision?.decision !== 'allow';
  return isUnasked ? 'output' : null;
}

const denied = { hookEventName: 'PreToolUse', permissionDecision: 'deny' } as const;

/** Exactly two keys for a block, and null for all else: an empty answer is the one "go on" that every version knows. */
function answer(call: ClaudeCall, decision: Answerable, look: Look | null): object | null {
  if (look === 'complete') return { continue: false, stopReason: completeWords };
  if (decision.decision !== 'block') return isStop(call) ? waitNotice(call, decision) : null;
  const reason = blockWords(decision);
  if (look === 'output') return { hookSpecificOutput: { hookEventName: 'PostToolUse', additionalContext: reason } };
  if (look === 'step') return { decision: 'block', reason: `The step is not marked as done. ${reason}` };
  if (isOutput(call)) return { hookSpecificOutput: { ...denied, permissionDecisionReason: reason } };
  return isStop(call) ? { decision: 'block', reason } : null;
}

/** A person has resolved the session's escalation with a word for it: it goes along with whatever is prompted next. */
function tell({ event }: ClaudeCall, { resolution }: KnownWorker): object | null {
  if (resolution === null || (event !== 'UserPromptSubmit' && event !== 'SessionStart')) return null;
  return { hookSpecificOutput: { hookEventName: event, additionalContext: resolvedWords(resolution) } };
}

// --- prompts and tools ----------------------------------------------------------------------------------------

function prompted(call: ClaudeCall, known: KnownWorker): readonly Said[] {
  const prompt = call.prompt ?? '';
  return prompt.trimStart().startsWith('<task-notification>') ? notifiedEnds(prompt) : [promptSubmitted(prompt, known)];
}

/** The end of background work wakes the agent with a prompt that nobody typed. */
function notifiedEnds(prompt: string): readonly Said[] {
  const ids = [...prompt.matchAll(/<task-notification>\s*<task-id>([^<]{1,200})<\/task-id>/g)].map(
    ([, id]) => id?.trim() ?? '',
  );
  const ends = [...new Set(ids)].filter((id) => id !== '').slice(0, backgroundMax);
  return ends.length === 0 ? [heartbeat] : ends.map((id) => ({ type: 'background.finished', data: { id } }));
}

function begun(call: ClaudeCall, known: KnownWorker): readonly Said[] {
  if (isOutput(call)) return resumed(known);
  return call.tool_name === 'AskUserQuestion' ? [asked(call, 'question')] : [heartbeat];
}

const asked = ({ tool_name: tool }: ClaudeCall, kind: 'permission' | 'question'): Said => inputRequested(tool, kind);

function used(call: ClaudeCall, known: KnownWorker): readonly Said[] {
  const change = planChange(call);
  const tool = toolEntry(call, true, known);
  return change === null ? [tool] : [tool, { ...change, worker: ownerOf(change, call, known) }];
}

/** A session and its sub-agents have one list of tasks: a step that a sub-agent has not made is its session's. */
function ownerOf({ data }: PlanChange, { tool_name: tool, worker, parent }: ClaudeCall, { plan }: KnownWorker): string {
  const isOthers = tool === 'TaskUpdate' && 'step' in data && !plan.some(({ step }) => step === data.step);
  return isOthers && parent !== null ? parent : worker;
}

const pathKeys: ReadonlyMap<string, string> = new Map([
  ['Write', 'file_path'],
  ['Edit', 'file_path'],
  ['MultiEdit', 'file_path'],
  ['NotebookEdit', 'notebook_path'],
]);

function toolEntry(call: ClaudeCall, ok: boolean, known: KnownWorker): Said {
  const key = pathKeys.get(call.tool_name ?? '');
  const file = key === undefined ? undefined : (call.tool_input?.[key] ?? call.tool_input?.file_path);
  // A failed write has changed nothing that we know of.
  return toolUsed({ tool: call.tool_name, ok, id: call.tool_use_id, files: ok ? [file] : [] }, call, known);
}

// --- stops ----------------------------------------------------------------------------------------------------

/** A sub-agent lists itself; a call without the list (an older version) says nothing about background work. */
function backgroundChanges(call: ClaudeCall, known: KnownWorker): readonly Said[] {
  if (call.background_tasks === undefined) return [];
  const running = call.background_tasks
    .filter(({ id, status }) => status === 'running' && id !== call.agent_id)
    .slice(0, backgroundMax);
  const started = running.filter(({ id }) => !known.background.includes(id));
  const finished = known.background.filter((id) => !running.some((task) => task.id === id));
  return [
    ...started.map(({ id, type: kind }) => ({
      type: 'background.started',
      data: { id, ...(kind === undefined ? {} : { kind }) },
    })),
    ...finished.map((id) => ({ type: 'background.finished', data: { id } })),
  ];
}

/** Other failures of the model's API pass by themselves, or need a person; only a limit says "come back later". */
const isUsageLimit = (call: ClaudeCall): boolean => call.error === 'rate_limit' || call.error_type === 'rate_limit';
