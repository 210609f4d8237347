/**
 * Replay: folds the lines of a file with the same machines as the service, and collects the decisions (protocol.md
 * §10). The lines provide the time and the answers of checks; nothing is run.
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

/** An attempt that is still open at the end of the file. */
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
  /** Folds one line. Returns the reason if it is invalid, or null. Skips empty lines. */
  readonly fold: (line: string) => string | null;
  /** Folds a message of a live log in the same way. */
  readonly foldMessage: (message: StoredText) => string | null;
  /** Continues from `fleet`, which must be folded up to the first line that follows. It is changed in place. */
  readonly startFrom: (fleet: Fleet) => void;
  /** The first line of the file, by fleet. */
  readonly firstLines: ReadonlyMap<string, FirstLine>;
  /** Returns the results since the last call, in the order in which attempts ended. */
  readonly take: () => ReplayLine[];
  /** Returns the reason if folding stopped because a fleet needs rules that this release does not know, or null. */
  readonly fault: () => string | null;
  /** Lists the attempts and evaluations that are still open. */
  readonly open: () => ReplayLine[];
  /** Moves every clock to `untilMs` and shows all actors there. */
  readonly view: () => { at: string; fleets: Record<string, FleetView> };
};

export type ReplayOptions = {
  /** Policies in force throughout, instead of the file's `policy.set` entries. */
  readonly policies?: PolicySet;
  /** Later lines are not folded. */
  readonly untilMs?: number;
  /** If set, each verdict shows the input of its guard. Default: only verdicts of deciding guards, as in the log. */
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
    const fleet = createFleet(name, { policies, showsInputs: inputs });
    fleets.set(name, fleet);
    return fleet;
  };

  const fold = (read: LogEntry | string | null): string | null => {
    if (read === null || typeof read === 'string') return read;
    // Later lines are still read, because they advance the clock of `createLogLines`.
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
      // Without `untilMs`, the clock stays at the last line.
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
    return [
      {
        v: 1,
        fleet: fleet.name,
        worker,
        attempt: attempt.attempt,
        seq: attempt.seq,
        at: formatIsoTime(attempt.atMs),
        decision: null,
        state: 'validating',
        waitsFor: attempt.pending?.name ?? 'hold',
      },
    ];
  });
  const evaluations = [...fleet.tasks].flatMap(([taskId, { snapshot }]) =>
    snapshot.context.evaluations.map(
      (evaluation): OpenHookResult => ({ fleet: fleet.name, taskId, attempt: evaluation.attempt, action: null }),
    ),
  );
  return [...attempts, ...evaluations];
}
