/** Plays a log in virtual time: entries at clock times of one day go in, decisions and views come out. */
import {
  advanceClock,
  createFleet,
  type Decision,
  type Fleet,
  type FleetView,
  foldEntry,
  type HookResult,
  type Outcome,
  parseIsoTime,
  readEntry,
  viewFleet,
} from '../../machines/index.ts';
import { timeOf } from '../support/case-times.ts';

export type Play = {
  readonly fleet: Fleet;
  /** Folds one entry. @throws Error where it is none: what makes no sense now is no error, see `refused`. */
  say(at: string, tail: string, data?: object): void;
  /** An attempt to stop, and its decision; null while it is open. */
  stop(at: string, worker: string, fields?: object): Decision | null;
  /** `iteration.validated`, and what the hooks say; null while one is asked. */
  validate(at: string, task: string, fields: object): HookResult | null;
  /** What was decided by itself since the last call. */
  decided(): Decision[];
  /** Why entries were refused, so far. */
  refused(): string[];
  look(at: string): FleetView;
};

/** `policies`: as in the configuration. */
export function play(policies: object = { default: {} }): Play {
  const fleet = createFleet('main');
  const happened: Outcome[] = [];
  const refusals: string[] = [];
  const say = (at: string, tail: string, data: object = {}) => {
    const text = JSON.stringify(data);
    const entry = readEntry(`stopgate.main.${tail}`, text, Buffer.byteLength(text));
    if (entry === null || 'code' in entry) throw new Error(`${tail}: ${entry?.message ?? 'is no entry'}`);
    happened.push(...foldEntry(fleet, { seq: fleet.seq + 1, atMs: msOf(at), entry }));
  };
  const outcomes = () => {
    const taken = happened.splice(0);
    refusals.push(...taken.flatMap((it) => (it.kind === 'refused' ? [it.reason] : [])));
    return taken;
  };
  const decided = () => outcomes().flatMap((it) => (it.kind === 'decided' ? [it.decision] : []));
  say('00:00', 'own.fleet.main.policy.set', { policies });
  return {
    fleet,
    say,
    decided,
    stop(at, worker, fields = {}) {
      outcomes();
      say(at, `worker.${worker}.stop.attempted`, fields);
      return decided().at(-1) ?? null;
    },
    validate(at, task, fields) {
      outcomes();
      say(at, `task.${task}.iteration.validated`, fields);
      return outcomes().flatMap((it) => (it.kind === 'validated' ? [it.result] : []))[0] ?? null;
    },
    refused() {
      outcomes();
      return refusals;
    },
    look(at) {
      happened.push(...advanceClock(fleet, msOf(at)));
      return viewFleet(fleet);
    },
  };
}

const msOf = (clock: string): number => parseIsoTime(timeOf(clock)) as number;

/** `12:00` and 9 is `12:09`. */
export function minutesAfter(clock: string, minutes: number): string {
  const total = Number(clock.slice(0, 2)) * 60 + Number(clock.slice(3, 5)) + minutes;
  return `${String(Math.floor(total / 60)).padStart(2, '0')}:${String(total % 60).padStart(2, '0')}`;
}
