/** Views of one actor and of the service: reads of the folded state, cut to fit into one message (protocol.md §2). */

import { z } from 'zod';
import {
  type Check,
  checkpointOf,
  cutMiddle,
  type EffectfulCheck,
  type Fleet,
  formatIsoTime,
  idSchema,
  type PromiseName,
  policyInForce,
  type QueueView,
  type TaskDetail,
  type TaskView,
  viewQueue,
  viewTask,
  viewWorker,
  type WorkerView,
} from '../../machines/index.ts';
import { AppError, type ErrorCode } from '../errors.ts';
import type { Host } from '../host/host.ts';
import type { RunnerSearch } from '../nats/bus.ts';
import { checkId, parseInput } from './parse-input.ts';
import { throwIfRefused } from './refusal.ts';

/** Actors as requests name and show them: workers, tasks and queues, as the fold has them now. */
export type Entity = 'worker' | 'task' | 'queue';
export const entities: readonly Entity[] = ['worker', 'task', 'queue'];
export type View = WorkerView | TaskView | QueueView;

/** Returns null if the actor is unknown. */
export function viewActor(host: Host, entity: Entity, id: string): View | null {
  const { fleet } = host;
  if (entity === 'worker') return viewWorkerOf(host, id);
  return entity === 'task' ? viewTask(fleet, id) : viewQueue(fleet, id);
}

/** Makes a worker's view, with the reply of its pending check if there is one. */
export function viewWorkerOf({ fleet, logNow, pendingReply }: WorkerSource, worker: string): WorkerView | null {
  const reply = pendingReply(worker);
  if (reply === null) return viewWorker(fleet, worker, logNow());
  const { check, reason, askedAgainMs } = reply;
  return viewWorker(fleet, worker, logNow(), { check, reason, askedAgainAt: formatIsoTime(askedAgainMs) });
}
type WorkerSource = Pick<Host, 'fleet' | 'logNow' | 'pendingReply'>;

/** @throws AppError actor.unknown */
export function findActor(host: Host, entity: Entity, id: string): View {
  const view = viewActor(host, entity, id);
  if (view !== null) return view;
  throw new AppError('actor.unknown', `${entity} ${id} is unknown in fleet ${host.fleet.name}`);
}

// Cuts a view that would not fit into a message: agents choose how much there is of nearly everything in it, and a reply
// that is too large would be an error for whoever asks. `get` and `list` say in `cut` which fields are not whole.

/** Texts of so few characters are left whole: ids (of 128 at most), states, times. */
const shortMax = 128;

/** @returns the view itself if it takes no more than `bytesMax` as JSON; else the largest of its fields are cut */
export function fitView<It extends object>(bytesMax: number, view: It): It & { readonly cut?: readonly string[] } {
  if (bytesOf(view) <= bytesMax) return view;
  const fitted = cutFields(bytesMax, view) as It;
  const cut = Object.keys(view).filter((key) => fitted[key as keyof It] !== view[key as keyof It]);
  return { ...fitted, cut };
}

// Views are made of what the fold has taken, so they nest to a depth that is bounded (protocol.md §2).
function cutTo(bytesMax: number, value: unknown): unknown {
  const bytes = bytesOf(value);
  if (bytes <= bytesMax) return value;
  if (typeof value === 'string') {
    const { length } = [...value];
    return length <= shortMax ? value : cutMiddle(value, Math.max(shortMax, Math.floor((length * bytesMax) / bytes)));
  }
  if (Array.isArray(value)) return cutItems(bytesMax, value);
  return typeof value === 'object' && value !== null ? cutFields(bytesMax, value) : value;
}

/** Each as much as the others; where that is not enough, the last are left out. */
function cutItems(bytesMax: number, items: readonly unknown[]): unknown[] {
  const each = Math.max(2 * shortMax, Math.floor(bytesMax / items.length));
  return whileTheyFit(bytesMax, items, (item) => cutTo(each, item));
}

/** No field is larger than those that are cut may be; where that is not enough, the last are left out. */
function cutFields(bytesMax: number, value: object): object {
  const fields = Object.entries(value).filter(([, field]) => field !== undefined);
  const each = levelOf(
    bytesMax,
    fields.map((field) => bytesOf(field)),
  );
  return Object.fromEntries(whileTheyFit(bytesMax, fields, ([key, field]) => [key, cutTo(each, field)] as const));
}

function whileTheyFit<Item, Cut>(bytesMax: number, items: readonly Item[], cut: (item: Item) => Cut): Cut[] {
  const kept: Cut[] = [];
  let left = bytesMax;
  for (const item of items) {
    const made = cut(item);
    left -= bytesOf(made) + 1;
    if (left >= 0) kept.push(made);
  }
  return kept;
}

/** Returns how large the largest may be, so that all of them take no more than nine tenths of `bytesMax`. */
function levelOf(bytesMax: number, sizes: readonly number[]): number {
  let left = 0.9 * bytesMax;
  const ascending = sizes.toSorted((one, other) => one - other);
  for (const [index, size] of ascending.entries()) {
    const share = left / (ascending.length - index);
    if (size > share) return Math.floor(share);
    left -= size;
  }
  return bytesMax;
}

const bytesOf = (value: unknown): number => Buffer.byteLength(JSON.stringify(value) ?? '');

// get: one actor, as the fold sees it now. A read sees everything that was stored before it was asked.

/** A message takes 1 MiB, unless the server is set otherwise. */
const viewBytesMax = 786_432;
/** `completionPromises`: those that count in the current iteration. Null: all, or there is no iteration. */
export type TaskDetailView = TaskDetail & { readonly completionPromises: readonly PromiseName[] | null };
export const detailSchema = z.object({ checkpoint: idSchema.optional(), entry: z.int().positive().optional() });
/** The reply to a question about one entry: it was not refused. */
export type EntryStanding = { readonly entry: number; readonly refused: null };

/**
 * `body`: `{ checkpoint? }` of a task, the one to show whole; by default the last. Or `{ entry }`: was this entry about
 * the actor refused? @throws AppError actor.unknown; entry.refused
 */
export async function get(
  host: Host,
  entity: Entity,
  id: string,
  body: unknown,
): Promise<View | TaskDetailView | EntryStanding> {
  checkId(entity, id);
  const { checkpoint, entry } = parseInput(detailSchema, body ?? {});
  await host.caughtUp();
  if (entry !== undefined) {
    throwIfEntryRefused(host, { entity, id }, entry);
    return { entry, refused: null };
  }
  const view = findActor(host, entity, id);
  if (!('hooks' in view)) return fitView(viewBytesMax, view);
  const { iteration } = host.fleet.tasks.get(id)?.snapshot.context ?? {};
  return fitView(viewBytesMax, {
    ...view,
    completionPromises: iteration?.completionPromises ?? null,
    checkpoint: findCheckpoint(host.fleet, id, checkpoint ?? null),
  });
}

/**
 * @param seq of an entry about this actor that is folded
 * @throws AppError entry.refused: the fold refused it
 */
export function throwIfEntryRefused(
  host: Host,
  { entity, id }: { readonly entity: Entity; readonly id: string },
  seq: number,
): void {
  const reason = host.refusal(seq, entity, id);
  if (reason !== null) throw new AppError('entry.refused', reason);
  // This replica may have begun at a snapshot behind the entry.
  throwIfRefused((viewActor(host, entity, id) ?? {}) as Partial<WorkerView>, seq);
}

/** The worker as this replica has folded it, at least up to `seq`. Null: unknown. */
export async function peek(host: Host, worker: string, seq: number): Promise<WorkerView | null> {
  checkId('worker', worker);
  await host.foldedTo(seq);
  return viewWorkerOf(host, worker);
}

/** @throws AppError actor.unknown: none of that name was saved */
function findCheckpoint(fleet: Fleet, task: string, checkpoint: string | null) {
  const saved = checkpointOf(fleet, task, checkpoint);
  if (saved !== null || checkpoint === null) return saved;
  throw new AppError('actor.unknown', `task ${task} has no checkpoint ${checkpoint}`);
}

/** status: can this replica answer, and how much does it hold? */
export type ServiceStatus = {
  /** False: requests get 503, `reason` says why. */
  readonly ready: boolean;
  readonly reason: string | null;
  /** `log.lost` needs a person; `log.unavailable` may pass. */
  readonly code: ErrorCode | null;
  readonly foldedSeq: number;
  /** The number of entries of the log that are not folded yet, as far as this replica has heard of it. */
  readonly lag: number;
  readonly workers: number;
  readonly openAttempts: number;
  /** Workers with an overdue request, and unattended queues (protocol.md §8). */
  readonly neglected: number;
  /** The share of the room for workers and tasks that is used: 1 is all. */
  readonly stateShare: number;
};

export function statusOf(host: Host): ServiceStatus {
  const fault = host.fault();
  return {
    ready: fault === null,
    reason: fault?.message ?? null,
    code: fault?.code ?? null,
    foldedSeq: host.foldedSeq(),
    lag: host.lastSeq() - host.foldedSeq(),
    workers: host.fleet.workers.size,
    openAttempts: host.fleet.open.size,
    neglected: host.fleet.neglected.size,
    stateShare: host.fleet.stateSize / host.fleet.stateSizeMax,
  };
}

/** missingRunners: which runners do the policies name that nobody serves? */
export async function missingRunners(host: Host, search: RunnerSearch): Promise<readonly string[]> {
  return (await search(runnersOf(host.fleet))) ?? [];
}

/** All runners that policies name, sorted. */
export function runnersOf({ policies }: Pick<Fleet, 'policies'>): readonly string[] {
  const names = [...policies.policies.values()].flatMap(({ runner, runners }) =>
    runner === null ? runners : [runner],
  );
  return [...new Set(names)].sort();
}

/** sessionPolicy: which policy will the next session of an agent get, and what does it check? Nothing is stored. */
export type SessionPolicy = {
  readonly name: string;
  /** All checks, members of groups among them. */
  readonly checks: readonly Check[];
  /**
   * The runners of checks that look into a folder; empty: the service runs them. If there are several, the worker's
   * label names one.
   */
  readonly runners: readonly string[];
};

/** `policy`: what its hooks name; null: none. Labels and single workers that `assign` names are not known before. */
export function sessionPolicy({ fleet }: Host, agent: string, policy: string | null): SessionPolicy {
  const session = { worker: '', agent, labels: {}, policy, profile: null, tasks: [] };
  const found = policyInForce(fleet, session);
  const { runner, runners, checks } = found.policy;
  return { name: found.name, checks: flatten(checks), runners: runner === null ? runners : [runner] };
}

/** judging: what judges the work of a worker, beyond what its view says. */
export type Judging = {
  /**
   * The names of its policy's checks that look at the work itself (`files`, `git`, `command`, `remote`), members of groups
   * among them. The others judge what the agent has reported.
   */
  readonly inspecting: ReadonlySet<string>;
  /** A hook of a task that it holds is enabled. */
  readonly hasHooks: boolean;
};

export function judgingOf(fleet: Fleet, worker: string): Judging {
  const context = fleet.workers.read(worker)?.snapshot.context.worker;
  if (context === undefined) return { inspecting: new Set(), hasHooks: false };
  const { checks } = policyInForce(fleet, context).policy;
  const inspecting = flatten(checks).filter(({ kind }) => inspectingKinds.has(kind));
  const hasHooks = context.tasks.some((task) =>
    fleet.tasks.get(task)?.snapshot.context.hooks.some(({ enabled }) => enabled),
  );
  return { inspecting: new Set(inspecting.map(({ name }) => name)), hasHooks };
}

const inspectingKinds: ReadonlySet<string> = new Set<EffectfulCheck['kind']>(['files', 'git', 'command', 'remote']);

const flatten = (checks: readonly Check[]): readonly Check[] =>
  checks.flatMap((check) => (check.kind === 'all' || check.kind === 'any' ? flatten(check.of) : [check]));
