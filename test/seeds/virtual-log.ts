/** A fleet's log in virtual time. Takes entries at times of one day, and returns decisions and views. */
import {
  advanceClock,
  createFleet,
  type Decision,
  type Fleet,
  type FleetView,
  type FoldOutcome,
  foldEntry,
  type HookResult,
  parseIsoTime,
  readEntry,
  viewFleet,
} from '../../machines/index.ts';
import { timeOf } from '../support/case-times.ts';

export type VirtualLog = {
  /** The state after the last entry. */
  readonly fleet: Fleet;
  /** Folds one entry. @throws Error if it is malformed. Refused entries are listed in `refusals`. */
  publish(at: string, tail: string, data?: object): void;
  /** Publishes an attempt to stop. Returns its decision, or null while it is open. */
  stop(at: string, worker: string, attempt?: object): Decision | null;
  /** Publishes `iteration.validated`. Returns the result of the hooks, or null while one is pending. */
  validate(at: string, task: string, work: object): HookResult | null;
  /** Returns the decisions since the last call that `stop` did not return. */
  takeDecisions(): Decision[];
  /** Returns the reasons of refused entries so far. */
  refusals(): string[];
  /** Moves the clock to a time, and returns all actors. */
  viewAt(at: string): FleetView;
};

/** @param policies as in the configuration; @param more other keys of the configuration, such as `releaseAfter` */
export function createVirtualLog(policies: object = { default: {} }, more: object = {}): VirtualLog {
  const fleet = createFleet('main');
  const pending: FoldOutcome[] = [];
  const refusals: string[] = [];
  const publish = (at: string, tail: string, data: object = {}) => {
    const text = JSON.stringify(data);
    const entry = readEntry(`stopgate.main.${tail}`, text, Buffer.byteLength(text));
    if (entry === null || 'code' in entry) throw new Error(`${tail}: ${entry?.message ?? 'is no entry'}`);
    pending.push(...foldEntry(fleet, { seq: fleet.seq + 1, atMs: msOf(at), entry }).outcomes);
  };
  const take = () => {
    const taken = pending.splice(0);
    refusals.push(...taken.flatMap((outcome) => (outcome.kind === 'refused' ? [outcome.reason] : [])));
    return taken;
  };
  const takeDecisions = () => take().flatMap((outcome) => (outcome.kind === 'decided' ? [outcome.decision] : []));
  publish('00:00', 'own.fleet.main.policy.set', { policies, ...more });
  return {
    fleet,
    publish,
    takeDecisions,
    stop(at, worker, attempt = {}) {
      take();
      publish(at, `worker.${worker}.stop.attempted`, attempt);
      return takeDecisions().at(-1) ?? null;
    },
    validate(at, task, work) {
      take();
      publish(at, `task.${task}.iteration.validated`, work);
      return take().flatMap((outcome) => (outcome.kind === 'validated' ? [outcome.result] : []))[0] ?? null;
    },
    refusals() {
      take();
      return refusals;
    },
    viewAt(at) {
      pending.push(...advanceClock(fleet, msOf(at)).outcomes);
      return viewFleet(fleet);
    },
  };
}

const msOf = (clock: string): number => parseIsoTime(timeOf(clock)) as number;

/** Adds minutes: `12:00` and 9 is `12:09`. */
export function minutesAfter(clock: string, minutes: number): string {
  const total = Number(clock.slice(0, 2)) * 60 + Number(clock.slice(3, 5)) + minutes;
  return `${String(Math.floor(total / 60)).padStart(2, '0')}:${String(total % 60).padStart(2, '0')}`;
}

/** Returns the data of `plan.updated`: `Step 1`, `Step 2`, … with these statuses. */
export const planOf = (...statuses: readonly string[]) => ({
  steps: statuses.map((status, index) => ({ title: `Step ${index + 1}`, status })),
});
