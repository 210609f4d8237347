/** Fleet: what has been folded of one log. `fold.ts` changes it, with the files beside it, and nothing else does. */
import { noPolicies, type PolicySet } from '../policy/policy-set.ts';
import { type Rules, releasedRules } from '../rules/rules.ts';
import type { Stepper } from '../step.ts';
import type { taskMachine } from '../task/task.ts';
import type { EscalatedEntity, Unattended } from '../values/escalation.ts';
import { stateSizeMax } from '../values/limits.ts';
import type { State } from '../values/states.ts';
import { type Period, unusedPeriod } from '../values/usage.ts';
import type { workerMachine } from '../worker/worker.ts';
import type { Outcome } from './outcome.ts';
import { ReadyTasks } from './queues/ready-tasks.ts';
import type { PastClaim, StateMove, TaskRecord, WorkerRecord } from './records.ts';
import { SnapshotMap } from './snapshot-map.ts';
import { createDeadlines, type Deadlines } from './time/deadlines.ts';

export type { Forgettable, StateMove, TaskRecord, WorkerRecord } from './records.ts';

/** `owner`: the replica that notifies people of it, as long as it lives. */
export type Escalated = { readonly entity: EscalatedEntity; readonly id: string; readonly owner: string | null };

/** A worker with requests that wait for too long, or a queue that nobody attends. `owner`: as of an escalation. */
export type Neglected = { readonly entity: 'worker' | 'queue'; readonly id: string; readonly owner: string | null };

export type QueueRecord = {
  readonly ready: ReadyTasks;
  /** The number of known tasks that name it, in whatever state. */
  tasks: number;
  reported: number;
  /** From when on its ready tasks wait and nobody alive could take them; null: none waits, or somebody could. */
  aloneMs: number | null;
  /** Set once that has lasted for longer than it may without anybody being notified. */
  unattended: Unattended | null;
};

export type Fleet = {
  readonly name: string;
  /** The log's time, and the last entry that was folded. */
  nowMs: number;
  seq: number;
  readonly workers: SnapshotMap<WorkerRecord>;
  readonly tasks: SnapshotMap<TaskRecord>;
  readonly queues: SnapshotMap<QueueRecord>;
  /** The number of workers that are alive and could take tasks of a queue; a queue without any has no entry. */
  readonly attendants: Map<string, number>;
  /** Claims by a request that were let go of, by worker and request, the newest last. */
  readonly pastClaims: Map<string, PastClaim>;
  /** Queues with a reported depth, the one that was reported last at the end. */
  readonly reports: Set<string>;
  /** Tasks that are not stopped and come after a task. */
  readonly dependents: SnapshotMap<Set<string>>;
  /** Queues in which a task may have become ready in the current step. */
  readonly arrivals: Set<string>;
  /** Workers with an open attempt, and those whose attempt is held. */
  readonly open: Set<string>;
  readonly held: Set<string>;
  /** Tasks with an iteration that waits for a remote hook. */
  readonly evaluating: Set<string>;
  /**
   * The tasks that a decision completed whose entry is not in the log yet, by `attemptMessageId`. A worker may have
   * decided many other attempts by the time that the entry comes. Each task is in it once at most, and leaves it when it
   * is forgotten.
   */
  readonly unplacedDecisions: Map<string, readonly string[]>;
  /** The escalated workers and tasks, by `<entity>/<id>`. */
  readonly escalated: Map<string, Escalated>;
  /** The workers and queues of which people are to be told though nothing is escalated, by `<entity>/<id>`. */
  readonly neglected: Map<string, Neglected>;
  readonly scopes: SnapshotMap<{ limit: { readonly untilMs: number | null } | null; readonly workers: Set<string> }>;
  readonly replicas: Map<string, number>;
  /** The last version of the rules that each member knows, if it announced one. */
  readonly rulesOfReplicas: Map<string, number>;
  readonly deadlines: Deadlines;
  /** The number of them that were left when those that no longer mean anything were last removed. */
  deadlinesKept: number;
  /** When what is stopped is dropped. */
  readonly forgetting: Deadlines;
  /** The size of all workers and tasks that are kept, and the most that it may be (`state-size.ts`). */
  stateSize: number;
  readonly stateSizeMax: number;
  /** The usage of the last day, in UTC, on which anything was used. */
  day: Period;
  policies: PolicySet;
  policySeq: number;
  /** The policies were given from outside: `policy.set` entries are ignored. */
  readonly policyPinned: boolean;
  /** Outcomes of the current step. `fold.ts` returns them, so it is empty between two steps. */
  outcomes: Outcome[];
  /** Whose effects may have changed in the current step, by `actorKey`; empty between two steps, as `outcomes`. */
  touched: Set<string>;
  /** Every verdict of a decision shows the input of its guard, not only that of the guard that decided. */
  showsInputs: boolean;
  /** It is null if nobody watches this fleet. */
  watcher: FleetWatcher | null;
  /** The rules in force. */
  rules: Rules;
  /** The version that an entry has put in force and this release does not know: from there on nothing is folded. */
  unknownRules: number | null;
  readonly rulesKnown: readonly Rules[];
  workerStepper: Stepper<typeof workerMachine>;
  taskStepper: Stepper<typeof taskMachine>;
};

/** Called at each step of a machine, to show the fleet live. */
export type FleetWatcher = {
  worker(worker: string, from: State, to: State, event: string): void;
  task(task: string, from: State, to: State, event: string): void;
  queue(queue: string): void;
};

export type FleetOptions = {
  readonly policies?: PolicySet;
  /** Default: those of this release. */
  readonly rules?: readonly Rules[] | undefined;
  /** Default: false. */
  readonly showsInputs?: boolean | undefined;
  /** Default: the protocol's, which all replicas share. */
  readonly stateSizeMax?: number | undefined;
};

/** The key of a worker, task or queue, as in `Fleet.escalated`. */
export const actorKey = (entity: EscalatedEntity | 'queue', id: string): string => `${entity}/${id}`;
/** The key of the fleet itself, whose effect is the next timer. */
export const fleetKey = 'fleet';

/** Puts a version in force. One that this release does not know ends the fold. */
export function setRules(fleet: Fleet, version: number): void {
  const rules = fleet.rulesKnown.find((it) => it.version === version);
  if (rules === undefined) fleet.unknownRules = version;
  else Object.assign(fleet, { rules, unknownRules: null }, rules.steppers);
}

export function createFleet(name: string, options: FleetOptions = {}): Fleet {
  const rulesKnown = options.rules ?? releasedRules;
  const [rules] = rulesKnown as [Rules];
  return {
    name,
    nowMs: 0,
    seq: 0,
    policySeq: 0,
    stateSize: 0,
    stateSizeMax: options.stateSizeMax ?? stateSizeMax,
    workers: new SnapshotMap<WorkerRecord>((it) => ({ ...it, known: it.known === null ? null : [...it.known] })),
    tasks: new SnapshotMap<TaskRecord>((it) => ({ ...it })),
    queues: new SnapshotMap((it) => ({ ...it, ready: new ReadyTasks(it.ready) })),
    dependents: new SnapshotMap<Set<string>>((it) => new Set(it)),
    scopes: new SnapshotMap((it) => ({ ...it, workers: new Set(it.workers) })),
    reports: new Set(),
    arrivals: new Set(),
    open: new Set(),
    held: new Set(),
    evaluating: new Set(),
    unplacedDecisions: new Map(),
    pastClaims: new Map(),
    escalated: new Map(),
    neglected: new Map(),
    attendants: new Map(),
    replicas: new Map(),
    rulesOfReplicas: new Map(),
    deadlines: createDeadlines(),
    deadlinesKept: 0,
    forgetting: createDeadlines(),
    day: unusedPeriod,
    policies: options.policies ?? noPolicies,
    policyPinned: options.policies !== undefined,
    outcomes: [],
    touched: new Set(),
    showsInputs: options.showsInputs ?? false,
    watcher: null,
    rules,
    rulesKnown,
    // A log that names no version is of the first.
    unknownRules: rules.version === 1 ? null : 1,
    ...rules.steppers,
  };
}

/** A fleet that is independent from here. Snapshots are shared, since they are never changed. */
export function copyFleet(fleet: Fleet): Fleet {
  return {
    ...fleet,
    workers: fleet.workers.copy(),
    tasks: fleet.tasks.copy(),
    queues: fleet.queues.copy(),
    dependents: fleet.dependents.copy(),
    scopes: fleet.scopes.copy(),
    reports: new Set(fleet.reports),
    arrivals: new Set(fleet.arrivals),
    open: new Set(fleet.open),
    held: new Set(fleet.held),
    evaluating: new Set(fleet.evaluating),
    unplacedDecisions: new Map(fleet.unplacedDecisions),
    pastClaims: new Map(fleet.pastClaims),
    escalated: new Map(fleet.escalated),
    neglected: new Map(fleet.neglected),
    attendants: new Map(fleet.attendants),
    replicas: new Map(fleet.replicas),
    rulesOfReplicas: new Map(fleet.rulesOfReplicas),
    deadlines: fleet.deadlines.copy(),
    forgetting: fleet.forgetting.copy(),
    outcomes: [],
    touched: new Set(),
    watcher: null,
  };
}

/** Place and time of an event that the fold makes from an entry, or when its clock moves. */
export const placeOf = ({ seq, nowMs }: Fleet) => ({ seq, atMs: nowMs });

export const moveOf = ({ nowMs: atMs }: Fleet, from: State, to: State, event: string): StateMove => ({
  from,
  to,
  event,
  atMs,
});

export function queueOf(fleet: Fleet, name: string) {
  const known = fleet.queues.get(name);
  if (known !== undefined) return known;
  const queue: QueueRecord = { ready: new ReadyTasks(), tasks: 0, reported: 0, aloneMs: null, unattended: null };
  fleet.queues.set(name, queue);
  return queue;
}

/** Unclaimed tasks that are ready, and those that were reported from elsewhere. */
export function pendingIn(fleet: Fleet, name: string): number {
  const queue = fleet.queues.read(name);
  return queue === undefined ? 0 : queue.ready.size + queue.reported;
}
