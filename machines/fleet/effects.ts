/**
 * Effects: what the state asks of the replicas, read from the state alone. An effect is asked for until an entry answers
 * it, and `key` is the message id of that entry, so that it is stored once, whoever performs it. A new kind of effect is
 * a function here that reads it from a worker, a task or the fleet, and a performer in the host.
 */
import { checkMessageId, hookMessageId, notifiedMessageId, timerMessageId } from '../entries/message-ids.ts';
import type { PendingCheck } from '../guards/attempt.ts';
import type { Evaluation } from '../task/records.ts';
import { type EscalatedEntity, type Escalation, nextDelivery, type TaskEscalation } from '../values/escalation.ts';
import { parseIsoTime } from '../values/time.ts';
import type { WorkerContext } from '../worker/context.ts';
import type { Deadline } from './deadlines.ts';
import { nextDeadline } from './due-time.ts';
import { actorKey, type Fleet, fleetKey, type TaskRecord, type WorkerRecord } from './fleet.ts';
import { ownerFor } from './owner.ts';

type EffectOf<Kind extends string, Data> = {
  /** The message id of the entry that answers it; of a timer, without the count of the tries. */
  readonly key: string;
  readonly kind: Kind;
  /** The key of the worker or task that asks for it, or `fleetKey`. */
  readonly actor: string;
  /** The replica whose turn it is; null: there is no member, so each may act. */
  readonly owner: string | null;
  /** From when on a replica may perform it, in the log's time; 0: at once. */
  readonly dueMs: number;
  readonly data: Data;
};

/** A check, or a remote hook of a held task, that an open attempt waits for. */
export type CheckEffect = EffectOf<
  'check',
  { readonly worker: WorkerContext; readonly attempt: string; readonly check: PendingCheck }
>;
/** A remote hook that an `iteration.validated` waits for. */
export type HookEffect = EffectOf<'hook', { readonly task: string; readonly evaluation: Evaluation }>;
/** People are to be told of an escalation: that it began, or, where `notified` is above 0, that it still stands. */
export type NoticeEffect = EffectOf<
  'notice',
  {
    readonly entity: EscalatedEntity;
    readonly id: string;
    readonly escalation: Escalation;
    readonly delivery: string;
  }
>;
/** The first deadline of all: if no other entry moves the log's clock to it, a replica appends `timer.fired`. */
export type TimerEffect = EffectOf<'timer', Deadline>;

export type Effect = CheckEffect | HookEffect | NoticeEffect | TimerEffect;

/** The effects that these actors ask for now. `actors`: keys of workers and tasks (`actorKey`), and `fleetKey`. */
export function effectsOf(fleet: Fleet, actors: Iterable<string>): Effect[] {
  const effects: Effect[] = [];
  for (const actor of actors) {
    if (actor === fleetKey) effects.push(...timerOf(fleet));
    else if (actor.startsWith('worker/')) addWorkerEffects(effects, fleet, actor, actor.slice('worker/'.length));
    else addTaskEffects(effects, fleet, actor, actor.slice('task/'.length));
  }
  return effects;
}

/** Whether the effect is still asked for: no entry has answered it, and nothing else has ended it. */
export const isAskedFor = (fleet: Fleet, { actor, key }: Pick<Effect, 'actor' | 'key'>): boolean =>
  effectsOf(fleet, [actor]).some((it) => it.key === key);

/** The key of every actor that may ask for something, and `fleetKey`. */
export function* actorsWithEffects(fleet: Fleet): Generator<string> {
  for (const worker of fleet.open) yield actorKey('worker', worker);
  for (const task of fleet.evaluating) yield actorKey('task', task);
  for (const [actor, { entity, id }] of fleet.escalated)
    if (!(entity === 'worker' ? fleet.open : fleet.evaluating).has(id)) yield actor;
  yield fleetKey;
}

function addWorkerEffects(effects: Effect[], fleet: Fleet, actor: string, id: string): void {
  const isEscalated = fleet.escalated.has(actor);
  // Most that were touched are answered by now, and need not be unpacked for that.
  if (!isEscalated && !fleet.open.has(id)) return;
  const record = fleet.workers.get(id);
  if (record === undefined) return;
  effects.push(...checkOf(actor, record));
  if (isEscalated) effects.push(...noticeOf(fleet, actor, record.snapshot.context.worker.escalation));
}

function addTaskEffects(effects: Effect[], fleet: Fleet, actor: string, id: string): void {
  const isEscalated = fleet.escalated.has(actor);
  if (!isEscalated && !fleet.evaluating.has(id)) return;
  const record = fleet.tasks.get(id);
  if (record === undefined) return;
  effects.push(...hooksOf(actor, record));
  const { escalation } = record.snapshot.context;
  // The notice of its worker serves both.
  if (isEscalated && escalation?.withWorker !== true) effects.push(...noticeOf(fleet, actor, escalation));
}

function checkOf(actor: string, { snapshot, owner }: WorkerRecord): CheckEffect[] {
  const { worker } = snapshot.context;
  const check = worker.attempt?.pending ?? null;
  if (worker.attempt === null || check === null) return [];
  const { attempt } = worker.attempt;
  const key = checkMessageId(worker.worker, attempt, check.number, check.name);
  return [{ key, kind: 'check', actor, owner, dueMs: check.sinceMs, data: { worker, attempt, check } }];
}

const hooksOf = (actor: string, { snapshot: { context } }: TaskRecord): HookEffect[] =>
  context.evaluations.map((evaluation) => {
    const { pending, seq, owner } = evaluation;
    const key = hookMessageId(context.task, seq, pending.number, pending.name);
    return { key, kind: 'hook', actor, owner, dueMs: 0, data: { task: context.task, evaluation } };
  });

function noticeOf(fleet: Fleet, actor: string, escalation: Escalation | TaskEscalation | null): NoticeEffect[] {
  const escalated = fleet.escalated.get(actor);
  if (escalated === undefined || escalation === null || escalation.acknowledgedBy !== null) return [];
  const { entity, id } = escalated;
  const delivery = nextDelivery(fleet.name, entity, id, escalation);
  const owner = ownerFor(fleet, actor, escalated.owner);
  const dueMs = parseIsoTime(escalation.notifiedAt ?? escalation.since) ?? 0;
  const data = { entity, id, escalation, delivery };
  return [{ key: notifiedMessageId(delivery), kind: 'notice', actor, owner, dueMs, data }];
}

function timerOf(fleet: Fleet): TimerEffect[] {
  const deadline = nextDeadline(fleet);
  if (deadline === null) return [];
  const { kind, id, attempt, atMs } = deadline;
  const key = timerMessageId(deadline);
  const owner =
    kind === 'attempt'
      ? (fleet.workers.get(id)?.owner ?? null)
      : ownerFor(fleet, `${kind}:${id}:${attempt}:${atMs}`, null);
  return [{ key, kind: 'timer', actor: fleetKey, owner, dueMs: dueMsOfTimer(deadline), data: deadline }];
}

/** Deadlines that only change what is shown share one entry a second. */
const coarseMs = 1_000;

const dueMsOfTimer = ({ kind, atMs }: Deadline): number =>
  kind === 'stale' || kind === 'limit' ? Math.ceil(atMs / coarseMs) * coarseMs : atMs;
