/** The changes that each entry makes to a worker's context (protocol.md §3 and §4). */
import type { BackgroundWork } from '../policy/background.ts';
import { amountsOf } from '../policy/budget.ts';
import { addCommand, cutCommand } from '../policy/commands.ts';
import { addSteps, removeSteps, replaceSteps } from '../policy/plan.ts';
import type { Escalation } from '../values/escalation.ts';
import { callsMax, filesBytesMax, filesMax, labelsMax } from '../values/limits.ts';
import type { Pause } from '../values/pause.ts';
import { noInputs } from '../values/questions.ts';
import { utf8Length } from '../values/text.ts';
import { formatIsoTime, parseIsoTime } from '../values/time.ts';
import {
  addToBoth,
  beginPeriod,
  beginUsage,
  type GrantedAmounts,
  grantPeriod,
  useOf,
  type WorkerUsage,
} from '../values/usage.ts';
import { empty, noFiles, type ToolCall, type WorkerContext } from './context.ts';
import { policyFor, type WorkerEventOf } from './events.ts';
import { joinTask } from './join-task.ts';

// Running tools. While one runs, its worker does not become stale (protocol.md §3).

/** The policy in force at the start of a call limits how long it counts. Beyond `callsMax` the oldest is dropped. */
export function startCall(
  calls: readonly ToolCall[],
  { data, atMs, facts }: WorkerEventOf<'tool.started'>,
): readonly ToolCall[] {
  const { policy } = policyFor(facts);
  const started = { tool: data.tool, call: data.call ?? null, atMs, untilMs: atMs + policy.toolTimeMs };
  return [...calls, started].slice(-callsMax);
}

/** Ends the call with this id or, without an id, the oldest call of the same tool. */
function endCall(calls: readonly ToolCall[], { tool, call }: WorkerEventOf<'tool.used'>['data']): readonly ToolCall[] {
  const index = calls.findIndex((running) => (call === undefined ? running.tool === tool : running.call === call));
  return index < 0 ? calls : calls.toSpliced(index, 1);
}

export type Change = Partial<WorkerContext>;

export const resetCounts = { retryCount: 0, keepAlives: 0, failureStreak: null } as const;
const notEscalated = { escalation: null, resolution: null } as const;

/** Repeating a registration continues the session; registering after the end of a session begins a new one. */
export function register(context: WorkerContext, { data, atMs }: WorkerEventOf<'worker.registered'>): Change {
  const given = Object.fromEntries(Object.entries(data).filter(([, value]) => value !== undefined));
  const session =
    context.ended === null
      ? { usage: context.usage, usageSource: context.usageSource }
      : { usage: beginUsage(atMs), usageSource: null };
  const reset = { ended: null, heldAtEnd: empty, calls: empty, background: empty, budgetExhausted: false };
  return { ...session, activeMs: atMs, ...reset, ...noInputs, ...notEscalated, ...resetCounts, ...given };
}

/** The mode is stored as a label, so it is only added if there is room for one. */
export function changesMode({ labels }: WorkerContext, { mode }: WorkerEventOf<'heartbeat.sent'>['data']): boolean {
  if (mode === undefined || labels.mode === mode) return false;
  return Object.hasOwn(labels, 'mode') || Object.keys(labels).length < labelsMax;
}

export const changeMode = ({ labels }: WorkerContext, { mode }: WorkerEventOf<'heartbeat.sent'>['data']): Change =>
  mode === undefined ? {} : { labels: { ...labels, mode } };

/** Tells whether a person prompted. Only that begins a turn; other prompts only set the worker to `working`. */
export const isByPerson = ({ by = 'person' }: WorkerEventOf<'prompt.submitted'>['data']): boolean => by === 'person';

/** Of a long line, the rest rarely helps to recognise a session. */
const titleLengthMax = 80;

/** Returns the first line of a prompt that has text, or null. */
function titleOf(prompt = ''): string | null {
  const line = /\S.*/u.exec(prompt)?.[0];
  if (line === undefined) return null;
  // `join` copies: a slice would keep the whole prompt in memory.
  return Array.from(line.slice(0, 2 * titleLengthMax))
    .slice(0, titleLengthMax)
    .join('')
    .trimEnd();
}

/** Begins a turn after a prompt by a person. */
export function beginTurn(context: WorkerContext, { data, seq, atMs }: WorkerEventOf<'prompt.submitted'>): Change {
  // Only a registration brings a retired worker back.
  const ended = context.ended === 'retired' ? context.ended : null;
  const heldAtEnd = ended === null ? empty : context.heldAtEnd;
  const usage = { session: context.usage.session, prompt: beginPeriod(atMs) };
  return {
    ended,
    heldAtEnd,
    usage,
    title: context.title ?? titleOf(data.text),
    promptedSeq: seq,
    calls: empty,
    budgetExhausted: false,
    ...noInputs,
    ...noFiles,
    ...notEscalated,
    ...resetCounts,
  };
}

export function useTool(context: WorkerContext, { data, seq }: WorkerEventOf<'tool.used'>): Change {
  const toolCount = context.toolCount + 1;
  const calls = context.calls.length === 0 ? context.calls : endCall(context.calls, data);
  const given = data.files ?? empty;
  const file = given.at(-1);
  const used = {
    toolCount,
    calls,
    filesUnknown: context.filesUnknown || mayChangeAny(data),
    commands:
      data.command === undefined
        ? context.commands
        : addCommand(context.commands, { command: data.command, seq, ok: data.ok !== false }),
    lastChange: file === undefined ? context.lastChange : { seq, file },
  };
  const added = given.length === 0 ? empty : newFiles(context, given);
  return added.length === 0 ? used : { ...used, ...keepNewest(context, added) };
}

/**
 * Tells whether the tool may have changed any file. `changes: files` without a file, and unknown words, count as yes.
 */
function mayChangeAny({ changes, files = [] }: WorkerEventOf<'tool.used'>['data']): boolean {
  if (changes === undefined || changes === 'none') return false;
  return changes !== 'files' || files.length === 0;
}

function newFiles({ files }: WorkerContext, given: readonly string[]): readonly string[] {
  if (given.length === 1) return files.includes(given[0] as string) ? empty : given;
  // Comparing many files with many, one by one, would take seconds on every replica.
  const known = given.length > 8 ? new Set(files) : { has: (file: string) => files.includes(file) };
  return [...new Set(given.filter((file) => !known.has(file)))];
}

/** Adds files. If the list exceeds its limits, it drops the oldest and counts them. */
function keepNewest({ files, filesBytes, filesDropped }: WorkerContext, added: readonly string[]): Modified {
  let bytes = added.reduce((sum, file) => sum + utf8Length(file), filesBytes);
  // `concat` allocates the exact length; an array literal with spreads would reserve room for twenty more.
  const all = files.concat(added);
  let dropped = 0;
  while (all.length - dropped > filesMax || bytes > filesBytesMax) {
    bytes -= utf8Length(all[dropped] as string);
    dropped += 1;
  }
  return {
    files: dropped === 0 ? all : all.slice(dropped),
    filesBytes: bytes,
    filesDropped: filesDropped + dropped,
  };
}

type Modified = Pick<WorkerContext, 'files' | 'filesBytes' | 'filesDropped'>;

/** Adds a task and its steps. A task that is already held only moves to the end of the order. */
export function takeTask(
  context: WorkerContext,
  { data: { task }, facts, seq, atMs }: WorkerEventOf<'task.claimed'>,
): Change {
  const isNew = !context.tasks.includes(task);
  const tasks = [...context.tasks.filter((held) => held !== task), task];
  const plan = isNew ? addSteps(context.plan, task, facts?.plan ?? empty) : context.plan;
  const attempt = isNew && context.attempt !== null ? joinTask(context.attempt, facts) : context.attempt;
  return { tasks, plan, attempt, heldAtEnd: empty, activeMs: atMs, claimedSeq: seq, ...resetCounts, ...noFiles };
}

/** Replaces the plan of a held task. */
export const planTask = (
  { plan, tasks }: WorkerContext,
  { data: { task }, facts }: WorkerEventOf<'task.planned'>,
): Change => (tasks.includes(task) ? { plan: replaceSteps(plan, task, facts?.plan ?? empty) } : {});

/** Removes these tasks and their steps. */
export const withoutTasks = ({ tasks, plan }: WorkerContext, lost: readonly string[]) => ({
  tasks: tasks.filter((held) => !lost.includes(held)),
  plan: removeSteps(plan, lost),
});

export function releaseTask(
  context: WorkerContext,
  { type, data, atMs }: WorkerEventOf<'task.lost' | 'task.failed'>,
): Change {
  const { task } = data;
  const isOpen = type === 'task.failed' || data.isOpen === true;
  const heldAtEnd = isOpen ? withHeldAtEnd(context, [task]) : context.heldAtEnd;
  return { activeMs: atMs, heldAtEnd, ...withoutTasks(context, [task]), ...resetCounts };
}

/**
 * Adds tasks that the worker lost before they were done; `verify` includes them. A claim empties the list, so it is
 * never longer than the number of tasks that a worker may hold.
 */
export const withHeldAtEnd = ({ heldAtEnd }: WorkerContext, tasks: readonly string[]): readonly string[] =>
  tasks.length === 0 ? heldAtEnd : [...heldAtEnd.filter((task) => !tasks.includes(task)), ...tasks];

/** Adds background work, or updates outstanding work without restarting its time. */
export function startBackground(
  { background }: WorkerContext,
  { data, atMs }: WorkerEventOf<'background.started'>,
): Change {
  const { id, kind, command } = data;
  const index = background.findIndex((started) => started.id === id);
  const known = background[index];
  const work: BackgroundWork = {
    id,
    // Empty texts do not replace known ones.
    kind: kind ? cutCommand(kind) : (known?.kind ?? null),
    command: command ? cutCommand(command) : (known?.command ?? null),
    sinceMs: known?.sinceMs ?? atMs,
  };
  return { background: known === undefined ? [...background, work] : background.with(index, work) };
}

export const finishBackground = (
  { background }: WorkerContext,
  { data: { id } }: WorkerEventOf<'background.finished'>,
): Change => ({
  background: background.filter((started) => started.id !== id),
});

// A person's pause (protocol.md §3).

/** Tells whether the policy in force allows a person to pause the worker. */
export const mayPause = ({ facts }: WorkerEventOf<'worker.paused'>): boolean =>
  policyFor(facts).policy.pause === 'allow';

/** The newest pause replaces an older one. */
export function pauseWorker({ data: { by, forMs }, atMs }: WorkerEventOf<'worker.paused'>): Change {
  const pause: Pause = { by, sinceMs: atMs, untilMs: forMs === undefined ? null : atMs + forMs };
  return { pause };
}

/** A pause without an end time ends with the session; a timed pause outlives it. */
export const pauseAfterSession = (pause: Pause | null): Pause | null => (pause?.untilMs == null ? null : pause);

/** Tells whether a usage report counts. Once a source has named itself, only that source counts. */
export const countsUsage = (
  { usageSource }: Pick<WorkerContext, 'usageSource'>,
  { source }: WorkerEventOf<'usage.reported'>['data'],
): boolean => source === undefined || usageSource === null || source === usageSource;

export const addUsage = (context: WorkerContext, { data }: WorkerEventOf<'usage.reported'>): Change =>
  countsUsage(context, data)
    ? { usage: addToBoth(context.usage, useOf(data)), usageSource: data.source ?? context.usageSource }
    : {};

export function reachLimit(context: WorkerContext, { data }: WorkerEventOf<'limit.reached'>): Change {
  const { scope } = data;
  if (scope === undefined) return { limit: { untilMs: data.until ?? null } };
  return context.scopes.includes(scope) ? {} : { scopes: [...context.scopes, scope] };
}

/** Like a decision that escalates: releases the tasks, and keeps an escalation that is already open. */
export const escalateStale = (
  context: WorkerContext,
  { escalation, atMs }: WorkerEventOf<'stale.escalated'>,
): Change => ({
  escalation: context.escalation ?? escalation,
  activeMs: atMs,
  heldAtEnd: withHeldAtEnd(context, context.tasks),
  ...withoutTasks(context, context.tasks),
  ...resetCounts,
});

/** Resolves the escalation. Resuming also grants the exhausted budget again. */
export function resolveEscalation(
  context: WorkerContext,
  { atMs, data }: WorkerEventOf<'escalation.resolved'>,
): Change {
  const { by, verdict, prompt = null } = data;
  const resolution = { at: formatIsoTime(atMs), by, verdict, prompt };
  const { escalation } = context;
  if (escalation?.cause !== 'budget' || verdict !== 'resume') return { escalation: null, resolution };
  const granted = amountsOf(data.grant);
  return {
    escalation: null,
    usage: grantUsage(context.usage, escalation, granted, atMs),
    resolution: granted === null ? resolution : { ...resolution, granted },
  };
}

const grantUsage = (
  usage: WorkerUsage,
  { budget, since }: Escalation,
  amounts: GrantedAmounts | null,
  atMs: number,
): WorkerUsage =>
  budget === 'session' || budget === 'prompt'
    ? { ...usage, [budget]: grantPeriod(usage[budget], amounts, { atMs, escalatedMs: parseIsoTime(since) ?? 0 }) }
    : usage;
