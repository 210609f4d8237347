/**
 * The versions of the rules by which a log is folded (protocol.md §15). A log says from which entry on a version
 * applies; earlier entries are folded by the rules of their time. So a version is never changed once it was released.
 * The next version differs here, by machines with other guards or actions (`workerMachine.provide`), or in the fold,
 * which asks `fleet.rules.version`. The logs of a version in test/logs/ must always fold to the same states.
 */
import { taskMachine } from '../task/task.ts';
import { workerMachine } from '../worker/worker.ts';

export type Rules = {
  readonly version: number;
  readonly workerMachine: typeof workerMachine;
  readonly taskMachine: typeof taskMachine;
};

/** Ascending, without a gap. The first holds where a log names none. */
export const releasedRules: readonly Rules[] = [{ version: 1, workerMachine, taskMachine }];

/** The first and the last version, as in `replica.joined`. */
export const rulesRange = (known: readonly Rules[]): readonly [min: number, max: number] => [
  known[0]?.version ?? 1,
  known.at(-1)?.version ?? 1,
];

/** Says why a log that needs `version` cannot be folded. */
export function describeUnknownRules(version: number, known: readonly Rules[]): string {
  const [min, max] = rulesRange(known);
  const range = min === max ? `version ${min}` : `versions ${min} to ${max}`;
  return `this log needs version ${version} of the rules, and this release knows ${range}; install the release that wrote it, or a later one`;
}
