/** Drafts of the entries that agents' calls lead to: the parts that all adapters share. */

import { posix, win32 } from 'node:path';
import type { AttemptFields } from '../../../machines/index.ts';
import { pathLengthMax } from '../../../machines/values/limits.ts';
import { isOwnBlock } from './block-text.ts';
import type { PriorWorker } from './prior-worker.ts';
import { firstChars, lastBytes } from './text.ts';

const promptCharsMax = 2_000;
export const nameCharsMax = 200;
const cwdCharsMax = 4_096;
/** An agent's output in an attempt (protocol.md §2). */
const outputBytesMax = 32 * 1024;
/** As JSON with its escapes. The output must leave room in an entry of 64 KiB. */
const outputJsonBytesMax = 56 * 1024;
const cutNote = '[stopgate: only the end of the output follows]\n';

export type EntryDraft = {
  readonly type: string;
  readonly data: object;
  readonly messageId?: string;
  /** Default: the worker of the call. */
  readonly worker?: string;
};

/** The fields that every agent's call is read into: whose call it is. */
export type BaseCall = {
  readonly event: string;
  /** The session, or the sub-agent within it. */
  readonly worker: string;
  /** The session of a sub-agent. Null: the call is the session's own. */
  readonly parent: string | null;
  readonly cwd?: string | undefined;
  /** A sub-agent's type. */
  readonly kind?: string | undefined;
};

/** Drafts the entries of one event. `agent`: as in `worker.registered`. */
export type DraftEntries<Call> = (call: Call, prior: PriorWorker, agent: string) => readonly EntryDraft[];

export const heartbeat: EntryDraft = { type: 'heartbeat.sent', data: {} };

/**
 * The label lets a policy be assigned to sub-agents only. The message id: the first calls of a session may come at the
 * same time and be translated by two replicas that do not know the session yet. A second registration would clear what
 * the calls in between have stored.
 */
export function draftRegistration(
  { worker, parent, cwd, kind }: Omit<BaseCall, 'event'>,
  prior: PriorWorker,
  agent: string,
): EntryDraft {
  const inCwd = cwd === undefined || cwd === '' || cwd.length > cwdCharsMax ? {} : { cwd };
  const labels = kind === undefined ? {} : { labels: { subagent: firstChars(kind, nameCharsMax) } };
  const data = { agent, ...inCwd, ...(parent === null ? {} : { parent, ...labels }) };
  const first = prior.registered ? {} : { messageId: `${worker}:registered` };
  return { type: 'worker.registered', data, ...first };
}

export const draftChildStart: DraftEntries<BaseCall> = (...call) => [draftRegistration(...call)];

const startSources: ReadonlySet<string | undefined> = new Set(['startup', 'resume', 'clear', 'new']);

/** A compaction also reports a session start. It only shortens the memory: counts and background work stay. */
export const draftSessionStart: DraftEntries<BaseCall & { readonly source?: string | undefined }> = (
  call,
  prior,
  agent,
) => (prior.registered && !startSources.has(call.source) ? [] : [draftRegistration(call, prior, agent)]);

export const draftPrompted: DraftEntries<{ readonly prompt?: string | undefined }> = ({ prompt = '' }, prior) => [
  draftPrompt(prompt, prior),
];

/** Our own block that comes back as a prompt must not reset the retries. */
export function draftPrompt(prompt: string, prior: PriorWorker): EntryDraft {
  if (isOwnBlock(prompt, prior.lastDecision)) return heartbeat;
  return { type: 'prompt.submitted', data: { text: firstChars(prompt, promptCharsMax) } };
}

export function draftInputRequest(message: string | undefined, kind: 'permission' | 'question'): EntryDraft {
  const withMessage = message === undefined ? {} : { message: firstChars(message, nameCharsMax) };
  return { type: 'input.requested', data: { kind, ...withMessage } };
}

/**
 * A tool's result shows that the person has answered and that the model can be reached. What a hook holds may be about
 * another tool that runs beside it: the hook's own call ends that.
 */
export const draftToolResult = (prior: PriorWorker): readonly EntryDraft[] =>
  draftResumption({ ...prior, awaitsInput: prior.awaitsInput && prior.held.length === 0 });

/** So does the end of a turn. */
export function draftResumption(prior: PriorWorker): readonly EntryDraft[] {
  return [
    ...(prior.awaitsInput ? [{ type: 'input.received', data: {} }] : []),
    ...(prior.limited ? [{ type: 'limit.cleared', data: {} }] : []),
  ];
}

export const draftTurnEnd: DraftEntries<unknown> = (_call, prior) => draftResumption(prior);

export type ToolUse = {
  readonly tool: string | undefined;
  readonly ok: boolean;
  /** The agent's own id of the call. */
  readonly id?: string | undefined;
  /** Changed files, as the agent names them. */
  readonly files?: readonly unknown[];
};

/** Before it runs: while it does, its worker does not become stale (protocol.md §3). */
export function draftToolStart({ tool, id }: Pick<ToolUse, 'tool' | 'id'>): EntryDraft {
  if (tool === undefined || tool === '') return heartbeat;
  return { type: 'tool.started', data: { tool: firstChars(tool, nameCharsMax), ...callOf(id) } };
}

/** A call has the same id at its start and at its end. */
const callOf = (id: string | undefined): object => (id === undefined ? {} : { call: firstChars(id, nameCharsMax) });

export function draftToolUse(use: ToolUse, { cwd }: BaseCall, prior: PriorWorker): EntryDraft {
  const { tool, ok, id } = use;
  if (tool === undefined || tool === '') return heartbeat;
  const files = toolFiles(use.files ?? [], prior.cwd ?? cwd ?? null);
  const changed = files.length === 0 ? {} : { files };
  return { type: 'tool.used', data: { tool: firstChars(tool, nameCharsMax), ok, ...callOf(id), ...changed } };
}

/**
 * The end of an unknown session is not stored: it would create a worker without a past. Nor is that of an escalated
 * one: a headless agent ends at once, and the escalation would be closed before anybody saw it.
 */
export function draftSessionEnd(
  { reason }: { readonly reason?: string | undefined },
  prior: PriorWorker,
): readonly EntryDraft[] {
  if (!prior.registered || prior.escalated) return [];
  const withReason = reason === undefined ? {} : { reason: firstChars(reason, nameCharsMax) };
  return [{ type: 'session.ended', data: withReason }];
}

/** No agent names an attempt or sends the same stop twice, so the caller makes the attempt's id. */
export function toAttempt(output: string | undefined, stopReason = 'end_turn'): AttemptFields {
  const withOutput = output === undefined ? {} : { output: cutOutput(output) };
  return { stopReason: firstChars(stopReason, nameCharsMax), ...withOutput };
}

/** Cut once to its size, then halved as long as its escapes (control characters, quotes) make it too large. */
export function cutOutput(output: string): string {
  let cut = output;
  for (let max = outputBytesMax; !fitsEntry(cut); max /= 2) cut = cutNote + lastBytes(output, max - cutNote.length);
  return cut;
}

const fitsEntry = (output: string): boolean =>
  Buffer.byteLength(output) <= outputBytesMax && Buffer.byteLength(JSON.stringify(output)) <= outputJsonBytesMax;

// The files that a tool call changed, as policies name them.

// As the agent names it: inside the root it is shorter.
const pathCharsMax = 4_096;
const filesMax = 100;
/** For all files of a call. The rest of an entry of 64 KiB is left to its envelope. */
const filesBytesMax = 48 * 1024;

/**
 * A file inside `root` becomes relative to it, with forward slashes, so that a policy's `src/**` means the worker's own
 * folder wherever that is. Any other file stays as the agent named it. Empty: no file that we know of (a shell command
 * may have changed some unseen).
 */
function toolFiles(named: readonly unknown[], root: string | null): string[] {
  const files = named.filter(
    (file): file is string => typeof file === 'string' && file !== '' && file.length <= pathCharsMax,
  );
  const within = [...new Set(files)].slice(0, filesMax).map((file) => (root === null ? file : withinRoot(file, root)));
  let bytes = 0;
  return within.filter((file) => {
    if (file.length > pathLengthMax) return false;
    bytes += Buffer.byteLength(JSON.stringify(file)) + 1;
    return bytes <= filesBytesMax;
  });
}

/** The agent may run on another machine, so the form of the root decides which path rules apply. */
function withinRoot(file: string, root: string): string {
  const path = /^[A-Za-z]:[\\/]|^\\\\/.test(root) ? win32 : posix;
  if (!path.isAbsolute(root) || !path.isAbsolute(file)) return file;
  const relative = path.relative(root, file);
  const outside =
    relative === '' || relative === '..' || relative.startsWith(`..${path.sep}`) || path.isAbsolute(relative);
  return outside ? file : relative.replaceAll(path.sep, '/');
}
