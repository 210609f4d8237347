/** Drafts of the entries that agents' calls lead to: the parts that all adapters share. */
import type { AttemptFields } from '../../../machines/index.ts';
import { cwdLengthMax } from '../../../machines/values/limits.ts';
import { isOwnBlock } from './block-text.ts';
import { asNamed, isAbsoluteFolder, isSameFolder, joinNames, placeFiles, type RealPath } from './file-places.ts';
import type { PriorWorker } from './prior-worker.ts';
import { authorOf, type PromptAuthor } from './prompt-author.ts';
import { firstChars, lastBytes } from './text.ts';
import type { ToolChanges } from './tool-changes.ts';

const promptCharsMax = 2_000;
export const nameCharsMax = 200;
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
  /** What of the call could not be read, and is left out of the entry. It is counted and logged. */
  readonly unread?: string;
};

/** The fields that every agent's call is read into: whose call it is. */
export type BaseCall = {
  readonly event: string;
  /** The session, or the sub-agent within it. */
  readonly worker: string;
  /** The session of a sub-agent. Null: the call is the session's own. */
  readonly parent: string | null;
  /** The folder in which it works now. */
  readonly cwd?: string | undefined;
  /** Other folders that it works in at the same time: none of them is a move. */
  readonly otherFolders?: readonly string[] | undefined;
  /** A sub-agent's type. */
  readonly kind?: string | undefined;
  /** False: no person is at the session, which ends with its turn. Undefined: the agent does not say. */
  readonly interactive?: boolean | undefined;
  /** The mode of its permissions, such as `plan`. */
  readonly mode?: string | undefined;
  /** Resolves links in names of files. Default: names are taken as they are. */
  readonly realPath?: RealPath | undefined;
};

/** Drafts the entries of one event. `agent`: as in `worker.registered`. */
export type DraftEntries<Call> = (call: Call, prior: PriorWorker, agent: string) => readonly EntryDraft[];

export const heartbeat: EntryDraft = { type: 'heartbeat.sent', data: {} };

/**
 * The labels let a policy be assigned to sub-agents only, or to a mode. The message id: the first calls of a session may
 * come at the same time and be translated by two replicas that do not know the session yet. A second registration would
 * clear what the calls in between have stored.
 */
export function draftRegistration(
  { worker, parent, cwd, kind, interactive, mode }: Omit<BaseCall, 'event'>,
  prior: PriorWorker,
  agent: string,
): EntryDraft {
  const subagent = kind === undefined || parent === null ? {} : { subagent: firstChars(kind, nameCharsMax) };
  const labels = {
    ...subagent,
    ...(mode === undefined || mode === '' ? {} : { mode: firstChars(mode, nameCharsMax) }),
  };
  const data = {
    agent,
    ...(isFolder(cwd) ? { cwd } : {}),
    ...(parent === null ? {} : { parent }),
    ...(Object.keys(labels).length === 0 ? {} : { labels }),
    ...(interactive === undefined ? {} : { interactive }),
  };
  const first = prior.registered ? {} : { messageId: `${worker}:registered` };
  return { type: 'worker.registered', data, ...first };
}

const isFolder = (cwd: string | undefined): cwd is string =>
  cwd !== undefined && cwd !== '' && cwd.length <= cwdLengthMax;

/**
 * The worker works in another folder than the one that the fleet knows. Null: it does not, or does not say where. A name
 * that is not absolute says nothing: nobody knows where it begins.
 */
export function draftMove(
  { cwd, otherFolders = [], realPath = asNamed }: BaseCall,
  prior: PriorWorker,
): EntryDraft | null {
  if (!prior.registered || !isFolder(cwd) || !isAbsoluteFolder(cwd)) return null;
  const known = prior.cwd;
  if (known !== null && [cwd, ...otherFolders].some((folder) => isSameFolder(folder, known, realPath))) return null;
  return { type: 'worker.moved', data: { cwd } };
}

/**
 * The label `mode` follows the mode in which the agent works, as a heartbeat tells it: a registration would set the counts
 * back. It stands before the other entries of the call, so that they and the stop are judged under it.
 */
export function draftMode(
  { mode }: BaseCall,
  prior: PriorWorker,
  drafts: readonly EntryDraft[],
): readonly EntryDraft[] {
  if (mode === undefined || mode === '' || mode === prior.mode) return drafts;
  const told = { type: 'heartbeat.sent', data: { mode: firstChars(mode, nameCharsMax) } };
  return [told, ...drafts.filter((it) => it !== heartbeat)];
}

export const draftChildStart: DraftEntries<BaseCall> = (...call) => [draftRegistration(...call)];

/** A session that goes on in a fork is another one, which begins. */
const startSources: ReadonlySet<string | undefined> = new Set(['startup', 'resume', 'clear', 'new', 'fork']);

/**
 * A compaction also reports a session start. It only shortens the memory: counts and background work stay. So it is with
 * a source that is not on the list, since a registration sets the counts back.
 */
export const draftSessionStart: DraftEntries<BaseCall & { readonly source?: string | undefined }> = (
  call,
  prior,
  agent,
) => (prior.registered && !startSources.has(call.source) ? [] : [draftRegistration(call, prior, agent)]);

export const draftPrompted: DraftEntries<BaseCall & { readonly prompt?: string | undefined }> = (
  { prompt, parent },
  prior,
) => [draftPrompt(prompt, prior, parent === null ? undefined : 'agent')];

/** Our own block that comes back as a prompt must not reset the retries. `by`: default: what the text shows. */
export function draftPrompt(prompt: string | undefined, prior: PriorWorker, by?: PromptAuthor): EntryDraft {
  if (isOwnBlock(prompt ?? '', prior.lastDecision)) return heartbeat;
  const author = by ?? authorOf(prompt, prior);
  const text = firstChars(prompt ?? '', promptCharsMax);
  return { type: 'prompt.submitted', data: author === 'person' ? { text } : { text, by: author } };
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
} & Partial<Omit<ToolChanges, 'ok'>>;

/** Before it runs: while it does, its worker does not become stale (protocol.md §3). */
export function draftToolStart({ tool, id }: Pick<ToolUse, 'tool' | 'id'>): EntryDraft {
  if (tool === undefined || tool === '') return heartbeat;
  return { type: 'tool.started', data: { tool: firstChars(tool, nameCharsMax), ...callOf(id) } };
}

/** A call has the same id at its start and at its end. */
const callOf = (id: string | undefined): object => (id === undefined ? {} : { call: firstChars(id, nameCharsMax) });

/**
 * Without `changes`, the tool changed the files that it names. A file whose place is not in the folder may be any. An agent
 * that has moved into a folder of its first one (\`cd src\`) changes the same files as before, so they have both names:
 * otherwise a policy's \`src/**\` would miss them.
 */
export function draftToolUse(use: ToolUse, { cwd, realPath = asNamed }: BaseCall, prior: PriorWorker): EntryDraft {
  const { tool, ok, id, command } = use;
  if (tool === undefined || tool === '') return heartbeat;
  const root = prior.cwd ?? cwd ?? null;
  const placesIn = (folder: string | null) =>
    placeFiles(use.files ?? [], { root: folder, from: cwd ?? root, realPath });
  const within = placesIn(root);
  const home = prior.home ?? null;
  const isAway = home !== null && root !== null && !isSameFolder(home, root, realPath);
  const names = isAway ? joinNames(placesIn(home).placed, within.files) : within.files;
  const files = names ?? within.files;
  const isKnown = within.areAllPlaced && names !== null;
  const isUnknown = use.changes === 'unknown' || !isKnown || (use.changes === 'files' && files.length === 0);
  const data = {
    tool: firstChars(tool, nameCharsMax),
    ok,
    ...callOf(id),
    ...(files.length === 0 ? {} : { files }),
    ...(isUnknown ? { changes: 'unknown' } : {}),
    ...(command === undefined ? {} : { command }),
  };
  return { type: 'tool.used', data };
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
