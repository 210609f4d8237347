/** Fleet: what has been folded of one log, and what can be asked of it. `fold.ts` changes it, and nothing else does. */

import type { PendingCheck, PolicyInForce } from '../guards/attempt.ts';
import type { Decision, HookResult } from '../guards/decision.ts';
import type { HookRun } from '../guards/task-hooks/hook.ts';
import { builtInPolicy } from '../policy/policy.ts';
import type { PolicySet } from '../policy/policy-set.ts';
import { createStepper, type Stepper } from '../step.ts';
import { type TaskSnapshot, taskMachine } from '../task/task.ts';
import type { EscalatedEntity } from '../values/escalation.ts';
import type { State } from '../values/states.ts';
import { type WorkerSnapshot, workerMachine } from '../worker/worker.ts';
import { createDeadlines, type Deadlines } from './deadlines.ts';

export const memberForMs = 30_000;
/** Attempt ids of a worker that are known beyond the log's own window for repeats. */
export const attemptsKnownMax = 256;

/** `decidedSeq`: where its `decision` entry stands; null: not there yet. */
export type KnownAttempt = { readonly seq: number; readonly atMs: number; decidedSeq: number | null };

export type WorkerRecord = {
  snapshot: WorkerSnapshot;
  /** Its last entry of its own. */
  lastSeenMs: number;
  staleArmed: boolean;
  /** When its open attempt is next looked at; null: no deadline. */
  wakeMs: number | null;
  owner: string | null;
  accepted: boolean;
  known: Map<string, KnownAttempt> | null;
};
export type TaskRecord = { snapshot: TaskSnapshot };
/** `owner`: the replica that tells people of it, as long as it lives. */
export type Escalated = { readonly entity: EscalatedEntity; readonly id: string; readonly owner: string | null };

export type Outcome =
  | { readonly kind: 'decided'; readonly decision: Decision }
  | { readonly kind: 'checkPending'; readonly worker: string; readonly attempt: string; readonly check: PendingCheck }
  | { readonly kind: 'repeated'; readonly worker: string; readonly attempt: string }
  | { readonly kind: 'accepted'; readonly worker: string; readonly attempt: string; readonly replica: string }
  /** `attempt` is the entry's own, or `seq-<seq>`. */
  | { readonly kind: 'validated'; readonly task: string; readonly attempt: string; readonly result: HookResult }
  /** An `iteration.validated` waits for the answer of a remote hook. */
  | { readonly kind: 'hookPending'; readonly task: string; readonly attempt: string }
  | { readonly kind: 'hooksEvaluated'; readonly task: string; readonly runs: readonly HookRun[] }
  /** The task went back to its queue, since its worker has been stale for too long. */
  | { readonly kind: 'handedBack'; readonly task: string; readonly worker: string }
  /** It began, was acknowledged, told of, or ended. */
  | { readonly kind: 'escalation'; readonly entity: EscalatedEntity; readonly id: string }
  | {
      readonly kind: 'refused';
      readonly entity: 'worker' | 'task';
      readonly id: string;
      readonly type: string;
      readonly reason: string;
    };

export type Fleet = {
  readonly name: string;
  /** The log's time, and the last entry that was folded. */
  nowMs: number;
  seq: number;
  readonly workers: Map<string, WorkerRecord>;
  readonly tasks: Map<string, TaskRecord>;
  readonly queues: Map<string, { readonly ready: Set<string>; reported: number }>;
  /** Tasks that wait for a task. */
  readonly dependents: Map<string, Set<string>>;
  /** Queues in which a task may have become ready in this step. */
  readonly arrivals: Set<string>;
  /** Workers with an open attempt; those that are held. */
  readonly open: Set<string>;
  readonly held: Set<string>;
  /** Tasks with an iteration that waits for a remote hook. */
  readonly evaluating: Set<string>;
  /** Those of them whose hooks were changed in this step: what they wait for may be asked no more. */
  readonly rehooked: Set<string>;
  /** Who is escalated, by `<entity>/<id>`. */
  readonly escalated: Map<string, Escalated>;
  readonly scopes: Map<string, { limit: { readonly untilMs: number | null } | null; readonly workers: Set<string> }>;
  readonly replicas: Map<string, number>;
  readonly deadlines: Deadlines;
  policies: PolicySet;
  policySeq: number;
  /** A policy given from outside: `policy.set` entries are then passed over. */
  readonly policyPinned: boolean;
  /** What has happened in the step that is being taken: `fold.ts` returns it, so between two steps it is empty. */
  outcomes: Outcome[];
  /** Null: nobody looks. */
  watcher: FleetWatcher | null;
  readonly stopwatch: () => number;
  readonly worker: Stepper<typeof workerMachine>;
  readonly task: Stepper<typeof taskMachine>;
};

/** Told of each step of a machine, for whoever shows the fleet live. */
export type FleetWatcher = {
  worker(worker: string, from: State, to: State, event: string): void;
  task(task: string, from: State, to: State, event: string): void;
  queue(queue: string): void;
};

export type FleetOptions = {
  /** Milliseconds on a stopwatch, for `tookMs` alone; without it each guard took 0. */
  readonly stopwatch?: () => number;
  readonly policies?: PolicySet;
};

const noPolicies: PolicySet = { policies: new Map(), assign: [], releaseAfterMs: null };
// One of each serves every fleet of this process: they hold no state.
const workers = createStepper(workerMachine, { fleet: 'main', worker: 'w', atMs: 0 });
const tasks = createStepper(taskMachine, { task: 't', queue: null });

export function createFleet(name: string, options: FleetOptions = {}): Fleet {
  return {
    ...{ name, nowMs: 0, seq: 0, policySeq: 0 },
    ...{ workers: new Map(), tasks: new Map(), queues: new Map(), dependents: new Map(), arrivals: new Set() },
    ...{
      open: new Set(),
      held: new Set(),
      evaluating: new Set(),
      rehooked: new Set(),
      escalated: new Map(),
      scopes: new Map(),
      replicas: new Map(),
      deadlines: createDeadlines(),
    },
    policies: options.policies ?? noPolicies,
    policyPinned: options.policies !== undefined,
    outcomes: [],
    watcher: null,
    stopwatch: options.stopwatch ?? (() => 0),
    ...{ worker: workers, task: tasks },
  };
}

/**
 * A fleet that goes its own way from here. Snapshots are shared, since nobody changes one; so is what is known of an
 * attempt, which only a host changes, and of the live fleet alone.
 */
export function copyFleet(fleet: Fleet): Fleet {
  const copied = <Value>(map: ReadonlyMap<string, Value>, copy: (value: Value) => Value) =>
    new Map([...map].map(([key, value]) => [key, copy(value)] as const));
  return {
    ...fleet,
    workers: copied(fleet.workers, (it) => ({
      ...it,
      known: it.known === null ? null : new Map(it.known),
    })),
    tasks: copied(fleet.tasks, (it) => ({ ...it })),
    queues: copied(fleet.queues, (it) => ({ ...it, ready: new Set(it.ready) })),
    dependents: copied(fleet.dependents, (it) => new Set(it)),
    scopes: copied(fleet.scopes, (it) => ({ ...it, workers: new Set(it.workers) })),
    ...{ arrivals: new Set(fleet.arrivals), open: new Set(fleet.open), held: new Set(fleet.held) },
    ...{ evaluating: new Set(fleet.evaluating), rehooked: new Set(fleet.rehooked) },
    ...{ escalated: new Map(fleet.escalated), replicas: new Map(fleet.replicas) },
    deadlines: fleet.deadlines.copy(),
    outcomes: [],
    watcher: null,
  };
}

/** The replicas that count as alive, sorted by name. */
export function membersOf(fleet: Fleet): string[] {
  return [...fleet.replicas]
    .filter(([, joinedMs]) => isMember(fleet, joinedMs))
    .map(([name]) => name)
    .sort();
}

const isMember = (fleet: Fleet, joinedMs: number | undefined) =>
  joinedMs !== undefined && fleet.nowMs - joinedMs < memberForMs;

/** Keeps the index of who is escalated; to be called at each change. `asked`: the replica that is at it already. */
export function trackEscalation(
  fleet: Fleet,
  entity: EscalatedEntity,
  id: string,
  isEscalated: boolean,
  asked: string | null,
): void {
  const key = `${entity}/${id}`;
  if (!isEscalated) fleet.escalated.delete(key);
  else if (!fleet.escalated.has(key)) fleet.escalated.set(key, { entity, id, owner: ownerFor(fleet, key, asked) });
  fleet.outcomes.push({ kind: 'escalation', entity, id });
}

const none: ReadonlySet<string> = new Set();

/**
 * Who acts for an attempt: the replica that took its request, if it is a member, else the member whose hash with the
 * attempt is highest (rendezvous hashing), so that all replicas name the same one. Null: there is no member.
 * @param gone members that are known to live no more
 */
export function ownerFor(fleet: Fleet, key: string, asked: string | null, gone = none): string | null {
  if (asked !== null && !gone.has(asked) && isMember(fleet, fleet.replicas.get(asked))) return asked;
  const members = membersOf(fleet).filter((member) => !gone.has(member));
  let owner: string | null = null;
  let highest = -1;
  for (const member of members) {
    const weight = hashOf(`${member} ${key}`);
    if (weight > highest) [owner, highest] = [member, weight];
  }
  return owner;
}

/** FNV-1a, mixed once more, since short keys that differ at the end would else stay in order. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index += 1) hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  return (hash ^ (hash >>> 13)) >>> 0;
}

export function policyNamed(fleet: Fleet, name: string): Omit<PolicyInForce, 'notes'> | null {
  const policy = fleet.policies.policies.get(name);
  if (policy !== undefined) return { name, seq: fleet.policySeq, policy };
  return name === 'default' ? { name, seq: 0, policy: builtInPolicy } : null;
}

export function queueOf(fleet: Fleet, name: string) {
  const known = fleet.queues.get(name);
  if (known !== undefined) return known;
  const queue = { ready: new Set<string>(), reported: 0 };
  fleet.queues.set(name, queue);
  return queue;
}

/** Unclaimed tasks that are ready, and those that were reported from elsewhere. */
export function pendingIn(fleet: Fleet, name: string): number {
  const queue = fleet.queues.get(name);
  return queue === undefined ? 0 : queue.ready.size + queue.reported;
}
