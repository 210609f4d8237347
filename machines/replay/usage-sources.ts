/**
 * Decides which usage reports count, for readers that do not fold the whole log: in a worker's session, only the first
 * source that names itself counts (protocol.md §3). The fold keeps the same in a worker's context.
 */

/** With more workers than this, the oldest are forgotten. */
const workersMax = 50_000;

/** `source` is null until one has named itself in this session. */
type WorkerSource = { source: string | null; ended: 'ended' | 'retired' | null };

export type UsageSources = {
  /** Call it for each entry about a worker, in the order of the log. */
  note(worker: string, type: string): void;
  /** @param source of the report; reports without a source count */
  counts(worker: string, source: string | undefined): boolean;
};

export function createUsageSources(): UsageSources {
  const workers = new Map<string, WorkerSource>();
  const sourceOf = (worker: string): WorkerSource => {
    const known = workers.get(worker) ?? { source: null, ended: null };
    if (workers.has(worker)) return known;
    workers.set(worker, known);
    const [oldest] = workers.keys();
    if (workers.size > workersMax && oldest !== undefined) workers.delete(oldest);
    return known;
  };
  return {
    note(worker, type) {
      if (type === 'worker.retired') sourceOf(worker).ended = 'retired';
      else if (type === 'session.ended') sourceOf(worker).ended ??= 'ended';
      // A prompt continues an ended session; a registration after the end begins a new one.
      else if (type === 'prompt.submitted' && workers.get(worker)?.ended === 'ended') sourceOf(worker).ended = null;
      else if (type === 'worker.registered' && workers.get(worker)?.ended != null) workers.delete(worker);
    },
    counts(worker, source) {
      if (source === undefined) return true;
      const known = sourceOf(worker);
      known.source ??= source;
      return known.source === source;
    },
  };
}
