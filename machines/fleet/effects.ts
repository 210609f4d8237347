/**
 * Effects: work that the state requests from the replicas. They are derived from the state alone. An effect is
 * requested until an entry answers it. `key` is the message id of that entry, so it is stored once even if several
 * replicas perform the effect. To add a kind of effect, derive it here and perform it in the host.
 */
import { checkMessageId, hookMessageId, notifiedMessageId, timerMessageId } from '../entries/message-ids.ts';
import type { AwaitedCheck } from '../guards/attempt.ts';
import type { Evaluation } from '../task/records.ts';
import {
  type Escalation,
  type Noticed,
  nextDelivery,
  nextWaitingDelivery,
  type TaskEscalation,
  type Unattended,
} from '../values/escalation.ts';
import type { InputRequest } from '../values/questions.ts';
import { parseIsoTime } from '../values/time.ts';
import type { WorkerContext } from '../worker/context.ts';
import { actorKey, type Fleet, fleetKey, type TaskRecord, type WorkerRecord } from './fleet.ts';
import { ownerFor } from './owner.ts';
import type { Deadline } from './time/deadlines.ts';
import { nextDeadline } from './time/due-time.ts';

type EffectOf<Kind extends string, Data> = {
  /** The message id of the answering entry. For timers, without the number of the try. */
  readonly key: string;
  readonly kind: Kind;
  /** The key of the worker, task or queue that requests it (`actorKey`), or `fleetKey`. */
  readonly actor: string;
  /** The replica that performs it; null if the fleet has no members, and then any replica may. */
  readonly owner: string | null;
  /** The earliest time to perform it, by the log's clock; 0 is immediately. */
  readonly dueMs: number;
  readonly data: Data;
};

/** An open attempt waits for this check, or for a remote hook of a held task. */
export type CheckEffect = EffectOf<
  'check',
  { readonly worker: WorkerContext; readonly attempt: string; readonly check: AwaitedCheck }
>;
/** An `iteration.validated` waits for this remote hook. */
export type HookEffect = EffectOf<'hook', { readonly task: string; readonly evaluation: Evaluation }>;
/**
 * People are to be notified of a matter that needs a person: that it began or, if `notified` is above 0, that it is
 * still open. `began`: the entry and time from which it concerns people.
 */
export type NoticeEffect = EffectOf<
  'notice',
  {
    readonly id: string;
    readonly delivery: string;
    readonly notified: number;
    readonly began: { readonly seq: number; readonly since: string };
  } & NoticeSubject
>;
/** An escalation, an overdue request, or an unattended queue. */
export type NoticeSubject =
  | { readonly kind: 'escalation'; readonly entity: 'worker' | 'task'; readonly escalation: Escalation }
  | { readonly kind: 'waiting'; readonly entity: 'worker'; readonly request: InputRequest }
  | { readonly kind: 'unattended'; readonly entity: 'queue'; readonly unattended: Unattended };
/** The earliest deadline. If no other entry moves the log's clock there, a replica appends `timer.fired`. */
export type TimerEffect = EffectOf<'timer', Deadline>;

export type Effect = CheckEffect | HookEffect | NoticeEffect | TimerEffect;

/** Returns the effects that these actors request now. `actors`: keys made by `actorKey`, and `fleetKey`. */
export function effectsOf(fleet: Fleet, actors: Iterable<string>): Effect[] {
  const effects: Effect[] = [];
  for (const actor of actors) {
    if (actor === fleetKey) effects.push(...timerOf(fleet));
    else if (actor.startsWith('worker/')) addWorkerEffects(effects, fleet, actor, actor.slice('worker/'.length));
    else if (actor.startsWith('queue/')) effects.push(...noticeOfQueue(fleet, actor, actor.slice('queue/'.length)));
    else addTaskEffects(effects, fleet, actor, actor.slice('task/'.length));
  }
  return effects;
}

/** Tells whether the effect is still requested: no entry has answered it or made it obsolete. */
export const isRequested = (fleet: Fleet, { actor, key }: Pick<Effect, 'actor' | 'key'>): boolean =>
  effectsOf(fleet, [actor]).some((effect) => effect.key === key);

/** Yields the key of every actor that may request an effect, and `fleetKey`. */
export function* actorsWithEffects(fleet: Fleet): Generator<string> {
  for (const worker of fleet.open) yield actorKey('worker', worker);
  for (const task of fleet.evaluating) yield actorKey('task', task);
  for (const [actor, { entity, id }] of fleet.escalated)
    if (!(entity === 'worker' ? fleet.open : fleet.evaluating).has(id)) yield actor;
  for (const [actor, { entity, id }] of fleet.neglected)
    if (!(entity === 'worker' && (fleet.open.has(id) || fleet.escalated.has(actor)))) yield actor;
  yield fleetKey;
}

function addWorkerEffects(effects: Effect[], fleet: Fleet, actor: string, id: string): void {
  const isEscalated = fleet.escalated.has(actor);
  // Most touched workers request nothing by now. Checking the indexes first avoids decoding them.
  const isNeglected = fleet.neglected.has(actor);
  if (!isEscalated && !isNeglected && !fleet.open.has(id)) return;
  const record = fleet.workers.get(id);
  if (record === undefined) return;
  effects.push(...checkOf(actor, record));
  if (isEscalated) effects.push(...noticeOf(fleet, actor, record.snapshot.context.worker.escalation));
  if (isNeglected) effects.push(...noticesOfRequests(fleet, actor, record));
}

function addTaskEffects(effects: Effect[], fleet: Fleet, actor: string, id: string): void {
  const isEscalated = fleet.escalated.has(actor);
  if (!isEscalated && !fleet.evaluating.has(id)) return;
  const record = fleet.tasks.get(id);
  if (record === undefined) return;
  effects.push(...hooksOf(actor, record));
  const { escalation } = record.snapshot.context;
  // If the worker was escalated with the task, its notice covers both.
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
  if (escalated === undefined || escalation === null) return [];
  const { entity, id } = escalated;
  const delivery = nextDelivery(fleet.name, entity, id, escalation);
  return notice(fleet, actor, id, delivery, escalation, escalation, { kind: 'escalation', entity, escalation });
}

/** Lists the notices of a worker's overdue requests. Requests of a stopped worker need no answer. */
function noticesOfRequests(fleet: Fleet, actor: string, { snapshot }: WorkerRecord): NoticeEffect[] {
  const { worker, inputs } = snapshot.context.worker;
  if (fleet.policies.waitingMs === null || snapshot.value.state === 'stopped') return [];
  return inputs.flatMap((request) => {
    const { overdue, seq, since } = request;
    if (overdue === undefined) return [];
    const delivery = nextWaitingDelivery(fleet.name, worker, { ...overdue, seq, since });
    const began = { seq, since: overdue.since };
    return notice(fleet, actor, worker, delivery, overdue, began, { kind: 'waiting', entity: 'worker', request });
  });
}

function noticeOfQueue(fleet: Fleet, actor: string, id: string): NoticeEffect[] {
  const unattended = fleet.queues.read(id)?.unattended ?? null;
  if (unattended === null || fleet.policies.unattendedMs === null) return [];
  const delivery = nextDelivery(fleet.name, 'queue', id, unattended);
  const subject = { kind: 'unattended', entity: 'queue', unattended } as const;
  const began = { seq: unattended.seq, since: unattended.at };
  return notice(fleet, actor, id, delivery, unattended, began, subject);
}

/** Returns the notice, unless somebody has acknowledged the matter. */
function notice(
  fleet: Fleet,
  actor: string,
  id: string,
  delivery: string,
  { acknowledgedBy, notified, notifiedAt }: Noticed,
  { seq, since }: NoticeEffect['data']['began'],
  subject: NoticeSubject,
): NoticeEffect[] {
  if (acknowledgedBy !== null) return [];
  const owner = ownerOfNotice(fleet, { actor, data: subject });
  const dueMs = parseIsoTime(notifiedAt ?? since) ?? 0;
  const data = { id, delivery, notified, began: { seq, since }, ...subject };
  return [{ key: notifiedMessageId(delivery), kind: 'notice', actor, owner, dueMs, data }];
}

/**
 * Returns the replica whose turn it is to notify people: the one that was named when it began, as long as it lives.
 * @param gone members that are known to be dead
 */
export function ownerOfNotice(
  fleet: Fleet,
  { actor, data }: { readonly actor: string; readonly data: Pick<NoticeSubject, 'kind'> },
  gone?: ReadonlySet<string>,
): string | null {
  const { owner = null } = (data.kind === 'escalation' ? fleet.escalated : fleet.neglected).get(actor) ?? {};
  return ownerFor(fleet, actor, owner, gone);
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

/** Deadlines that only affect views and notices are rounded up to a second, so that they share an entry. */
const coarseMs = 1_000;

const coarse: ReadonlySet<Deadline['kind']> = new Set(['stale', 'limit', 'waiting', 'unattended']);

const dueMsOfTimer = ({ kind, atMs }: Deadline): number =>
  coarse.has(kind) ? Math.ceil(atMs / coarseMs) * coarseMs : atMs;
