/**
 * Recognises the same stop of one session when two sets of hooks report it: hooks of the user and of the project, or of
 * two programs. An agent waits for all of its hooks before it continues, so the second call comes before the agent can
 * stop once more, and from another set. It gets the attempt of the first and counts once.
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
  /** The id of each set's call, which a repeated post has again. */
  readonly calls: Map<string, string>;
};

type StopCall = {
  readonly worker: string;
  /** Identifies the set of hooks. Undefined: unknown, so it is never taken for another's. */
  readonly set: string | undefined;
  /** Why the agent stops. */
  readonly kind: string;
  /** The id of the call. */
  readonly id: string;
};

export type StopTwins = {
  /** Returns the id of the attempt for a call. */
  attemptFor(call: StopCall): string;
  /** Notes that the worker has continued: the next call is another stop, from whichever set. */
  noteWork(worker: string): void;
};

/** @param stopwatch monotonic time in milliseconds */
export function createStopTwins(stopwatch: () => number): StopTwins {
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
