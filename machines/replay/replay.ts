/**
 * Replay: folds the lines of a file with the same machines and collects the decisions (protocol.md §10). Times come
 * from the lines. Nothing is run: the answers of checks are in the file.
 */
import { createLogLines, type FirstLine, type LogEntry, type StoredText } from '../entries/log-line.ts';
import { createFleet, type Fleet } from '../fleet/fleet.ts';
import { advanceClock, foldEntry } from '../fleet/fold.ts';
import type { FoldStep } from '../fleet/outcome.ts';
import type { Decision, HookResult } from '../guards/decision.ts';
import type { PolicySet } from '../policy/policy-set.ts';
import { describeUnknownRules } from '../rules/rules.ts';
import { formatIsoTime } from '../values/time.ts';
import { type FleetView, viewFleet } from './views.ts';

/** An attempt that the file leaves open. */
export type OpenAttempt = {
  readonly v: 1;
  readonly fleet: string;
  readonly worker: string;
  readonly attempt: string;
  readonly seq: number;
  readonly at: string;
  readonly decision: null;
  readonly state: 'validating';
  readonly waitsFor: string;
};
export type OpenHookResult = {
  readonly fleet: string;
  readonly taskId: string;
  readonly attempt: string;
  readonly action: null;
};
export type ReplayLine = Decision | HookResult | OpenAttempt | OpenHookResult;

export type Replay = {
  /** Folds one line; gives why it is bad, or null. Empty lines are passed over. */
  readonly fold: (line: string) => string | null;
  /** Folds a message of a live log in the same way. */
  readonly foldMessage: (message: StoredText) => string | null;
  /** Continues from `fleet`, which was folded up to the first message that follows. It is changed in place. */
  readonly startFrom: (fleet: Fleet) => void;
  /** The first line of a file, by fleet. */
  readonly firstLines: ReadonlyMap<string, FirstLine>;
  /** Returns the decisions since the last call, in the order in which attempts ended. */
  readonly take: () => ReplayLine[];
  /** Says why nothing is folded from some entry on, or null: a fleet needs rules that this release does not know. */
  readonly fault: () => string | null;
  /** The attempts that the file left open. */
  readonly open: () => ReplayLine[];
  /** Moves every clock to `untilMs` and shows all actors there. */
  readonly view: () => { at: string; fleets: Record<string, FleetView> };
};

export type ReplayOptions = {
  /** These policies are in force throughout, in place of the file's own `policy.set`. */
  readonly policies?: PolicySet;
  /** Lines later than this are left out. */
  readonly untilMs?: number;
  /** Each verdict has the input of its guard. Default: only of those that decide, as in the log. */
  readonly inputs?: boolean;
};

export function createReplay(options: ReplayOptions = {}): Replay {
  const { policies, untilMs = Number.POSITIVE_INFINITY, inputs = false } = options;
  const fleets = new Map<string, Fleet>();
  const lines = createLogLines();
  let results: ReplayLine[] = [];
  const keep = ({ outcomes }: FoldStep) => {
    for (const outcome of outcomes) {
      if (outcome.kind === 'decided') results.push(outcome.decision);
      if (outcome.kind === 'validated') results.push(outcome.result);
    }
  };
  const fleetOf = (name: string): Fleet => {
    const known = fleets.get(name);
    if (known !== undefined) return known;
    const fleet = createFleet(
      name,
      policies === undefined ? { showsInputs: inputs } : { policies, showsInputs: inputs },
    );
    fleets.set(name, fleet);
    return fleet;
  };

  const fold = (read: LogEntry | string | null): string | null => {
    if (read === null || typeof read === 'string') return read;
    // What is later than `untilMs` is read all the same: an earlier time after it counts as that one.
    const fleet = fleetOf(read.fleet);
    const { stored } = read;
    if (stored.atMs <= untilMs) keep(foldEntry(fleet, stored));
    return null;
  };

  return {
    fold: (line) => fold(lines.readLine(line)),
    foldMessage: (message) => fold(lines.readMessage(message)),
    startFrom(fleet) {
      fleet.showsInputs = inputs;
      fleets.set(fleet.name, fleet);
    },
    firstLines: lines.firstLines,
    take() {
      const taken = results;
      results = [];
      return taken;
    },
    fault() {
      const stopped = [...fleets.values()].find(({ unknownRules }) => unknownRules !== null);
      return stopped === undefined ? null : describeUnknownRules(stopped.unknownRules as number, stopped.rulesKnown);
    },
    open: () => [...fleets.values()].flatMap(openResults),
    view() {
      // Without an end the clock would never stop, so it stays at the last line.
      const latestMs = Math.max(0, ...[...fleets.values()].map((fleet) => fleet.nowMs));
      const atMs = Number.isFinite(untilMs) ? untilMs : latestMs;
      for (const fleet of fleets.values()) keep(advanceClock(fleet, atMs));
      return {
        at: formatIsoTime(atMs),
        fleets: Object.fromEntries([...fleets].map(([name, fleet]) => [name, viewFleet(fleet)])),
      };
    },
  };
}

function openResults(fleet: Fleet): ReplayLine[] {
  const attempts = [...fleet.open].flatMap((worker): OpenAttempt[] => {
    const attempt = fleet.workers.read(worker)?.snapshot.context.worker.attempt;
    if (attempt == null) return [];
    const waitsFor = attempt.pending === null ? 'hold' : attempt.pending.name;
    const place = {
      fleet: fleet.name,
      worker,
      attempt: attempt.attempt,
      seq: attempt.seq,
      at: formatIsoTime(attempt.atMs),
    };
    return [{ v: 1, ...place, decision: null, state: 'validating', waitsFor }];
  });
  const evaluations = [...fleet.tasks].flatMap(([taskId, { snapshot }]) =>
    snapshot.context.evaluations.map(
      (it): OpenHookResult => ({ fleet: fleet.name, taskId, attempt: it.attempt, action: null }),
    ),
  );
  return [...attempts, ...evaluations];
}
