/** Derives a worker's entries from its session's messages. Keeps a little state, does no I/O. */
import type { AttemptFields } from '../../machines/index.ts';
import { roundUsd } from '../../machines/values/usage.ts';
import { claudeTools } from '../agents/claude/tools.ts';
import {
  type BaseCall,
  draftPrompt,
  draftRegistration,
  draftToolStart,
  draftToolUse,
  type EntryDraft,
  heartbeat,
  nameCharsMax,
  toAttempt,
} from '../agents/shared/entry-drafts.ts';
import { readPlan } from '../agents/shared/plan-entry.ts';
import { unknownWorker } from '../agents/shared/prior-worker.ts';
import { readShellOutcome } from '../agents/shared/shell-outcome.ts';
import { firstChars, lastBytes } from '../agents/shared/text.ts';
import { readShell, readToolChanges, type ToolChanges } from '../agents/shared/tool-changes.ts';
import {
  chunkUsage,
  messageChunk,
  modeIn,
  modeUpdate,
  namedPlan,
  planUpdate,
  removedPlan,
  type TokenUsage,
  type ToolCall,
  toolCall,
  toolContentChunk,
  usageUpdate,
  wholeMessage,
  withOptions,
} from './messages.ts';

/** More than the log keeps open for a worker (protocol.md §2), to allow for calls that have not started. */
const callsMax = 256;
/** Slightly more than an attempt may carry, so that cutting it there keeps the end. */
const outputBytesMax = 48 * 1024;
/** Bound on the files kept for one call. */
const filesMax = 100;

export type SessionStart = {
  readonly agent: string;
  readonly cwd: string;
  readonly policy: string | undefined;
  readonly mode: string | undefined;
};
export type Update = { readonly sessionUpdate: string };

export function createSessionDrafts(worker: string) {
  let base: BaseCall = { event: '', worker, parent: null };
  const calls = followCalls(() => base);
  const output = followOutput();
  /** The cost of the session so far; null if it was resumed and has not reported its earlier cost. */
  let usd: number | null = 0;
  let replayedPlan: readonly EntryDraft[] = [];

  const draftCost = (update: Update): EntryDraft[] => {
    const read = usageUpdate.safeParse(update);
    if (!read.success || read.data.cost.currency.toUpperCase() !== 'USD') return [];
    const { amount } = read.data.cost;
    const more = usd === null ? 0 : amount - usd;
    usd = Math.max(usd ?? 0, amount);
    return more > 0 ? [draftUsage({ usd: roundUsd(more) })] : [];
  };
  const plans = followPlans();
  const drafters: Readonly<Record<string, (update: Update) => readonly EntryDraft[]>> = {
    tool_call: calls.draft,
    tool_call_update: calls.draft,
    tool_call_content_chunk: calls.add,
    plan: draftPlan,
    plan_update: plans.draft,
    plan_removed: plans.remove,
    usage_update: draftCost,
    agent_message_chunk: (update) => draftTokens(chunkUsage.safeParse(update).data?._meta.usage),
    current_mode_update: (update) => {
      const read = modeUpdate.safeParse(update);
      return read.success ? [draftMode(read.data.currentModeId)] : [];
    },
    config_option_update: (update) => {
      const mode = modeIn(withOptions.safeParse(update).data ?? {});
      return mode === undefined ? [] : [draftMode(mode)];
    },
  };

  return {
    start({ agent, cwd, policy, mode }: SessionStart): readonly EntryDraft[] {
      base = { ...base, cwd };
      const { type, data } = draftRegistration(base, unknownWorker, agent);
      const labels = { via: 'acp', ...(mode === undefined ? {} : { mode: firstChars(mode, nameCharsMax) }) };
      const plan = replayedPlan;
      replayedPlan = [];
      return [{ type, data: { ...data, labels, ...(policy === undefined ? {} : { policy }) } }, ...plan];
    },
    /** A person's prompt. */
    prompt(words: string): EntryDraft {
      calls.clear();
      output.clear();
      // A person may prompt with pictures alone.
      return draftPrompt(words, unknownWorker, words.trim() === '' ? 'person' : undefined);
    },
    /** Our own prompt after a block. It is recorded as a heartbeat, because a prompt would reset the retry count. */
    reprompt(): EntryDraft {
      output.clear();
      return heartbeat;
    },
    /** Returns the entries for an update; empty if it is of no interest to the fleet. */
    update(update: Update): readonly EntryDraft[] {
      if (update.sessionUpdate === 'agent_message_chunk') output.add(update);
      else if (update.sessionUpdate === 'agent_message') output.replace(update);
      else if (update.sessionUpdate.startsWith('tool_call')) output.endMessage();
      return drafters[update.sessionUpdate]?.(update) ?? [];
    },
    /**
     * Handles an update that the agent replays while resuming a session. Only the plan and the cost are still current.
     */
    replayed(update: Update): readonly EntryDraft[] {
      if (update.sessionUpdate.startsWith('plan')) replayedPlan = drafters[update.sessionUpdate]?.(update) ?? [];
      if (update.sessionUpdate === 'usage_update') draftCost(update);
      return [];
    },
    /** The session is being resumed: its earlier cost is unknown until reported. */
    resume(): void {
      usd = null;
    },
    attempt: (stopReason: string): AttemptFields => ({
      ...toAttempt(output.text(), stopReason),
      toolCount: calls.count(),
    }),
    /** The end of what the model has said since the last prompt. */
    output: output.text,
  };
}

type Call = {
  readonly tool: string;
  kind: string | undefined;
  isStarted: boolean;
  /** The input fields reported so far (see `commandKeys`). */
  input: Readonly<Record<string, unknown>>;
  readonly files: Set<string>;
  /** The call names more files than we keep. */
  isCut: boolean;
  /** A list of steps in the tool's input. Some agents report their plan only this way. */
  plan: EntryDraft | null;
};

/** Tracks running tool calls. */
function followCalls(base: () => BaseCall) {
  const calls = new Map<string, Call>();
  let count = 0;
  const find = (reported: ToolCall): Call => {
    const known = calls.get(reported.toolCallId);
    const call = known ?? {
      tool: toolName(reported),
      kind: reported.kind,
      isStarted: false,
      input: {},
      files: new Set(),
      isCut: false,
      plan: null,
    };
    calls.set(reported.toolCallId, call);
    if (calls.size > callsMax) calls.delete(calls.keys().next().value as string);
    call.kind = reported.kind ?? call.kind;
    call.input = { ...call.input, ...inputOf(reported) };
    call.plan = readPlan(reported.rawInput?.todos, 'content') ?? call.plan;
    // Locations of a reading call are files that it reads, not changes.
    const where = changing.has(call.kind) ? (reported.locations ?? []) : [];
    addFiles(call, [...changedIn(reported.content ?? []), ...where.map(({ path }) => path)]);
    return call;
  };
  return {
    draft(update: Update): EntryDraft[] {
      const read = toolCall.safeParse(update);
      if (!read.success) return [];
      const { toolCallId: id, status } = read.data;
      const call = find(read.data);
      const isOver = status === 'completed' || status === 'failed' || status === 'cancelled';
      const starts = !call.isStarted && (status === 'in_progress' || isOver);
      call.isStarted ||= starts;
      const started = starts ? [draftToolStart({ tool: call.tool, id })] : [];
      if (!isOver) return started;
      calls.delete(id);
      count += 1;
      const ok = status === 'completed';
      const plan = ok && call.plan !== null ? [call.plan] : [];
      const use = draftToolUse(
        { tool: call.tool, ok, id, ...changesOf(call, ok, read.data.rawOutput) },
        base(),
        unknownWorker,
      );
      return [...started, ...plan, use];
    },
    /** More content of a call. */
    add(update: Update): EntryDraft[] {
      const read = toolContentChunk.safeParse(update);
      const call = read.success ? calls.get(read.data.toolCallId) : undefined;
      if (read.success && call !== undefined) addFiles(call, changedIn([read.data.content]));
      return [];
    },
    count: () => count,
    clear() {
      calls.clear();
      count = 0;
    },
  };
}

type Content = NonNullable<ToolCall['content']>;

/** The files of the diffs, in the forms of both versions. */
const changedIn = (content: Content): (string | undefined)[] =>
  content
    .filter(({ type }) => type === 'diff')
    .flatMap(({ path, changes = [] }) => [path, ...changes.flatMap((change) => [change.oldPath, change.path])]);

function addFiles(call: Call, paths: readonly (string | undefined)[]): void {
  for (const path of paths) {
    if (path === undefined) continue;
    if (call.files.size < filesMax) call.files.add(path);
    else call.isCut ||= !call.files.has(path);
  }
}

/** Bound on the plans of a session. The oldest is dropped first. */
const plansMax = 16;

/** Version 2: a session has several plans, each with an id. All their steps count. */
function followPlans() {
  const plans = new Map<string, readonly unknown[]>();
  const draft = (): EntryDraft[] => draftEntries([...plans.values()].flat());
  return {
    draft(update: Update): EntryDraft[] {
      const read = namedPlan.safeParse(update);
      if (!read.success) return [];
      const { planId, entries } = read.data.plan;
      plans.set(planId, entries);
      if (plans.size > plansMax) plans.delete(plans.keys().next().value as string);
      return draft();
    },
    remove(update: Update): EntryDraft[] {
      const id = removedPlan.safeParse(update).data?.planId;
      return id !== undefined && plans.delete(id) ? draft() : [];
    },
  };
}

/** Keeps the end of the model's output. */
function followOutput() {
  let text = '';
  /** The start of the last message in `text`, and its id if the agent gives one. */
  let message = { start: 0, id: undefined as string | undefined };
  /** A tool ran since the last text, so the next text is a new message. */
  let isNew = false;
  const append = (words: string, id: string | undefined): void => {
    isNew ||= id !== message.id;
    if (isNew) {
      text += text === '' ? '' : '\n';
      message = { start: text.length, id };
    }
    text += words;
    isNew = false;
    // Cut rarely: a long answer has thousands of chunks.
    if (text.length <= 2 * outputBytesMax) return;
    text = lastBytes(text, outputBytesMax);
    message = { start: 0, id };
  };
  return {
    add(update: Update): void {
      const { content, messageId } = messageChunk.safeParse(update).data ?? {};
      if (content === undefined || content.text === '') return;
      append(content.text, messageId);
    },
    /** Version 2: the whole text of a message, which may replace its chunks. */
    replace(update: Update): void {
      const read = wholeMessage.safeParse(update);
      if (!read.success) return;
      const { messageId, content } = read.data;
      if (message.id === messageId) text = text.slice(0, message.start).replace(/\n$/, '');
      message = { start: text.length, id: undefined };
      const words = content.flatMap((block) => (block.type === 'text' ? [block.text ?? ''] : [])).join('');
      if (words !== '') append(words, messageId);
    },
    endMessage() {
      isNew = true;
    },
    text: () => text,
    clear() {
      text = '';
      isNew = false;
      message = { start: 0, id: undefined };
    },
  };
}

const changing: ReadonlySet<string | undefined> = new Set(['edit', 'delete', 'move']);
/**
 * Tool kinds that change no file. `think` is excluded because sub-agents use it too. Any other kind, or none, may have
 * changed any file.
 */
const looking: ReadonlySet<string | undefined> = new Set(['read', 'search', 'fetch', 'switch_mode']);

/** @param output the tool's raw result, which says how a command ended */
function changesOf({ tool, kind, input, files, isCut, plan }: Call, ok: boolean, output: unknown): ToolChanges {
  const named = [...files];
  // Claude Code's tool names are more precise than the kind.
  const known = readToolChanges(claudeTools, tool, input, ok, output);
  if (named.length > 0) {
    if (!ok && kind !== 'execute') return { changes: 'none', files: [] };
    const isAll = (changing.has(kind) || looking.has(kind)) && !isCut;
    return { ...known, changes: isAll ? 'files' : 'unknown', files: named };
  }
  if (known.changes === 'none') return known;
  if (kind === 'execute') return readShell(input.command ?? input.cmd, readShellOutcome(input, output));
  return looking.has(kind) || plan !== null ? { changes: 'none', files: [] } : { changes: 'unknown', files: [] };
}

/** The only input fields kept; others may be large. */
const commandKeys = ['command', 'cmd', 'run_in_background', 'is_background'];
const inputOf = ({ rawInput = {} }: ToolCall): Readonly<Record<string, unknown>> =>
  Object.fromEntries(commandKeys.flatMap((key) => (rawInput[key] === undefined ? [] : [[key, rawInput[key]]])));

/** Returns the tool's name, or its kind. Never the title, which contains file names and command lines. */
export const toolName = ({ name, kind, _meta }: Pick<ToolCall, 'name' | 'kind' | '_meta'>): string =>
  name || _meta?.claudeCode?.toolName || kind || 'other';

const draftPlan = (update: Update): EntryDraft[] => draftEntries(planUpdate.safeParse(update).data?.entries);

function draftEntries(entries: readonly unknown[] | undefined): EntryDraft[] {
  const plan = readPlan(entries, 'content');
  return plan === null ? [] : [plan];
}

/** Sets the worker's label `mode`. */
export const draftMode = (mode: string): EntryDraft => ({
  type: 'heartbeat.sent',
  data: { mode: firstChars(mode, nameCharsMax) },
});

const draftUsage = (data: object): EntryDraft => ({ type: 'usage.reported', data: { ...data, source: 'acp' } });

/** Converts token counts to a usage entry, without the counts that are missing. Empty if there are none. */
export function draftTokens(usage: TokenUsage | undefined): readonly EntryDraft[] {
  const { inputTokens = 0, outputTokens = 0, cachedReadTokens = 0, cachedWriteTokens = 0, totalTokens } = usage ?? {};
  // Some agents include cached tokens in the input. The total reveals it.
  const includesCached = cachedReadTokens > 0 && totalTokens === inputTokens + outputTokens;
  const input = includesCached ? Math.max(0, inputTokens - cachedReadTokens) : inputTokens;
  const counts = { input, output: outputTokens, cacheRead: cachedReadTokens, cacheWrite: cachedWriteTokens };
  const data = Object.fromEntries(Object.entries(counts).filter(([, tokens]) => tokens > 0));
  return Object.keys(data).length === 0 ? [] : [draftUsage(data)];
}
