/**
 * Fleet: the fold of one log. Entries in the log's order, with the log's time, make states and decisions; nothing else
 * does. Equal logs give equal fleets, on every replica, in a replay and in a browser. What happened is read from
 * `outcomes`, which whoever folds empties.
 */
import type { Ask, PolicyInForce } from './attempt.ts';
import { createDeadlines, type Deadline, type Deadlines } from './deadlines.ts';
import type { Decision, HookResult } from './decision.ts';
import type { Entry, OwnFleetEntry } from './entry.ts';
import { resumeEvaluation } from './evaluation.ts';
import { refreshPresence, staleAfterMs } from './facts.ts';
import { foldOwnTask, foldTask } from './fold-task.ts';
import { foldOwnWorker, foldWorker, resumeAttempt, resumeHeldOn } from './fold-worker.ts';
import { builtInPolicy, type PolicySet } from './policy.ts';
import { createStepper, type Stepper } from './step.ts';
import { type TaskSnapshot, taskMachine } from './task.ts';
import { type WorkerSnapshot, workerMachine } from './worker.ts';

export const memberForMs = 30_000;
/** Attempt ids of a worker that are known beyond the log's own window for repeats. */
export const attemptsKnownMax = 256;

/** An entry as the log holds it. `owner`: the replica that took the request for it, if one did. */
export type Stored = { readonly seq: number; readonly atMs: number; readonly entry: Entry; readonly owner?: string | null };

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

export type Outcome =
  | { readonly kind: 'decided'; readonly worker: string; readonly seq: number; readonly decision: Decision }
  | { readonly kind: 'asked'; readonly worker: string; readonly attempt: string; readonly ask: Ask }
  | { readonly kind: 'repeated'; readonly worker: string; readonly attempt: string; readonly seq: number }
  | { readonly kind: 'accepted'; readonly worker: string; readonly attempt: string; readonly replica: string }
  | { readonly kind: 'validated'; readonly task: string; readonly result: HookResult }
  | { readonly kind: 'hookAsked'; readonly task: string; readonly attempt: string; readonly name: string; readonly number: number }
  | { readonly kind: 'refused'; readonly entity: 'worker' | 'task'; readonly id: string; readonly type: string; readonly reason: string }
  | { readonly kind: 'policySet'; readonly seq: number };

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
  readonly scopes: Map<string, { limit: { readonly untilMs: number | null } | null; readonly workers: Set<string> }>;
  readonly replicas: Map<string, number>;
  readonly deadlines: Deadlines;
  policies: PolicySet;
  policySeq: number;
  /** A policy given from outside: `policy.set` entries are then passed over. */
  readonly policyPinned: boolean;
  readonly outcomes: Outcome[];
  readonly stopwatch: () => number;
  readonly worker: Stepper<typeof workerMachine>;
  readonly task: Stepper<typeof taskMachine>;
};

export type FleetOptions = {
  /** Milliseconds on a stopwatch, for `tookMs` alone; without it each guard took 0. */
  readonly stopwatch?: () => number;
  readonly policies?: PolicySet;
};

const noPolicies: PolicySet = { policies: new Map(), assign: [] };
// One of each serves every fleet of this process: they hold no state.
const workers = createStepper(workerMachine, { fleet: 'main', worker: 'w', atMs: 0 });
const tasks = createStepper(taskMachine, { task: 't', queue: null });

export function createFleet(name: string, options: FleetOptions = {}): Fleet {
  return {
    ...{ name, nowMs: 0, seq: 0, policySeq: 0 },
    ...{ workers: new Map(), tasks: new Map(), queues: new Map(), dependents: new Map(), arrivals: new Set() },
    ...{ open: new Set(), held: new Set(), scopes: new Map(), replicas: new Map(), deadlines: createDeadlines() },
    policies: options.policies ?? noPolicies,
    policyPinned: options.policies !== undefined,
    outcomes: [],
    stopwatch: options.stopwatch ?? (() => 0),
    ...{ worker: workers, task: tasks },
  };
}

/** Folds one entry: first what is due up to its time, then the entry itself. A time before the last counts as that one. */
export function foldEntry(fleet: Fleet, { seq, atMs, entry, owner }: Stored): void {
  advanceClock(fleet, atMs);
  fleet.seq = seq;
  switch (entry.area) {
    case 'worker':
      foldWorker(fleet, entry, seq, owner ?? null);
      break;
    case 'task':
      foldTask(fleet, entry, seq);
      break;
    case 'queue':
      queueOf(fleet, entry.id).reported = entry.data.pending;
      fleet.arrivals.add(entry.id);
      break;
    case 'ownWorker':
      foldOwnWorker(fleet, entry);
      break;
    case 'ownTask':
      foldOwnTask(fleet, entry);
      break;
    case 'ownFleet':
      foldOwnFleet(fleet, entry, seq);
      break;
  }
  serveArrivals(fleet);
}

/** Handles every deadline up to `toMs`, each with itself as now, and moves the clock there. */
export function advanceClock(fleet: Fleet, toMs: number): void {
  // Deadlines only ever move to later, so what stands first by its own time is looked at only when that has come.
  while ((fleet.deadlines.peek()?.atMs ?? Number.POSITIVE_INFINITY) <= toMs) {
    const next = nextDeadline(fleet);
    if (next === null || next.atMs > toMs) continue;
    fleet.deadlines.pop();
    fleet.nowMs = Math.max(fleet.nowMs, next.atMs);
    handle(fleet, next);
    serveArrivals(fleet);
  }
  fleet.nowMs = Math.max(fleet.nowMs, toMs);
}

/** The next moment at which something happens by itself, or null. Deadlines that no longer hold are dropped. */
export function nextDeadline(fleet: Fleet): Deadline | null {
  for (;;) {
    const next = fleet.deadlines.peek();
    if (next === undefined) return null;
    const movedTo = holdsStill(fleet, next);
    if (movedTo === next.atMs) return next;
    fleet.deadlines.pop();
    if (movedTo !== null) fleet.deadlines.push({ ...next, atMs: movedTo });
  }
}

/** When a deadline is due by now, seen from the state; null: it no longer is one. */
function holdsStill(fleet: Fleet, deadline: Deadline): number | null {
  const { kind, id, attempt, atMs } = deadline;
  if (kind === 'evaluation') {
    const open = fleet.tasks.get(id)?.snapshot.context.evaluations.find((it) => it.attempt === attempt);
    return open?.asked.deadlineMs === atMs ? atMs : null;
  }
  if (kind === 'limit') return atMs;
  const record = fleet.workers.get(id);
  if (record === undefined) return null;
  if (kind === 'stale') return Math.max(atMs, record.lastSeenMs + staleAfterMs);
  const open = record.snapshot.context.worker.attempt;
  return open?.attempt === attempt && record.wakeMs === atMs ? atMs : null;
}

function handle(fleet: Fleet, { kind, id, attempt }: Deadline): void {
  if (kind === 'evaluation') {
    resumeEvaluation(fleet, id, attempt, null);
    return;
  }
  if (kind === 'limit' && attempt !== '') {
    for (const worker of fleet.scopes.get(attempt)?.workers ?? []) refreshPresenceOf(fleet, worker);
    return;
  }
  const record = fleet.workers.get(id);
  if (record === undefined) return;
  if (kind === 'attempt') {
    resumeAttempt(fleet, id, record);
    return;
  }
  if (kind === 'stale') record.staleArmed = false;
  refreshPresenceOf(fleet, id);
}

function refreshPresenceOf(fleet: Fleet, worker: string): void {
  const record = fleet.workers.get(worker);
  if (record !== undefined) refreshPresence(fleet, record);
}

/** A task that became ready ends the held attempts of its queue. */
function serveArrivals(fleet: Fleet): void {
  for (const queue of fleet.arrivals) {
    fleet.arrivals.delete(queue);
    if (fleet.held.size > 0 && pendingIn(fleet, queue) > 0) resumeHeldOn(fleet, queue);
  }
}

function foldOwnFleet(fleet: Fleet, entry: OwnFleetEntry, seq: number): void {
  switch (entry.type) {
    case 'replica.joined':
      fleet.replicas.set(entry.data.replica, fleet.nowMs);
      break;
    case 'replica.left':
      fleet.replicas.delete(entry.data.replica);
      break;
    case 'policy.set':
      if (fleet.policyPinned) break;
      fleet.policies = entry.data;
      fleet.policySeq = seq;
      fleet.outcomes.push({ kind: 'policySet', seq });
      break;
  }
}

/** The replicas that count as alive, sorted by name. */
export function membersOf(fleet: Fleet): string[] {
  return [...fleet.replicas].filter(([, joinedMs]) => isMember(fleet, joinedMs)).map(([name]) => name).sort();
}

const isMember = (fleet: Fleet, joinedMs: number | undefined) => joinedMs !== undefined && fleet.nowMs - joinedMs < memberForMs;

/**
 * Who acts for an attempt: the replica that took its request, if it is a member, else the member whose hash with the
 * attempt is highest (rendezvous hashing), so that all replicas name the same one. Null: there is no member.
 */
export function ownerFor(fleet: Fleet, key: string, asked: string | null): string | null {
  if (asked !== null && isMember(fleet, fleet.replicas.get(asked))) return asked;
  const members = membersOf(fleet);
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
