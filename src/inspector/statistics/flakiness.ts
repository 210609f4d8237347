/**
 * Flakiness: the same check for the same worker with a different result, although the worker did nothing in between.
 * Only workers that report their tools can be judged; for the others, nobody knows whether they did something.
 */

export type Flakiness = {
  /** @returns whether two results of the same state can be compared, and whether they differ; null: they cannot */
  result(worker: string, check: string, passed: boolean): { readonly differs: boolean } | null;
  /** The worker did something that a check may see. */
  worked(worker: string, type: string): void;
};

/** More rarely work at the same time; the ones that were silent the longest are forgotten. */
const workersMax = 5_000;
/** A policy rarely has more than eight. */
const checksMax = 64;

type Seen = { reportsTools: boolean; readonly results: Map<string, boolean> };

/** Nothing that a check looks at. */
const idleTypes: ReadonlySet<string> = new Set(['stop.attempted', 'heartbeat.sent', 'limit.reached', 'limit.cleared']);

export function createFlakiness(): Flakiness {
  const workers = new Map<string, Seen>();
  const seenOf = (worker: string): Seen => {
    const seen = workers.get(worker) ?? { reportsTools: false, results: new Map() };
    workers.delete(worker);
    workers.set(worker, seen);
    if (workers.size > workersMax) workers.delete(workers.keys().next().value as string);
    return seen;
  };
  return {
    result(worker, check, passed) {
      const { reportsTools, results } = seenOf(worker);
      const before = results.get(check);
      if (before !== undefined || results.size < checksMax) results.set(check, passed);
      return before === undefined || !reportsTools ? null : { differs: before !== passed };
    },
    worked(worker, type) {
      if (idleTypes.has(type)) return;
      const seen = seenOf(worker);
      if (type === 'tool.used') seen.reportsTools = true;
      seen.results.clear();
    },
  };
}
