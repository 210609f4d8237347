/**
 * Tells which reports of usage count, for readers of a log that do not fold all of it: the first source that a worker's
 * session names is its only one (protocol.md §3). The fold has the same in a worker's context.
 */

/** More workers at once are not followed; the oldest are forgotten. */
const workersMax = 50_000;

type Known = { readonly source: string; hasEnded: boolean };

export type UsageSources = {
  /** Call this with each entry about a worker, in the log's order. */
  note(worker: string, type: string): void;
  /** @param source of a report; undefined: it names none, and counts */
  counts(worker: string, source: string | undefined): boolean;
};

export function createUsageSources(): UsageSources {
  const workers = new Map<string, Known>();
  return {
    note(worker, type) {
      const known = workers.get(worker);
      if (known === undefined) return;
      if (type === 'session.ended' || type === 'worker.retired') known.hasEnded = true;
      // A registration after the end begins another session.
      else if (type === 'worker.registered' && known.hasEnded) workers.delete(worker);
      // A prompt continues the session, unless the worker was retired; then its next registration begins another anyway.
      else if (type === 'prompt.submitted') known.hasEnded = false;
    },
    counts(worker, source) {
      if (source === undefined) return true;
      const known = workers.get(worker);
      if (known !== undefined) return known.source === source;
      workers.set(worker, { source, hasEnded: false });
      const [oldest] = workers.keys();
      if (workers.size > workersMax && oldest !== undefined) workers.delete(oldest);
      return true;
    },
  };
}
