/** Statistics of hooks, kept with their task. */
import type { HookRun } from '../guards/task-hooks/hook.ts';

/** How often a hook was evaluated, and with which actions (seed 001, Hook Metrics). `tookMs`: of its remote parts, in all. */
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

type Place = { readonly attempt: string | null; readonly at: string };

export function countHookRuns(
  known: readonly HookStats[],
  runs: readonly HookRun[],
  place: Place,
): readonly HookStats[] {
  const stats = new Map(known.map((it) => [it.hook, it]));
  for (const run of runs) stats.set(run.hook, counted(stats.get(run.hook), run, place));
  return [...stats.values()].slice(-hookStatsMax);
}

const uncounted = { asked: 0, complete: 0, continue: 0, escalate: 0, skip: 0, errors: 0, tookMs: 0 } as const;

function counted(
  before: HookStats | undefined,
  { hook, type, action, reason, failed, tookMs }: HookRun,
  { attempt, at }: Place,
): HookStats {
  const known = before ?? uncounted;
  return {
    ...known,
    hook,
    type,
    asked: known.asked + 1,
    [action]: known[action] + 1,
    errors: known.errors + (failed ? 1 : 0),
    tookMs: known.tookMs + tookMs,
    last: { at, attempt, action, reason: reason.slice(0, reasonLengthMax) },
  };
}
