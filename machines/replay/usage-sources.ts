/**
 * Tells which reports of usage count, for readers of a log that do not fold all of it: the first source that a worker's
 * session names is its only one (protocol.md §3). The fold has the same in a worker's context.
 */

/** More workers at once are not followed; the oldest are forgotten. */
const workersMax = 50_000;

/** `source` null: none has reported in this session yet. */
type Known = { source: string | null; ended: 'ended' | 'retired' | null };

export type UsageSources = {
  /** Call this with each entry about a worker, in the log's order. */
  note(worker: string, type: string): void;
  /** @param source of a report; undefined: it names none, and counts */
  counts(worker: string, source: string | undefined): boolean;
};

export function createUsageSources(): UsageSources {
  const workers = new Map<string, Known>();
  const knownOf = (worker: string): Known => {
    const known = workers.get(worker) ?? { source: null, ended: null };
    if (workers.has(worker)) return known;
    workers.set(worker, known);
    const [oldest] = workers.keys();
    if (workers.size > workersMax && oldest !== undefined) workers.delete(oldest);
    return known;
  };
  return {
    note(worker, type) {
      if (type === 'worker.retired') knownOf(worker).ended = 'retired';
      else if (type === 'session.ended') knownOf(worker).ended ??= 'ended';
      // A prompt continues an ended session; a registration after an end begins another.
      else if (type === 'prompt.submitted' && workers.get(worker)?.ended === 'ended') knownOf(worker).ended = null;
      else if (type === 'worker.registered' && workers.get(worker)?.ended != null) workers.delete(worker);
    },
    counts(worker, source) {
      if (source === undefined) return true;
      const known = knownOf(worker);
      known.source ??= source;
      return known.source === source;
    },
  };
}
