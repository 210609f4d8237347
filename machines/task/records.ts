/** The records that a task keeps of evaluations, hooks and checkpoints (protocol.md §7; seed 001, hook_evaluate). */
import type { TaskEntry } from '../entries/index.ts';
import type { HookResult } from '../guards/decision.ts';
import type { HookResults, HookRun, Iteration } from '../guards/task-hooks/hook.ts';
import { type JsonText, toJsonText } from '../values/text.ts';

/** An `iteration.validated` that waits for the answer of a remote hook. */
export type Evaluation = {
  readonly attempt: string;
  readonly seq: number;
  /** The replica that calls the hook; null if the fleet has no members. */
  readonly owner: string | null;
  /** The iteration at the time of the entry. The loop may continue meanwhile. */
  readonly iteration: Iteration;
  readonly fields: Extract<TaskEntry, { type: 'iteration.validated' }>['data'];
  readonly results: HookResults;
  /** The hook that it waits for. `number`: the 1-based number of the question within this evaluation. */
  readonly pending: {
    readonly number: number;
    readonly key: string;
    readonly name: string;
    readonly deadlineMs: number;
  };
};

/** The result for an iteration, and of each hook. `attempt` is the id in the entry, or `seq-<seq>`. */
export type JudgedIteration = {
  readonly attempt: string;
  readonly result: HookResult;
  readonly runs: readonly HookRun[];
};

/** Counts of a hook's evaluations and actions (seed 001, Hook Metrics). `tookMs`: total time of its remote calls. */
export type HookStats = {
  readonly hook: string;
  readonly type: string;
  readonly asked: number;
  readonly complete: number;
  readonly continue: number;
  readonly escalate: number;
  readonly skip: number;
  readonly errors: number;
  readonly tookMs: number;
  readonly last: {
    readonly at: string;
    readonly attempt: string | null;
    readonly action: HookRun['action'];
    readonly reason: string;
  };
};

const hookStatsMax = 64;
const reasonLengthMax = 500;

type RunContext = { readonly attempt: string | null; readonly at: string };

export function countHookRuns(
  known: readonly HookStats[],
  runs: readonly HookRun[],
  context: RunContext,
): readonly HookStats[] {
  const stats = new Map(known.map((stat) => [stat.hook, stat]));
  for (const run of runs) stats.set(run.hook, counted(stats.get(run.hook), run, context));
  return [...stats.values()].slice(-hookStatsMax);
}

const uncounted = { asked: 0, complete: 0, continue: 0, escalate: 0, skip: 0, errors: 0, tookMs: 0 } as const;

function counted(
  before: HookStats | undefined,
  { hook, type, action, reason, failed, tookMs }: HookRun,
  { attempt, at }: RunContext,
): HookStats {
  const known = before ?? uncounted;
  const count = (kind: HookRun['action']) => known[kind] + (action === kind ? 1 : 0);
  return {
    asked: known.asked + 1,
    complete: count('complete'),
    continue: count('continue'),
    escalate: count('escalate'),
    skip: count('skip'),
    errors: known.errors + (failed ? 1 : 0),
    tookMs: known.tookMs + tookMs,
    hook,
    type,
    last: { at, attempt, action, reason: reason.slice(0, reasonLengthMax) },
  };
}

/** A point from which work on a task can be resumed. */
export type SavedCheckpoint = {
  readonly checkpoint: string;
  readonly at: string;
  readonly phase: string | null;
  readonly step: string | number | null;
  /** Context that the agent saved. */
  readonly context: JsonText;
};

const checkpointsMax = 50;

type Fields = Extract<TaskEntry, { type: 'checkpoint.saved' }>['data'];

export function addCheckpoint(
  checkpoints: readonly SavedCheckpoint[],
  fields: Fields,
  at: string,
): readonly SavedCheckpoint[] {
  const { checkpoint, phase, step, context } = fields;
  const added = { checkpoint, at, phase: phase ?? null, step: step ?? null, context: toJsonText(context) };
  return [...checkpoints, added].slice(-checkpointsMax);
}

/** Returns the phase of the last checkpoint that named one, or null. */
export const phaseOf = ({ checkpoints }: { readonly checkpoints: readonly SavedCheckpoint[] }): string | null =>
  checkpoints.findLast((checkpoint) => checkpoint.phase !== null)?.phase ?? null;
