/**
 * Measures how much a fleet keeps of its workers and tasks, and how much it may (protocol.md §2). Without a bound,
 * whoever may publish fills the memory of every replica, and of every start after it.
 *
 * The size follows from the state alone: a fixed part for each worker and task, one for each UTF-16 unit of the texts
 * that they keep, and `perItem` for each value of a list or object. A string takes one or two bytes a unit, so that is
 * the heap within a factor of two. A step of a machine is compared field by field, and only what has changed is
 * measured: most steps measure nothing.
 */
import type { Attempt } from '../guards/attempt.ts';
import type { Decision } from '../guards/decision.ts';
import type { Plan } from '../policy/plan.ts';
import type { TaskContext } from '../task/context.ts';
import type { WorkerContext } from '../worker/context.ts';
import type { Fleet, TaskRecord, WorkerRecord } from './fleet.ts';

/** A worker or task without texts: 800 bytes of heap, and after some decisions 2,300. */
const actorSize = 1_024;
/** The size of a usual decision, which `actorSize` includes already: so a stop is judged in a full fleet, too. */
const decisionSizeFree = 1_024;
/** An object of a list, with its header and pointers. */
const perItem = 64;
/** The size of one attempt that is recognised: two numbers. */
export const knownAttemptSize = 16;
/** At most, of the statistics of one hook: its names and its last reason. */
const hookStatsSize = 1_024;

export const describeFull = (max: number): string =>
  `the fleet keeps ${max} units of workers and tasks (protocol.md §2), the most there may be: retire workers and cancel tasks that are over, or wait until stopped ones are forgotten`;

/** Tells whether `growth` is more than the fleet may still take. */
export const exceedsState = ({ stateSize, stateSizeMax }: Fleet, growth: number): boolean =>
  growth > 0 && stateSize + growth > stateSizeMax;

/** Tells whether it takes no other worker or task. */
export const isStateFull = (fleet: Fleet): boolean => exceedsState(fleet, actorSize);

export const newActorSize = actorSize;

export function sizeOfWorker({ snapshot, known }: WorkerRecord): number {
  const { worker } = snapshot.context;
  return actorSize + (known === null ? 0 : (known.length / 2) * knownAttemptSize) + growthOfWorker(null, worker);
}

export const sizeOfTask = ({ snapshot }: TaskRecord): number => actorSize + growthOfTask(null, snapshot.context);

/** Returns how much more the second keeps than the first. */
export function growthOfWorker(a: WorkerContext | null, b: WorkerContext): number {
  if (a === b) return 0;
  return (
    filesSize(b) -
    (a === null ? 0 : filesSize(a)) +
    differ(a?.plan, b.plan, sizeOfPlan) +
    differ(a?.lastDecision, b.lastDecision, sizeOfDecision) +
    differ(a?.attempt, b.attempt, sizeOfAttempt) +
    differ(a?.lastJudgedTasks, b.lastJudgedTasks, sizeOf) +
    differ(a?.failureStreak, b.failureStreak, sizeOf) +
    differ(a?.calls, b.calls, sizeOf) +
    differ(a?.tasks, b.tasks, sizeOf) +
    differ(a?.heldAtEnd, b.heldAtEnd, sizeOf) +
    differ(a?.labels, b.labels, sizeOf) +
    differ(a?.background, b.background, sizeOf) +
    differ(a?.commands, b.commands, sizeOf) +
    differ(a?.lastChange, b.lastChange, sizeOf) +
    differ(a?.pause, b.pause, sizeOf) +
    differ(a?.usageSource, b.usageSource, sizeOf) +
    differ(a?.scopes, b.scopes, sizeOf) +
    differ(a?.inputs, b.inputs, sizeOf) +
    differ(a?.lastAnswer, b.lastAnswer, sizeOf) +
    differ(a?.escalation, b.escalation, sizeOf) +
    differ(a?.resolution, b.resolution, sizeOf) +
    differ(a?.refused, b.refused, sizeOf) +
    differ(a?.cwd, b.cwd, sizeOf) +
    differ(a?.agent, b.agent, sizeOf)
  );
}

export function growthOfTask(a: TaskContext | null, b: TaskContext): number {
  if (a === b) return 0;
  return (
    differ(a?.plan, b.plan, sizeOfPlan) +
    differ(a?.title, b.title, sizeOf) +
    differ(a?.after, b.after, sizeOf) +
    differ(a?.hooks, b.hooks, sizeOf) +
    differ(a?.hookStats, b.hookStats, (stats) => stats.length * hookStatsSize) +
    differ(a?.iteration, b.iteration, sizeOf) +
    differ(a?.checkpoints, b.checkpoints, sizeOf) +
    differ(a?.evaluations, b.evaluations, sizeOf) +
    differ(a?.validated, b.validated, sizeOf) +
    differ(a?.escalation, b.escalation, sizeOf) +
    differ(a?.refused, b.refused, sizeOf)
  );
}

function differ<Value>(a: Value | undefined, b: Value, measure: (value: NonNullable<Value>) => number): number {
  if (a === b) return 0;
  return (b == null ? 0 : measure(b)) - (a == null ? 0 : measure(a));
}

const filesSize = ({ files, filesBytes }: WorkerContext): number => filesBytes + files.length * perItem;

function sizeOfPlan(plan: Plan): number {
  let size = 0;
  for (const { title, status, step } of plan) size += perItem + title.length + status.length + (step?.length ?? 0);
  return size;
}

/** Returns the size of an attempt without what all attempts share: the policy, and the fleet around the worker. */
const sizeOfAttempt = ({ fields, verdicts, feedback, findings, hookResults, judgedTasks }: Attempt): number =>
  sizeOf(fields) + sizeOf(verdicts) + sizeOf(feedback) + sizeOf(findings) + sizeOf(hookResults) + sizeOf(judgedTasks);

function sizeOfDecision({ reason, nextPrompt, feedback, verdicts, tasks }: Decision): number {
  let size = reason.length + (nextPrompt?.length ?? 0) + sizeOf(feedback) + sizeOf(tasks);
  for (const { detail, input } of verdicts) size += detail.length + (input === undefined ? 0 : sizeOf(input));
  return Math.max(0, size - decisionSizeFree);
}

/** Returns the size of a value that came as JSON; empty lists and objects count as nothing. */
function sizeOf(value: unknown): number {
  if (typeof value === 'string') return value.length;
  if (typeof value !== 'object' || value === null) return 0;
  let size = 0;
  if (Array.isArray(value)) for (const item of value) size += perItem + sizeOf(item);
  else
    for (const key of Object.keys(value)) {
      const held = (value as Record<string, unknown>)[key];
      // JSON leaves it out, and after a restart the size must be the same.
      if (held !== undefined) size += perItem + sizeOf(held);
    }
  return size;
}
