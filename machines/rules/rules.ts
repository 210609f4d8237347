/**
 * The versions of the rules by which a log is folded (protocol.md §15). The log says from which entry on a version
 * applies; earlier entries are folded by their own version. So a released version never changes. A new version either
 * provides machines with other guards or actions (`workerMachine.provide`) here, or branches on `fleet.rules.version`
 * in the fold. The logs of each version in test/logs/ must always fold to the same states.
 */
import { createStepper, type Stepper } from '../step.ts';
import { taskMachine } from '../task/task.ts';
import { workerMachine } from '../worker/worker.ts';

type Machines = { readonly workerMachine: typeof workerMachine; readonly taskMachine: typeof taskMachine };
type Steppers = {
  readonly workerStepper: Stepper<typeof workerMachine>;
  readonly taskStepper: Stepper<typeof taskMachine>;
};

/** A version of the rules. */
export class RulesVersion {
  readonly version: number;
  readonly #machines: Machines;
  #steppers: Steppers | null = null;

  constructor(version: number, machines: Machines) {
    this.version = version;
    this.#machines = machines;
  }

  /** Shared by all fleets, since steppers hold no state. Created on first use, which takes 0.1 s. */
  get steppers(): Steppers {
    const { workerMachine, taskMachine } = this.#machines;
    this.#steppers ??= {
      workerStepper: createStepper(workerMachine, { fleet: 'main', worker: 'w', atMs: 0 }),
      taskStepper: createStepper(taskMachine, { fleet: 'main', task: 't' }),
    };
    return this.#steppers;
  }
}

/** Ascending, without gaps. The first applies where a log names no version. */
export const releasedRules: readonly RulesVersion[] = [new RulesVersion(1, { workerMachine, taskMachine })];

/** Returns the first and last version, as in `replica.joined`. */
export const rulesRange = (known: readonly RulesVersion[]): readonly [min: number, max: number] => [
  known[0]?.version ?? 1,
  known.at(-1)?.version ?? 1,
];

/** Explains why a log that needs `version` cannot be folded. */
export function describeUnknownRules(version: number, known: readonly RulesVersion[]): string {
  const [min, max] = rulesRange(known);
  const range = min === max ? `version ${min}` : `versions ${min} to ${max}`;
  return `this log needs version ${version} of the rules, and this release knows ${range}; install the release that wrote it, or a later one`;
}
