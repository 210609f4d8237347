/** The changes that each entry makes to a worker's context (protocol.md §3 and §4). */
import type { Attempt } from '../guards/attempt.ts';
import type { BackgroundWork } from '../policy/background.ts';
import { amountsOf } from '../policy/budget.ts';
import type { Check, Findings } from '../policy/checks/check.ts';
import { joinChecks } from '../policy/checks/form.ts';
import { addCommand, cutCommand } from '../policy/commands.ts';
import { addSteps, removeSteps, replaceSteps } from '../policy/plan.ts';
import { acknowledge, type Escalation, noteNotice, unnoticed } from '../values/escalation.ts';
import {
  callsMax,
  filesBytesMax,
  filesMax,
  inputDetailLengthMax,
  inputMessageLengthMax,
  inputToolLengthMax,
  labelsMax,
} from '../values/limits.ts';
import type { Pause } from '../values/pause.ts';
import { type InputAnswer, type InputRequest, type Inputs, noInputs } from '../values/questions.ts';
import { cutMiddle, utf8Length } from '../values/text.ts';
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
import { policyFor, type Surroundings, type WorkerEventOf } from './events.ts';

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

// A task that is claimed while an attempt is open is judged by that attempt too (protocol.md §5).

/**
 * Adds the checks of the task to the attempt and continues its evaluation at `checks`. Keeps answers from outside and
 * the awaited check. A held attempt does not change: its checks have passed, and it cannot complete a task.
 */
function joinTask(attempt: Attempt, facts: Surroundings | undefined): Attempt {
  if (attempt.isHeld) return attempt;
  const { policy } = attempt.inForce;
  const isGiven = facts?.inForce !== undefined || facts?.policy !== undefined;
  const { policy: given, notes } = isGiven ? policyFor(facts) : attempt.inForce;
  const added = notes.filter((note) => !attempt.inForce.notes.includes(note));
  const known = new Set(policy.checks.map(contentOf));
  const checks = joinChecks([policy.checks, given.checks.filter((check) => !known.has(contentOf(check)))]);
  return {
    ...attempt,
    inForce: { ...attempt.inForce, policy: { ...policy, checks }, notes: [...attempt.inForce.notes, ...added] },
    findings: answersOf(policy.checks, attempt.findings),
    verdicts: [
      ...added.map((detail) => ({ guard: 'policy', verdict: 'error', detail }) as const),
      ...attempt.verdicts.filter(({ guard }) => guard !== 'checks'),
    ],
    guard: 'checks',
  };
}

/** Serializes a check without its names, which may differ between lists. */
const contentOf = (check: Check): string => JSON.stringify(check, (key, value) => (key === 'name' ? undefined : value));

/** Keeps findings from outside. All others depend on the plan and the task, which have changed. */
const answersOf = (checks: readonly Check[], findings: Readonly<Findings>): Findings =>
  Object.assign({}, ...checks.map((check) => answerOf(check, findings)));

function answerOf(check: Check, findings: Readonly<Findings>): Findings {
  if (check.kind === 'all' || check.kind === 'any') return answersOf(check.of, findings);
  const found = Object.hasOwn(findings, check.name) ? findings[check.name] : undefined;
  const isFromOutside = check.kind !== 'plan' && check.kind !== 'rules' && check.kind !== 'ran';
  const isAnswer = isFromOutside && found !== undefined && found.kind !== 'skip';
  return isAnswer ? { [check.name]: found } : {};
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

/** Begins a turn after a prompt by a person. */
export function beginTurn(context: WorkerContext, { seq, atMs }: WorkerEventOf<'prompt.submitted'>): Change {
  // Only a registration brings a retired worker back.
  const ended = context.ended === 'retired' ? context.ended : null;
  const heldAtEnd = ended === null ? empty : context.heldAtEnd;
  const usage = { session: context.usage.session, prompt: beginPeriod(atMs) };
  return {
    ended,
    heldAtEnd,
    usage,
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

// Input requests of a worker, and operators' answers (protocol.md §3).

/** A request replaces an earlier one with the same id. Of requests without an id, only the newest is kept. */
export function requestInput({ inputs }: WorkerContext, { data, seq, atMs }: WorkerEventOf<'input.requested'>): Inputs {
  const { request = null } = data;
  const asked: InputRequest = {
    request,
    kind: cut(data.kind, inputToolLengthMax),
    message: cut(data.message, inputMessageLengthMax),
    tool: cut(data.tool, inputToolLengthMax),
    detail: cut(toText(data.detail), inputDetailLengthMax),
    since: formatIsoTime(atMs),
    seq,
  };
  return withInputs([...without(inputs, request), asked]);
}

export const receiveInput = ({ inputs }: WorkerContext, { data }: WorkerEventOf<'input.received'>): Inputs =>
  data.request === undefined ? noInputs : withInputs(without(inputs, data.request));

export function answerInput({ inputs }: WorkerContext, { data, atMs }: WorkerEventOf<'input.answered'>) {
  const { request, verdict, by } = data;
  const message = cut(data.message, inputMessageLengthMax);
  const lastAnswer: InputAnswer = { request, verdict, by, message, at: formatIsoTime(atMs) };
  return { lastAnswer, ...withInputs(without(inputs, request)) };
}

// Requests that have waited longer than `escalation.waiting` (protocol.md §8).

export const noteOverdue = ({ inputs }: WorkerContext, { sinceMs, atMs }: WorkerEventOf<'input.overdue'>): Change =>
  changeInputs(inputs, (request) =>
    request.overdue === undefined && (parseIsoTime(request.since) ?? 0) <= sinceMs
      ? { ...request, overdue: { since: formatIsoTime(atMs), ...unnoticed } }
      : request,
  );

export const noticeInput = ({ inputs }: WorkerContext, { data, atMs }: WorkerEventOf<'input.noticed'>): Change =>
  changeInputs(inputs, (request) =>
    request.overdue !== undefined && request.seq === data.request
      ? { ...request, overdue: noteNotice(request.overdue, formatIsoTime(atMs)) }
      : request,
  );

export const acknowledgeInputs = (
  { inputs }: WorkerContext,
  { data, atMs }: WorkerEventOf<'input.acknowledged'>,
): Change =>
  changeInputs(inputs, (request) =>
    request.overdue === undefined
      ? request
      : { ...request, overdue: acknowledge(request.overdue, data.by, formatIsoTime(atMs)) },
  );

const changeInputs = (inputs: readonly InputRequest[], act: (request: InputRequest) => InputRequest): Change => ({
  inputs: inputs.map(act),
});

/** Returns the reason for refusing an operator's answer, or null. */
export function refuseAnswer({ worker, inputs, lastAnswer }: WorkerContext, request: string): string | null {
  if (inputs.some((input) => input.request === request)) return null;
  if (lastAnswer?.request !== request) return `worker ${worker} does not ask for ${request}`;
  return `request ${request} of worker ${worker} was answered by ${lastAnswer.by}: ${lastAnswer.verdict}`;
}

const without = (inputs: readonly InputRequest[], request: string | null): readonly InputRequest[] =>
  inputs.filter((input) => input.request !== request);
const withInputs = (inputs: readonly InputRequest[]): Inputs =>
  inputs.length === 0 ? noInputs : { inputs, awaitsInput: true };
const cut = (text: string | null | undefined, lengthMax: number): string | null =>
  text === undefined || text === null ? null : cutMiddle(text, lengthMax);
const toText = (detail: unknown): string | undefined =>
  detail === undefined || typeof detail === 'string' ? detail : JSON.stringify(detail);
