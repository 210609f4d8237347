/** Changes a worker's context as each entry says (protocol.md §3 and §4). */
import type { Attempt } from '../guards/attempt.ts';
import type { BackgroundWork } from '../policy/background.ts';
import type { Check, Findings } from '../policy/checks/check.ts';
import { joinChecks } from '../policy/checks/form.ts';
import { addCommand, cutCommand } from '../policy/commands.ts';
import { addSteps, removeSteps, replaceSteps } from '../policy/plan.ts';
import { acknowledge, noteNotice, unnoticed } from '../values/escalation.ts';
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
import { addToBoth, beginPeriod, beginUsage, grantPeriod, useOf, type WorkerUsage } from '../values/usage.ts';
import { empty, noFiles, type ToolCall, type WorkerContext } from './context.ts';
import { type On, policyFor, type Surroundings } from './events.ts';

// Tools that run: while one does, its worker does not become stale (protocol.md §3).

/** A call's time is that of the policy in force when it starts. The oldest gives way to one too many. */
export function startCall(calls: readonly ToolCall[], { data, atMs, facts }: On<'tool.started'>): readonly ToolCall[] {
  const { policy } = policyFor(facts);
  const started = { tool: data.tool, call: data.call ?? null, atMs, untilMs: atMs + policy.toolTimeMs };
  return [...calls, started].slice(-callsMax);
}

/** Ends the call of this id; without one, the oldest call of the same tool. */
function endCall(calls: readonly ToolCall[], { tool, call }: On<'tool.used'>['data']): readonly ToolCall[] {
  const index = calls.findIndex((it) => (call === undefined ? it.tool === tool : it.call === call));
  return index < 0 ? calls : calls.toSpliced(index, 1);
}

// A task that is claimed while an attempt is open is judged by that attempt too (protocol.md §5).

/**
 * Adds the checks of the task to the attempt, which is judged from `checks` on again. Answers from outside are kept,
 * and pending checks go on. A held attempt does not change: its checks are behind it, and it does not complete a task.
 */
function joinTask(attempt: Attempt, facts: Surroundings | undefined): Attempt {
  if (attempt.isHeld) return attempt;
  const { policy } = attempt.inForce;
  const isGiven = facts?.inForce !== undefined || facts?.policy !== undefined;
  const { policy: given, notes } = isGiven ? policyFor(facts) : attempt.inForce;
  const added = notes.filter((note) => !attempt.inForce.notes.includes(note));
  const known = new Set(policy.checks.map(contentOf));
  const checks = joinChecks([policy.checks, given.checks.filter((it) => !known.has(contentOf(it)))]);
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

/** A check without its names: within another list it may have another one. */
const contentOf = (check: Check): string => JSON.stringify(check, (key, value) => (key === 'name' ? undefined : value));

/** Keeps the findings that came from outside; the others depend on the plan and the task, which have changed. */
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

/** A registration that is repeated goes on in its session; one after an end begins another. */
export function register(context: WorkerContext, { data, atMs }: On<'worker.registered'>): Change {
  const given = Object.fromEntries(Object.entries(data).filter(([, value]) => value !== undefined));
  const session =
    context.ended === null
      ? { usage: context.usage, usageSource: context.usageSource }
      : { usage: beginUsage(atMs), usageSource: null };
  const reset = { ended: null, heldAtEnd: empty, calls: empty, background: empty, budgetExhausted: false };
  return { ...session, activeMs: atMs, ...reset, ...noInputs, ...notEscalated, ...resetCounts, ...given };
}

/** The mode is a label as any other: it is added only where there is room for one. */
export function changesMode({ labels }: WorkerContext, { mode }: On<'heartbeat.sent'>['data']): boolean {
  if (mode === undefined || labels.mode === mode) return false;
  return Object.hasOwn(labels, 'mode') || Object.keys(labels).length < labelsMax;
}

export const changeMode = ({ labels }: WorkerContext, { mode }: On<'heartbeat.sent'>['data']): Change =>
  mode === undefined ? {} : { labels: { ...labels, mode } };

/** Tells whether a person has prompted, which begins a turn. Other prompts only put the worker to work. */
export const isByPerson = ({ by = 'person' }: On<'prompt.submitted'>['data']): boolean => by === 'person';

/** A person prompts. */
export function beginTurn(context: WorkerContext, { seq, atMs }: On<'prompt.submitted'>): Change {
  // Nothing but a registration brings a retired worker back.
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

export function useTool(context: WorkerContext, { data, seq }: On<'tool.used'>): Change {
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
 * Tells whether the tool may have changed any file. `files` without any, and a word that is not known, leave that open.
 */
function mayChangeAny({ changes, files = [] }: On<'tool.used'>['data']): boolean {
  if (changes === undefined || changes === 'none') return false;
  return changes !== 'files' || files.length === 0;
}

function newFiles({ files }: WorkerContext, given: readonly string[]): readonly string[] {
  if (given.length === 1) return files.includes(given[0] as string) ? empty : given;
  // Comparing many files with many would take seconds on every replica.
  const known = given.length > 8 ? new Set(files) : { has: (file: string) => files.includes(file) };
  return [...new Set(given.filter((file) => !known.has(file)))];
}

/** Adds files; beyond its bounds the list drops the oldest ones and counts them. */
function keepNewest({ files, filesBytes, filesDropped }: WorkerContext, added: readonly string[]): Modified {
  let bytes = added.reduce((sum, file) => sum + utf8Length(file), filesBytes);
  // `concat` allocates exactly this length; an array literal with spreads would keep room for twenty more.
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

/** A task that is held already moves to the end of the order, and adds no steps again. */
export function takeTask(context: WorkerContext, { data: { task }, facts, seq, atMs }: On<'task.claimed'>): Change {
  const isNew = !context.tasks.includes(task);
  const tasks = [...context.tasks.filter((held) => held !== task), task];
  const plan = isNew ? addSteps(context.plan, task, facts?.plan ?? empty) : context.plan;
  const attempt = isNew && context.attempt !== null ? joinTask(context.attempt, facts) : context.attempt;
  return { tasks, plan, attempt, heldAtEnd: empty, activeMs: atMs, claimedSeq: seq, ...resetCounts, ...noFiles };
}

/** A held task was given another plan. */
export const planTask = ({ plan, tasks }: WorkerContext, { data: { task }, facts }: On<'task.planned'>): Change =>
  tasks.includes(task) ? { plan: replaceSteps(plan, task, facts?.plan ?? empty) } : {};

/** Removes these tasks and their steps. */
export const withoutTasks = ({ tasks, plan }: WorkerContext, lost: readonly string[]) => ({
  tasks: tasks.filter((held) => !lost.includes(held)),
  plan: removeSteps(plan, lost),
});

export function letGoOfTask(context: WorkerContext, { type, data, atMs }: On<'task.lost' | 'task.failed'>): Change {
  const { task } = data;
  const isOpen = type === 'task.failed' || data.isOpen === true;
  const heldAtEnd = isOpen ? withHeldAtEnd(context, [task]) : context.heldAtEnd;
  return { activeMs: atMs, heldAtEnd, ...withoutTasks(context, [task]), ...resetCounts };
}

/**
 * Adds the tasks that the worker no longer holds although they are not done: `verify` asks about them. A claim empties
 * the list, so it never has more tasks than a worker may hold.
 */
export const withHeldAtEnd = ({ heldAtEnd }: WorkerContext, tasks: readonly string[]): readonly string[] =>
  tasks.length === 0 ? heldAtEnd : [...heldAtEnd.filter((task) => !tasks.includes(task)), ...tasks];

/** Work that is outstanding already is updated, and its time goes on. */
export function startBackground({ background }: WorkerContext, { data, atMs }: On<'background.started'>): Change {
  const { id, kind, command } = data;
  const index = background.findIndex((started) => started.id === id);
  const known = background[index];
  const work: BackgroundWork = {
    id,
    // An empty text says nothing.
    kind: kind ? cutCommand(kind) : (known?.kind ?? null),
    command: command ? cutCommand(command) : (known?.command ?? null),
    sinceMs: known?.sinceMs ?? atMs,
  };
  return { background: known === undefined ? [...background, work] : background.with(index, work) };
}

export const finishBackground = (
  { background }: WorkerContext,
  { data: { id } }: On<'background.finished'>,
): Change => ({
  background: background.filter((started) => started.id !== id),
});

// A person's pause (protocol.md §3).

/** The policy that holds at the entry says whether a person may pause. */
export const mayPause = ({ facts }: On<'worker.paused'>): boolean => policyFor(facts).policy.pause === 'allow';

/** The newest pause replaces an older one. */
export function pauseWorker({ data: { by, forMs }, atMs }: On<'worker.paused'>): Change {
  const pause: Pause = { by, sinceMs: atMs, untilMs: forMs === undefined ? null : atMs + forMs };
  return { pause };
}

/** A pause without an end is over with the session; one with a time outlives it. */
export const pauseAfterSession = (pause: Pause | null): Pause | null => (pause?.untilMs == null ? null : pause);

/** Tells whether a report of usage counts: the first source that names itself is the worker's only one. */
export const countsUsage = (
  { usageSource }: Pick<WorkerContext, 'usageSource'>,
  { source }: On<'usage.reported'>['data'],
): boolean => source === undefined || usageSource === null || source === usageSource;

export const addUsage = (context: WorkerContext, { data }: On<'usage.reported'>): Change =>
  countsUsage(context, data)
    ? { usage: addToBoth(context.usage, useOf(data)), usageSource: data.source ?? context.usageSource }
    : {};

export function reachLimit(context: WorkerContext, { data }: On<'limit.reached'>): Change {
  const { scope } = data;
  if (scope === undefined) return { limit: { untilMs: data.until ?? null } };
  return context.scopes.includes(scope) ? {} : { scopes: [...context.scopes, scope] };
}

/** Like a decision that escalates: the tasks are no longer held, and an escalation that is open stays. */
export const escalateStale = (context: WorkerContext, { escalation, atMs }: On<'stale.escalated'>): Change => ({
  escalation: context.escalation ?? escalation,
  activeMs: atMs,
  heldAtEnd: withHeldAtEnd(context, context.tasks),
  ...withoutTasks(context, context.tasks),
  ...resetCounts,
});

/** A budget for which a person was asked is granted once more from here. */
export function resolveEscalation(context: WorkerContext, { atMs, data }: On<'escalation.resolved'>): Change {
  const { by, verdict, prompt = null } = data;
  const isGranted = context.escalation?.cause === 'budget' && verdict === 'resume';
  const usage = isGranted ? grantUsage(context.usage, context.escalation.budget, atMs) : context.usage;
  return { escalation: null, usage, resolution: { at: formatIsoTime(atMs), by, verdict, prompt } };
}

const grantUsage = (usage: WorkerUsage, budget: string | undefined, atMs: number): WorkerUsage =>
  budget === 'session' || budget === 'prompt' ? { ...usage, [budget]: grantPeriod(usage[budget], atMs) } : usage;

// Input requests of a worker, and an operator's answers (protocol.md §3).

/** A request with the same id replaces the earlier one; of requests without an id the newest is kept. */
export function requestInput({ inputs }: WorkerContext, { data, seq, atMs }: On<'input.requested'>): Inputs {
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

export const receiveInput = ({ inputs }: WorkerContext, { data }: On<'input.received'>): Inputs =>
  data.request === undefined ? noInputs : withInputs(without(inputs, data.request));

export function answerInput({ inputs }: WorkerContext, { data, atMs }: On<'input.answered'>) {
  const { request, verdict, by } = data;
  const message = cut(data.message, inputMessageLengthMax);
  const lastAnswer: InputAnswer = { request, verdict, by, message, at: formatIsoTime(atMs) };
  return { lastAnswer, ...withInputs(without(inputs, request)) };
}

// Requests that wait for longer than `escalation.waiting` (protocol.md §8).

export const noteOverdue = ({ inputs }: WorkerContext, { sinceMs, atMs }: On<'input.overdue'>): Change =>
  changeInputs(inputs, (it) =>
    it.overdue === undefined && (parseIsoTime(it.since) ?? 0) <= sinceMs
      ? { ...it, overdue: { since: formatIsoTime(atMs), ...unnoticed } }
      : it,
  );

export const noticeInput = ({ inputs }: WorkerContext, { data, atMs }: On<'input.noticed'>): Change =>
  changeInputs(inputs, (it) =>
    it.overdue !== undefined && it.seq === data.request
      ? { ...it, overdue: noteNotice(it.overdue, formatIsoTime(atMs)) }
      : it,
  );

export const acknowledgeInputs = ({ inputs }: WorkerContext, { data, atMs }: On<'input.acknowledged'>): Change =>
  changeInputs(inputs, (it) =>
    it.overdue === undefined ? it : { ...it, overdue: acknowledge(it.overdue, data.by, formatIsoTime(atMs)) },
  );

const changeInputs = (inputs: readonly InputRequest[], act: (it: InputRequest) => InputRequest): Change => ({
  inputs: inputs.map(act),
});

/** Returns why an operator's answer is refused, or null. */
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
