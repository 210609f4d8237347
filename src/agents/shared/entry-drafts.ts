/** Drafts the entries that agents' calls lead to. Shared by all adapters. */
import type { AttemptFields } from '../../../machines/index.ts';
import { cwdLengthMax } from '../../../machines/values/limits.ts';
import { isOwnBlock } from './block-text.ts';
import { isAbsoluteFolder, isSameFolder, keepLinks, mergeNames, type RealPath, resolveFiles } from './file-paths.ts';
import type { PriorWorker } from './prior-worker.ts';
import { authorOf, type PromptAuthor } from './prompt-author.ts';
import { hideSecrets, searchedPerShown } from './secrets.ts';
import { firstChars, lastBytes } from './text.ts';
import type { ToolChanges } from './tool-changes.ts';

const promptCharsMax = 2_000;
export const nameCharsMax = 200;
/** An agent's output in an attempt (protocol.md §2). */
const outputBytesMax = 32 * 1024;
/** Limit for the output as escaped JSON, which must leave room in an entry of 64 KiB. */
const outputJsonBytesMax = 56 * 1024;
const cutNote = '[stopgate: only the end of the output follows]\n';

export type EntryDraft = {
  readonly type: string;
  readonly data: object;
  readonly messageId?: string;
  /** Default: the worker of the call. */
  readonly worker?: string;
  /** Our name for a part of the call that could not be read and is left out. Counted and logged. */
  readonly unread?: string;
};

/** The fields that every adapter reads from a call: the event, the caller and its surroundings. */
export type BaseCall = {
  readonly event: string;
  /** The id of the session, or of a sub-agent in it. */
  readonly worker: string;
  /** The session of a sub-agent. Null for the session itself. */
  readonly parent: string | null;
  /** The current working folder. */
  readonly cwd?: string | undefined;
  /** More folders of the same workspace. Switching to one of them is not a move. */
  readonly otherFolders?: readonly string[] | undefined;
  /** The sub-agent's type. */
  readonly kind?: string | undefined;
  /** False if the session runs without a person and ends with its turn. Undefined if unknown. */
  readonly interactive?: boolean | undefined;
  /** The permission mode, such as `plan`. */
  readonly mode?: string | undefined;
  /** Default: links are not resolved. */
  readonly realPath?: RealPath | undefined;
};

/** Drafts the entries of one event. @param agent the name recorded in `worker.registered` */
export type DraftEntries<Call> = (call: Call, prior: PriorWorker, agent: string) => readonly EntryDraft[];

export const heartbeat: EntryDraft = { type: 'heartbeat.sent', data: {} };

/**
 * The labels let policies be assigned to sub-agents or to a mode. The first registration has a message id, because two
 * replicas may translate a session's first calls at the same time, and a second registration would reset what was
 * stored in between.
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
 * Drafts a move if the worker's folder differs from the one that the fleet knows; otherwise null. A relative name is
 * ignored, because its base is unknown.
 */
export function draftMove(
  { cwd, otherFolders = [], realPath = keepLinks }: BaseCall,
  prior: PriorWorker,
): EntryDraft | null {
  if (!prior.registered || !isFolder(cwd) || !isAbsoluteFolder(cwd)) return null;
  const known = prior.cwd;
  if (known !== null && [cwd, ...otherFolders].some((folder) => isSameFolder(folder, known, realPath))) return null;
  return { type: 'worker.moved', data: { cwd } };
}

/**
 * Records a changed mode with a heartbeat, because a registration would reset the counts. It precedes the call's other
 * entries, so that they and the stop are judged under the new mode.
 */
export function draftMode(
  { mode }: BaseCall,
  prior: PriorWorker,
  drafts: readonly EntryDraft[],
): readonly EntryDraft[] {
  if (mode === undefined || mode === '' || mode === prior.mode) return drafts;
  const modeChange = { type: 'heartbeat.sent', data: { mode: firstChars(mode, nameCharsMax) } };
  return [modeChange, ...drafts.filter((draft) => draft !== heartbeat)];
}

export const draftChildStart: DraftEntries<BaseCall> = (...call) => [draftRegistration(...call)];

/** Sources that begin a session. A fork continues another session but is a new one. */
const startSources: ReadonlySet<string | undefined> = new Set(['startup', 'resume', 'clear', 'new', 'fork']);

/**
 * A compaction also reports a session start but must not register, because a registration resets counts and background
 * work. Unknown sources are treated like a compaction.
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

/**
 * One of our block texts that comes back as a prompt must not reset the retries.
 * @param by default: derived from the text
 */
export function draftPrompt(prompt: string | undefined, prior: PriorWorker, by?: PromptAuthor): EntryDraft {
  if (isOwnBlock(prompt ?? '', prior.lastDecision)) return heartbeat;
  const author = by ?? authorOf(prompt, prior);
  // Lists show its first line as the title of the worker, and snapshots keep that.
  const searched = (prompt ?? '').slice(0, promptCharsMax * searchedPerShown);
  const text = firstChars(hideSecrets(searched), promptCharsMax);
  return { type: 'prompt.submitted', data: author === 'person' ? { text } : { text, by: author } };
}

export function draftInputRequest(message: string | undefined, kind: 'permission' | 'question'): EntryDraft {
  const withMessage = message === undefined ? {} : { message: firstChars(message, nameCharsMax) };
  return { type: 'input.requested', data: { kind, ...withMessage } };
}

/**
 * A tool's result shows that the person has answered and that the model is available. Requests held by a hook are
 * excepted: they may be about a parallel tool, and the hook's own call ends them.
 */
export const draftToolResult = (prior: PriorWorker): readonly EntryDraft[] =>
  draftResumption({ ...prior, awaitsInput: prior.awaitsInput && prior.held.length === 0 });

/** Ends the wait for a person and the usage limit, whichever is recorded. */
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
  /** The agent's id for the call, the same at its start and its end. */
  readonly id?: string | undefined;
} & Partial<Omit<ToolChanges, 'ok'>>;

/** Sent before a tool runs. While it runs, its worker does not become stale (protocol.md §3). */
export function draftToolStart({ tool, id }: Pick<ToolUse, 'tool' | 'id'>): EntryDraft {
  if (tool === undefined || tool === '') return heartbeat;
  return { type: 'tool.started', data: { tool: firstChars(tool, nameCharsMax), ...callOf(id) } };
}

/** Sent for a tool whose start was reported and that was refused: it has changed nothing. */
export const draftUnusedTool = (tool: string, id: string | undefined): EntryDraft => ({
  type: 'tool.used',
  data: { tool: firstChars(tool, nameCharsMax), ok: false, ...callOf(id), changes: 'none' },
});

const callOf = (id: string | undefined): object => (id === undefined ? {} : { call: firstChars(id, nameCharsMax) });

/**
 * Without `changes`, the tool changed exactly the files that it names; a file outside the folder makes the changes
 * unknown. After an agent has moved (`cd src`), files get two names, relative to the current and to the first folder,
 * so that a policy's `src/**` still matches.
 */
export function draftToolUse(use: ToolUse, { cwd, realPath = keepLinks }: BaseCall, prior: PriorWorker): EntryDraft {
  const { tool, ok, id, command } = use;
  if (tool === undefined || tool === '') return heartbeat;
  const root = prior.cwd ?? cwd ?? null;
  const resolveIn = (folder: string | null) =>
    resolveFiles(use.files ?? [], { root: folder, from: cwd ?? root, realPath });
  const within = resolveIn(root);
  const home = prior.home ?? null;
  const isAway = home !== null && root !== null && !isSameFolder(home, root, realPath);
  const names = isAway ? mergeNames(resolveIn(home).inRoot, within.files) : within.files;
  const files = names ?? within.files;
  const isKnown = within.areAllInRoot && names !== null;
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
 * Skips unknown sessions, because the entry would create a worker without a history, and escalated ones, because a
 * headless agent ends at once and the escalation would close before anyone saw it.
 */
export function draftSessionEnd(
  { reason }: { readonly reason?: string | undefined },
  prior: PriorWorker,
): readonly EntryDraft[] {
  if (!prior.registered || prior.escalated) return [];
  const withReason = reason === undefined ? {} : { reason: firstChars(reason, nameCharsMax) };
  return [{ type: 'session.ended', data: withReason }];
}

/** Leaves out the attempt's id, which the caller creates: no agent names its attempts or sends a stop twice. */
export function toAttempt(output: string | undefined, stopReason = 'end_turn'): AttemptFields {
  const withOutput = output === undefined ? {} : { output: cutOutput(output) };
  return { stopReason: firstChars(stopReason, nameCharsMax), ...withOutput };
}

/** Keeps the end of the output. The limit is halved until the escaped JSON fits too. */
export function cutOutput(output: string): string {
  let cut = output;
  for (let max = outputBytesMax; !fitsEntry(cut); max /= 2) cut = cutNote + lastBytes(output, max - cutNote.length);
  return cut;
}

const fitsEntry = (output: string): boolean =>
  Buffer.byteLength(output) <= outputBytesMax && Buffer.byteLength(JSON.stringify(output)) <= outputJsonBytesMax;
