/**
 * Recognises a stop that two sets of hooks report: hooks of the user and of the project, or of two programs. An agent
 * waits for all of its hooks before it continues, so the second call comes from another set, before the agent can stop
 * again. Both calls get the same attempt, so the stop counts once.
 */
import { setNewest } from '../../set-newest.ts';

/** Sets of hooks start together. A later call is another stop, even from a set that has not asked before. */
const togetherMs = 30_000;
/** Workers whose last stop is remembered. */
const workersMax = 10_000;
/** No agent has more sets of hooks. */
const setsMax = 16;

type Stop = {
  readonly attempt: string;
  readonly kind: string;
  readonly sinceMs: number;
  /** By set: the id of its call. A repeated post has the same id. */
  readonly calls: Map<string, string>;
};

type StopCall = {
  readonly worker: string;
  /** Identifies the set of hooks. A call without it never counts as a duplicate. */
  readonly set: string | undefined;
  /** Why the agent stops. */
  readonly kind: string;
  /** The id of the call. */
  readonly id: string;
};

export type DuplicateStops = {
  /** Returns the id of the attempt for a call. */
  attemptFor(call: StopCall): string;
  /** Records that the worker has continued, so that its next call is a new stop. */
  noteWork(worker: string): void;
};

/** @param stopwatch monotonic time in milliseconds */
export function createDuplicateStops(stopwatch: () => number): DuplicateStops {
  const stops = new Map<string, Stop>();
  return {
    attemptFor({ worker, set, kind, id }) {
      if (set === undefined) return id;
      const last = stops.get(worker);
      if (last?.calls.get(set) === id) return last.attempt;
      const isTogether = last !== undefined && last.kind === kind && stopwatch() - last.sinceMs < togetherMs;
      if (isTogether && !last.calls.has(set) && last.calls.size < setsMax) {
        last.calls.set(set, id);
        return last.attempt;
      }
      setNewest(stops, worker, { attempt: id, kind, sinceMs: stopwatch(), calls: new Map([[set, id]]) }, workersMax);
      return id;
    },
    noteWork: (worker) => void stops.delete(worker),
  };
}
