/** What entries change in a worker's context (protocol.md §3 and §4). */

import { addSteps, removeSteps, replaceSteps } from '../policy/plan.ts';
import { noInputs } from '../values/input.ts';
import { formatIsoTime } from '../values/iso-time.ts';
import { filesBytesMax, filesMax } from '../values/limits.ts';
import { utf8Length } from '../values/text.ts';
import { beginPeriod, beginUsage, grantPeriod, type WorkerUsage } from '../values/usage.ts';
import { endCall } from './calls.ts';
import { empty, noFiles, type WorkerContext } from './context.ts';
import type { On } from './events.ts';
import { joinTask } from './joined-task.ts';

export type Change = Partial<WorkerContext>;

export const resetCounts = { retryCount: 0, keepAlives: 0, failureStreak: null } as const;
const notEscalated = { escalation: null, resolution: null } as const;

/** A registration that is repeated goes on in its session; one after an end begins another. */
export function register(context: WorkerContext, { data, atMs }: On<'worker.registered'>): Change {
  const given = Object.fromEntries(Object.entries(data).filter(([, value]) => value !== undefined));
  const reset = { ended: null, heldAtEnd: empty, calls: empty, ...noInputs, background: empty, budgetExhausted: false };
  const usage = context.ended === null ? context.usage : beginUsage(atMs);
  return { ...given, ...reset, ...notEscalated, ...resetCounts, usage, activeMs: atMs };
}

export function beginTurn(context: WorkerContext, { atMs }: On<'prompt.submitted'>): Change {
  // Nothing but a registration brings a retired worker back.
  const ended = context.ended === 'retired' ? context.ended : null;
  const heldAtEnd = ended === null ? empty : context.heldAtEnd;
  const reset = { ended, heldAtEnd, calls: empty, ...noInputs, budgetExhausted: false, ...noFiles };
  const usage = { ...context.usage, prompt: beginPeriod(atMs) };
  return { ...reset, ...notEscalated, ...resetCounts, usage };
}

export function useTool(context: WorkerContext, { data }: On<'tool.used'>): Change {
  const toolCount = context.toolCount + 1;
  const calls = context.calls.length === 0 ? context.calls : endCall(context.calls, data);
  const given = data.files ?? empty;
  const added = given.length === 0 ? empty : newFiles(context, given);
  if (added.length === 0) return { toolCount, calls };
  const { files, filesBytes, filesDropped } = keepNewest(context, added);
  return { toolCount, calls, files, filesBytes, filesDropped };
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
export function takeTask(context: WorkerContext, { data: { task }, facts, atMs }: On<'task.claimed'>): Change {
  const isNew = !context.tasks.includes(task);
  const tasks = [...context.tasks.filter((held) => held !== task), task];
  const plan = isNew ? addSteps(context.plan, task, facts?.plan ?? empty) : context.plan;
  const attempt = isNew && context.attempt !== null ? joinTask(context.attempt, facts) : context.attempt;
  return { ...resetCounts, tasks, plan, attempt, heldAtEnd: empty, activeMs: atMs, ...noFiles };
}

/** A held task was given another plan. */
export const planTask = ({ plan, tasks }: WorkerContext, { data: { task }, facts }: On<'task.planned'>): Change =>
  tasks.includes(task) ? { plan: replaceSteps(plan, task, facts?.plan ?? empty) } : {};

/** Without these tasks and their steps. */
export const withoutTasks = ({ tasks, plan }: WorkerContext, lost: readonly string[]) => ({
  tasks: tasks.filter((held) => !lost.includes(held)),
  plan: removeSteps(plan, lost),
});

export const letGoOfTask = (context: WorkerContext, { data: { task }, atMs }: On<'task.lost'>): Change => ({
  ...resetCounts,
  ...withoutTasks(context, [task]),
  activeMs: atMs,
});

export const startBackground = ({ background }: WorkerContext, { data: { id } }: On<'background.started'>): Change =>
  background.includes(id) ? {} : { background: [...background, id] };

export const finishBackground = (
  { background }: WorkerContext,
  { data: { id } }: On<'background.finished'>,
): Change => ({
  background: background.filter((started) => started !== id),
});

export function reachLimit(context: WorkerContext, { data }: On<'limit.reached'>): Change {
  const { scope } = data;
  if (scope === undefined) return { limit: { untilMs: data.until ?? null } };
  return context.scopes.includes(scope) ? {} : { scopes: [...context.scopes, scope] };
}

/** Like a decision that escalates: the tasks are no longer held, and an escalation that is open stays. */
export const escalateStale = (context: WorkerContext, { escalation, atMs }: On<'stale.escalated'>): Change => ({
  ...resetCounts,
  escalation: context.escalation ?? escalation,
  ...withoutTasks(context, context.tasks),
  activeMs: atMs,
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
