/** The folded state of one log. Only `fold.ts` and the other files of this folder change it. */
import { emptyPolicySet, type PolicySet } from '../policy/policy-set.ts';
import { type RulesVersion, releasedRules } from '../rules/rules.ts';
import type { Stepper } from '../step.ts';
import type { taskMachine } from '../task/task.ts';
import type { EscalatedEntity, Unattended } from '../values/escalation.ts';
import { stateSizeMax } from '../values/limits.ts';
import type { State } from '../values/states.ts';
import { type Period, unusedPeriod } from '../values/usage.ts';
import type { workerMachine } from '../worker/worker.ts';
import type { FoldOutcome } from './outcome.ts';
import { ReadyTasks } from './queues/ready-tasks.ts';
import type { PastClaim, StateMove, TaskRecord, WorkerRecord } from './records.ts';
import { SnapshotMap } from './snapshot-map.ts';
import { createDeadlines, type Deadlines } from './time/deadlines.ts';

export type { StateMove, TaskRecord, WorkerRecord } from './records.ts';

/** `owner`: the replica that notifies people, as long as it is a member. */
export type Escalated = { readonly entity: EscalatedEntity; readonly id: string; readonly owner: string | null };

/** A worker with overdue requests, or an unattended queue. `owner`: the replica that notifies people. */
export type Neglected = { readonly entity: 'worker' | 'queue'; readonly id: string; readonly owner: string | null };

export type QueueRecord = {
  readonly ready: ReadyTasks;
  /** The number of known tasks in this queue, in any state. */
  tasks: number;
  reported: number;
  /** Since when ready tasks have waited while no active worker could take them; null otherwise. */
  aloneMs: number | null;
  /** Set once that has lasted long enough to notify people. */
  unattended: Unattended | null;
};

export type Fleet = {
  readonly name: string;
  /** The log's time. */
  nowMs: number;
  /** The sequence number of the last folded entry. */
  seq: number;
  readonly workers: SnapshotMap<WorkerRecord>;
  readonly tasks: SnapshotMap<TaskRecord>;
  readonly queues: SnapshotMap<QueueRecord>;
  /** The number of active workers that could take tasks of each queue. Queues without any are absent. */
  readonly attendants: Map<string, number>;
  /** Released claims of `claim-next` requests, by worker and request, newest last. */
  readonly pastClaims: Map<string, PastClaim>;
  /** Queues with a reported depth, the most recently reported last. */
  readonly reports: Set<string>;
  /** For each task, the unstopped tasks that name it in `after`. */
  readonly dependents: SnapshotMap<Set<string>>;
  /** Queues in which a task may have become ready in the current step. */
  readonly arrivals: Set<string>;
  /** Workers with an open attempt, and workers whose open attempt is held. */
  readonly open: Set<string>;
  readonly held: Set<string>;
  /** Tasks with an evaluation that waits for a remote hook. */
  readonly evaluating: Set<string>;
  /**
   * Tasks completed by decisions whose `decision` entry is not in the log yet, by `attemptMessageId`. Many more
   * attempts of the worker may be decided before that entry arrives. Bounded: each task appears at most once, and is
   * removed when it is forgotten.
   */
  readonly unplacedDecisions: Map<string, readonly string[]>;
  /** The escalated workers and tasks, by `<entity>/<id>`. */
  readonly escalated: Map<string, Escalated>;
  /** The workers and queues that need a person though nothing is escalated, by `<entity>/<id>`. */
  readonly neglected: Map<string, Neglected>;
  readonly scopes: SnapshotMap<{ limit: { readonly untilMs: number | null } | null; readonly workers: Set<string> }>;
  readonly replicas: Map<string, number>;
  /** The newest rules version that each member knows, if it announced one. */
  readonly rulesOfReplicas: Map<string, number>;
  readonly deadlines: Deadlines;
  /** The number of deadlines that were left after the last sweep (`sweepDeadlines`). */
  deadlinesKept: number;
  /** When stopped workers and tasks are forgotten. */
  readonly forgetting: Deadlines;
  /** The total size of all workers and tasks, and its limit (`state-size.ts`). */
  stateSize: number;
  readonly stateSizeMax: number;
  /** The usage of the last UTC day on which any was reported. */
  day: Period;
  policies: PolicySet;
  policySeq: number;
  /** True if the policies were given by the caller; then `policy.set` entries are ignored. */
  readonly policyPinned: boolean;
  /** Outcomes of the current step. `fold.ts` returns them, so the list is empty between steps. */
  outcomes: FoldOutcome[];
  /** Actors whose effects may have changed in the current step, by `actorKey`. Empty between steps, like `outcomes`. */
  touched: Set<string>;
  /** If set, every verdict of a decision shows the input of its guard, not only that of the deciding guard. */
  showsInputs: boolean;
  /** Null if nobody watches this fleet. */
  watcher: FleetWatcher | null;
  /** The rules in force. */
  rules: RulesVersion;
  /** Set when an entry put a version in force that this release does not know. Nothing is folded after that entry. */
  unknownRules: number | null;
  readonly rulesKnown: readonly RulesVersion[];
  workerStepper: Stepper<typeof workerMachine>;
  taskStepper: Stepper<typeof taskMachine>;
};

/** Called at each step of a machine, for live views. */
export type FleetWatcher = {
  worker(worker: string, from: State, to: State, event: string): void;
  task(task: string, from: State, to: State, event: string): void;
  queue(queue: string): void;
};

export type FleetOptions = {
  readonly policies?: PolicySet | undefined;
  /** Default: all rules of this release. */
  readonly rules?: readonly RulesVersion[] | undefined;
  /** Default: false. */
  readonly showsInputs?: boolean | undefined;
  /** Default: the protocol's limit, which all replicas must share. */
  readonly stateSizeMax?: number | undefined;
};

/** Returns the key of a worker, task or queue: `<entity>/<id>`. */
export const actorKey = (entity: EscalatedEntity | 'queue', id: string): string => `${entity}/${id}`;
/** The key of the fleet itself, whose effect is the next timer. */
export const fleetKey = 'fleet';

/** Puts a version in force. A version that this release does not know ends the fold. */
export function setRules(fleet: Fleet, version: number): void {
  const rules = fleet.rulesKnown.find((rules) => rules.version === version);
  if (rules === undefined) fleet.unknownRules = version;
  else Object.assign(fleet, { rules, unknownRules: null }, rules.steppers);
}

export function createFleet(name: string, options: FleetOptions = {}): Fleet {
  const rulesKnown = options.rules ?? releasedRules;
  const [rules] = rulesKnown as [RulesVersion];
  return {
    name,
    nowMs: 0,
    seq: 0,
    policySeq: 0,
    stateSize: 0,
    stateSizeMax: options.stateSizeMax ?? stateSizeMax,
    workers: new SnapshotMap<WorkerRecord>((record) => ({
      ...record,
      known: record.known === null ? null : [...record.known],
    })),
    tasks: new SnapshotMap<TaskRecord>((record) => ({ ...record })),
    queues: new SnapshotMap((queue) => ({ ...queue, ready: new ReadyTasks(queue.ready) })),
    dependents: new SnapshotMap<Set<string>>((tasks) => new Set(tasks)),
    scopes: new SnapshotMap((scope) => ({ ...scope, workers: new Set(scope.workers) })),
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
    policies: options.policies ?? emptyPolicySet,
    policyPinned: options.policies !== undefined,
    outcomes: [],
    touched: new Set(),
    showsInputs: options.showsInputs ?? false,
    watcher: null,
    rules,
    rulesKnown,
    // A log that names no version follows the first one.
    unknownRules: rules.version === 1 ? null : 1,
    ...rules.steppers,
  };
}

/** Returns an independent copy. Snapshots of actors are shared, because they are immutable. */
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

/** The position and time of events that the fold derives from the current entry or deadline. */
export const positionOf = ({ seq, nowMs }: Fleet) => ({ seq, atMs: nowMs });

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

/** Counts the ready unclaimed tasks of a queue plus its reported depth. */
export function pendingIn(fleet: Fleet, name: string): number {
  const queue = fleet.queues.read(name);
  return queue === undefined ? 0 : queue.ready.size + queue.reported;
}
