/** What agents' calls say, as entries: the words that all adapters share. */
import type { AttemptFields } from '../../../machines/index.ts';
import type { KnownWorker } from './adapter.ts';
import { isOwnBlock } from './block-text.ts';
import { toolFiles } from './files.ts';
import { firstChars, lastBytes } from './text.ts';

const promptCharsMax = 2_000;
export const nameCharsMax = 200;
const cwdCharsMax = 4_096;
/** An agent's output in an attempt (protocol 2). */
const outputBytesMax = 32 * 1024;
/** With its escapes the output must leave room in an entry of 64 KiB. */
const outputJsonBytesMax = 56 * 1024;
const cutNote = '[stopgate: only the end of the output follows]\n';

/** An entry of the call's worker, or of the one that is named. */
export type Said = {
  readonly type: string;
  readonly data: object;
  readonly messageId?: string;
  readonly worker?: string;
};

/** Whose call it is: what every agent's call is read to. */
export type Caller = {
  readonly event: string;
  /** The session, or the sub-agent within it. */
  readonly worker: string;
  /** The session of a sub-agent; null: the call is the session's own. */
  readonly parent: string | null;
  readonly cwd?: string | undefined;
  /** A sub-agent's type. */
  readonly kind?: string | undefined;
};

export const heartbeat: Said = { type: 'heartbeat.sent', data: {} };

/**
 * The label lets a policy be assigned to sub-agents alone. The message id: a session's first calls may come at once,
 * and be translated by two replicas of which neither knows it yet; a second registration would clear what the calls
 * between them said.
 */
export function registration(agent: string, { worker, parent, cwd, kind }: Caller, known: KnownWorker): Said {
  const inCwd = cwd === undefined || cwd === '' || cwd.length > cwdCharsMax ? {} : { cwd };
  const labels = kind === undefined ? {} : { labels: { subagent: firstChars(kind, nameCharsMax) } };
  const data = { agent, ...inCwd, ...(parent === null ? {} : { parent, ...labels }) };
  const first = known.registered ? {} : { messageId: `${worker}:registered` };
  return { type: 'worker.registered', data, ...first };
}

const begins: ReadonlySet<string | undefined> = new Set(['startup', 'resume', 'clear', 'new']);

/** A session that a compaction "starts" has only got a shorter memory: its counts and its background work stay. */
export function sessionStarted(
  agent: string,
  call: Caller & { source?: string | undefined },
  known: KnownWorker,
): readonly Said[] {
  return known.registered && !begins.has(call.source) ? [] : [registration(agent, call, known)];
}

/** A block that comes back as a prompt is nobody's: it must not begin the retries anew. */
export function promptSubmitted(prompt: string, known: KnownWorker): Said {
  if (isOwnBlock(prompt, known.lastDecision)) return heartbeat;
  return { type: 'prompt.submitted', data: { text: firstChars(prompt, promptCharsMax) } };
}

export function inputRequested(message: string | undefined, kind: 'permission' | 'question'): Said {
  const said = message === undefined ? {} : { message: firstChars(message, nameCharsMax) };
  return { type: 'input.requested', data: { kind, ...said } };
}

/** A tool's result, or a turn's end, shows that the person has answered and that the model answers. */
export function resumed(known: KnownWorker): readonly Said[] {
  return [
    ...(known.awaitsInput ? [{ type: 'input.received', data: {} }] : []),
    ...(known.limited ? [{ type: 'limit.cleared', data: {} }] : []),
  ];
}

export type ToolUse = {
  readonly tool: string | undefined;
  readonly ok: boolean;
  /** The agent's own id of the call. */
  readonly id?: string | undefined;
  /** As the agent named them. */
  readonly files?: readonly unknown[];
};

export function toolUsed(use: ToolUse, { cwd }: Caller, known: KnownWorker): Said {
  const { tool, ok, id } = use;
  if (tool === undefined || tool === '') return heartbeat;
  const call = id === undefined ? {} : { call: firstChars(id, nameCharsMax) };
  const files = toolFiles(use.files ?? [], known.cwd ?? cwd ?? null);
  const changed = files.length === 0 ? {} : { files };
  return { type: 'tool.used', data: { tool: firstChars(tool, nameCharsMax), ok, ...call, ...changed } };
}

/**
 * An end says nothing of a session that nobody has heard of: it would leave a worker without a past. Nor of one that is
 * escalated: a headless agent ends at once, and what it left to a person would be closed before anybody saw it.
 */
export function sessionEnded(reason: string | undefined, known: KnownWorker): readonly Said[] {
  if (!known.registered || known.escalated) return [];
  const said = reason === undefined ? {} : { reason: firstChars(reason, nameCharsMax) };
  return [{ type: 'session.ended', data: said }];
}

/** No agent names an attempt, or sends the same stop twice: whoever asks makes an id. */
export function attemptOf(output: string | undefined, stopReason = 'end_turn'): AttemptFields {
  const said = output === undefined ? {} : { output: cutOutput(output) };
  return { stopReason: firstChars(stopReason, nameCharsMax), ...said };
}

/** Cut once to its size, and again by halves while its escapes (control characters, quotes) make it too large. */
export function cutOutput(output: string): string {
  let cut = output;
  for (let max = outputBytesMax; !fitsEntry(cut); max /= 2) cut = cutNote + lastBytes(output, max - cutNote.length);
  return cut;
}

const fitsEntry = (output: string): boolean =>
  Buffer.byteLength(output) <= outputBytesMax && Buffer.byteLength(JSON.stringify(output)) <= outputJsonBytesMax;
