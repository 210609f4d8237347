/**
 * Claude Code: its hook calls to our entries and our question, our decision to its JSON. Seen with 2.1.329.
 * Pure. One call is translated by one row of the table below; events that we do not know say only that the agent
 * lives, since newer versions add events.
 */
import type { AttemptFields, Decision } from '../../machines/index.ts';
import type { NewEntry } from '../service/service.ts';
import type { KnownWorker, Translation } from './adapter.ts';
import { blockWords, isOwnBlock } from './block-words.ts';
import type { ClaudeCall } from './claude-call.ts';
import { filesChanged } from './claude-files.ts';
import { planChange } from './claude-plan.ts';
import { firstChars, lastBytes } from './text.ts';

const promptCharsMax = 2_000;
const nameCharsMax = 200;
const cwdCharsMax = 4_096;
/** An agent's output in an attempt (protocol 2). */
const outputBytesMax = 32 * 1024;
/** With its escapes the output must leave room in an entry of 64 KiB. */
const outputJsonBytesMax = 56 * 1024;
const cutNote = '[stopgate: only the end of the output follows]\n';
/** Background work beyond this is not told apart: each makes an entry. */
const backgroundMax = 200;

type Said = { readonly type: string; readonly data: object; readonly messageId?: string };
type Row = (call: ClaudeCall, known: KnownWorker) => readonly Said[];

const heartbeat: Said = { type: 'heartbeat.sent', data: {} };
const alive: Row = () => [heartbeat];

const rows: ReadonlyMap<string, Row> = new Map<string, Row>([
  ['SessionStart', (call, known) => (call.source === 'compact' && known.registered ? [] : [registration(call, known)])],
  ['UserPromptSubmit', promptSubmitted],
  ['PreToolUse', (call) => (call.tool_name === 'AskUserQuestion' ? [inputRequested(call, 'question')] : [heartbeat])],
  ['PermissionRequest', (call) => [inputRequested(call, 'permission')]],
  ['PostToolUse', (call, known) => [...resumed(known), ...toolUsed(call, known)]],
  ['PostToolUseFailure', (call, known) => [...resumed(known), ...toolFailed(call)]],
  // A stop is asked for when the turn is over: whatever the agent waited for has been answered, or refused unseen.
  ['Stop', (call, known) => [...resumed(known), ...backgroundChanges(call, known)]],
  ['SubagentStart', (call, known) => [registration(call, known)]],
  ['SubagentStop', (call, known) => [...resumed(known), ...backgroundChanges(call, known)]],
  // An end says nothing of a session that nobody has heard of: it would leave a worker without a past.
  ['SessionEnd', (call, known) => (known.registered ? [sessionEnded(call)] : [])],
  ['StopFailure', (call) => (isUsageLimit(call) ? [{ type: 'limit.reached', data: {} }] : [])],
  // One message makes many of these while it grows.
  ['MessageDisplay', (call) => (call.final === false ? [] : [heartbeat])],
]);

/** Not judged here: `readClaude` has checked the call. */
export function translateClaude(call: ClaudeCall, known: KnownWorker): Translation {
  const { worker, event } = call;
  if (call.ofCompaction) return { worker, entries: [], stop: null };
  const said = (rows.get(event) ?? alive)(call, known);
  const entries = withRegistration(call, known, said).map(
    (one): NewEntry => ({ entity: 'worker', id: worker, ...one }),
  );
  return { worker, entries, stop: isStop(event) ? attemptOf(call) : null };
}

/** Exactly two keys, and null for all else: an empty answer is the one way to allow that every version knows. */
export function answerClaude(
  event: string,
  decision: Pick<Decision, 'decision' | 'reason' | 'nextPrompt'>,
): { decision: 'block'; reason: string } | null {
  if (!isStop(event) || decision.decision !== 'block') return null;
  return { decision: 'block', reason: blockWords(decision) };
}

const isStop = (event: string): boolean => event === 'Stop' || event === 'SubagentStop';

// --- registration ---------------------------------------------------------------------------------------------

/** `SessionStart` never comes over HTTP, so the first call of a session registers it; that is a sign of life too. */
function withRegistration(call: ClaudeCall, known: KnownWorker, said: readonly Said[]): readonly Said[] {
  const begun = said.some(({ type }) => type === 'worker.registered');
  if (known.registered || begun || call.event === 'SessionEnd') return said;
  return [registration(call, known), ...said.filter((one) => one !== heartbeat)];
}

/**
 * The label lets a policy be assigned to sub-agents alone. The message id: a session's first calls may come at once,
 * and be translated by two replicas of which neither knows it yet; a second registration would clear what the calls
 * between them said.
 */
function registration({ worker, parent, cwd, agent_type: kind }: ClaudeCall, known: KnownWorker): Said {
  const inCwd = cwd === undefined || cwd === '' || cwd.length > cwdCharsMax ? {} : { cwd };
  const asChild = parent === null ? {} : { parent, ...(kind === undefined ? {} : { labels: { subagent: kind } }) };
  const data = { agent: 'claude', ...inCwd, ...asChild };
  const first = known.registered ? {} : { messageId: `${worker}:registered` };
  return { type: 'worker.registered', data, ...first };
}

// --- prompts and tools ----------------------------------------------------------------------------------------

function promptSubmitted(call: ClaudeCall, known: KnownWorker): readonly Said[] {
  const prompt = call.prompt ?? '';
  if (prompt.trimStart().startsWith('<task-notification>')) return notifiedEnds(prompt);
  if (isOwnBlock(prompt, known.lastDecision)) return [heartbeat];
  return [{ type: 'prompt.submitted', data: { text: firstChars(prompt, promptCharsMax) } }];
}

/** The end of background work wakes the agent with a prompt that nobody typed. */
function notifiedEnds(prompt: string): readonly Said[] {
  const ids = [...prompt.matchAll(/<task-notification>\s*<task-id>([^<]{1,200})<\/task-id>/g)].map(
    ([, id]) => id?.trim() ?? '',
  );
  const ends = [...new Set(ids)].filter((id) => id !== '').slice(0, backgroundMax);
  return ends.length === 0 ? [heartbeat] : ends.map((id) => ({ type: 'background.finished', data: { id } }));
}

function inputRequested({ tool_name: tool }: ClaudeCall, kind: 'permission' | 'question'): Said {
  return {
    type: 'input.requested',
    data: { kind, ...(tool === undefined ? {} : { message: firstChars(tool, nameCharsMax) }) },
  };
}

/** A tool's result, or a turn's end, shows that the person has answered and that the model answers. */
function resumed(known: KnownWorker): readonly Said[] {
  return [
    ...(known.awaitsInput ? [{ type: 'input.received', data: {} }] : []),
    ...(known.limited ? [{ type: 'limit.cleared', data: {} }] : []),
  ];
}

function toolUsed(call: ClaudeCall, known: KnownWorker): readonly Said[] {
  const files = filesChanged(call, known.cwd ?? call.cwd ?? null);
  const change = planChange(call);
  const used = toolEntry(call, true, files.length === 0 ? {} : { files });
  return change === null ? [used] : [used, change];
}

const toolFailed = (call: ClaudeCall): readonly Said[] => [toolEntry(call, false, {})];

function toolEntry({ tool_name: tool, tool_use_id: id }: ClaudeCall, ok: boolean, more: object): Said {
  if (tool === undefined || tool === '') return heartbeat;
  const call = id === undefined ? {} : { call: firstChars(id, nameCharsMax) };
  return { type: 'tool.used', data: { tool: firstChars(tool, nameCharsMax), ok, ...call, ...more } };
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

/** Claude Code names no attempt, and never sends the same stop twice: whoever asks makes an id. */
function attemptOf({ last_assistant_message: output }: ClaudeCall): AttemptFields {
  return { stopReason: 'end_turn', ...(output === undefined ? {} : { output: cutOutput(output) }) };
}

/** Cut once to its size, and again by halves while its escapes (control characters, quotes) make it too large. */
function cutOutput(output: string): string {
  let cut = output;
  for (let max = outputBytesMax; !fitsEntry(cut); max /= 2) cut = cutNote + lastBytes(output, max - cutNote.length);
  return cut;
}

const fitsEntry = (output: string): boolean =>
  Buffer.byteLength(output) <= outputBytesMax && Buffer.byteLength(JSON.stringify(output)) <= outputJsonBytesMax;

const sessionEnded = ({ reason }: ClaudeCall): Said => ({
  type: 'session.ended',
  data: reason === undefined ? {} : { reason: firstChars(reason, nameCharsMax) },
});

/** Other failures of the model's API pass by themselves, or need a person; only a limit says "come back later". */
const isUsageLimit = (call: ClaudeCall): boolean => call.error === 'rate_limit' || call.error_type === 'rate_limit';
