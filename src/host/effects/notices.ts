/**
 * Notices: people get a notice of each escalation, of each request that waits for too long, and of each queue that
 * nobody attends, and a reminder every `remindMs` until somebody acknowledges or ends it. One replica sends them: the one
 * that the fold named when it began, or another if that one is gone. A delivered notice is an entry, so neither a restart nor another replica repeats it. The entry is appended after
 * the delivery: a crash between the two repeats the notice under the same delivery id.
 */
import {
  type Decision,
  type Escalation,
  type Fleet,
  type InputRequest,
  type NextTask,
  type NoticeEffect,
  ownerOfNotice,
  parseIsoTime,
  personWaitsOfQueue,
  type QueueView,
  viewQueue,
  viewTask,
  viewWorker,
} from '../../../machines/index.ts';
import { requestText } from '../../../machines/replay/standing.ts';
import type { Logger } from '../../log.ts';
import type { Bus } from '../../nats/bus.ts';
import { notNeeded, sleep } from '../../timer.ts';
import type { LogClock } from '../fold/log-clock.ts';
import type { Lifecycle } from '../lifecycle.ts';
import type { Performer } from './effects.ts';

/** The body of a webhook: something needs a person. `reminder`: 0 when it is new. */
export type Notice = {
  readonly v: 1;
  readonly fleet: string;
  readonly id: string;
  readonly since: string;
  readonly reason: string;
  /** The sentence of its view that says how it stands. */
  readonly sentence: string;
  /** The ways to end it, a line each; for an escalation, those of the worker's or task's view (`standing.missing`). */
  readonly missing: readonly string[];
  readonly reminder: number;
  /** This id is the same at every try and on every replica, and no other notice has it. */
  readonly delivery: string;
} & (EscalationNotice | WaitingNotice | UnattendedNotice);

type EscalationNotice = {
  readonly kind: 'escalation' | 'reminder';
  readonly entity: 'worker' | 'task';
  readonly cause: Escalation['cause'];
  readonly attempt: string | null;
  /** Present while it is the worker's last. */
  readonly decision?: Decision;
};
/** A request has waited for longer than `escalation.waiting`. `request` null: only the agent's terminal can answer it. */
type WaitingNotice = { readonly kind: 'waiting'; readonly entity: 'worker' } & Pick<
  InputRequest,
  'request' | 'tool' | 'message' | 'detail'
>;
/** Nobody alive could take the ready tasks of a queue for longer than `escalation.unattended`. */
type UnattendedNotice = {
  readonly kind: 'unattended';
  readonly entity: 'queue';
  /** The number of tasks that are ready, and the first three of them. */
  readonly pending: number;
  readonly next: readonly NextTask[];
};
/** Resolves when the receiver has taken it; rejects with the reason, after a bounded time, and when `signal` fires. */
export type Notify = (notice: Notice, signal: AbortSignal) => Promise<void>;

/** `remindMs` null: no reminders. `notify` null: notices go into the service's own log only. */
export type EscalationRules = { readonly remindMs: number | null; readonly notify: Notify | null };

export type Notices = Performer<NoticeEffect> & {
  /** Takes effect at once, also for open escalations. */
  configure(rules: EscalationRules): void;
  /** The log's head is reached. */
  open(): void;
};

export type NoticesOptions = {
  readonly fleet: Fleet;
  readonly replica: string;
  readonly lifecycle: Pick<Lifecycle, 'isAtHead'>;
  readonly bus: Pick<Bus, 'isConnected' | 'ping'>;
  readonly logClock: Pick<LogClock, 'now'>;
  readonly logger: Logger;
};

/** The other replicas wait this long for the first. */
const standbyMs = 1_000;

/** The tries of this replica at one notice. */
type Tries = {
  /** When the last delivery failed for good, and by which rules; the next try is the next reminder. */
  failed: { readonly rules: EscalationRules; readonly atMs: number } | null;
  /** The notices that went into the service's own log, without a `notify`. */
  warned: { readonly count: number; readonly atMs: number };
};

export function createNotices(options: NoticesOptions): Notices {
  const { fleet, replica, lifecycle, bus, logClock } = options;
  let rules: EscalationRules = { remindMs: null, notify: null };
  /** Aborted when the rules change. */
  let change = new AbortController();
  /** The head that this replica reached first: what began before was new to others. */
  let opened: { readonly seq: number; readonly atMs: number } | null = null;
  const isNew = ({ seq, since }: NoticeEffect['data']['began']) =>
    opened !== null && (seq > opened.seq || (parseIsoTime(since) ?? 0) > opened.atMs);

  return {
    standsBy: true,
    configure(given) {
      rules = given;
      change.abort(notNeeded);
      change = new AbortController();
    },
    open() {
      opened ??= { seq: fleet.seq, atMs: fleet.nowMs };
    },
    async perform(effect, { signal }) {
      const { entity, id, notified, began, delivery } = effect.data;
      const tries: Tries = { failed: null, warned: { count: isNew(began) ? 0 : 1, atMs: logClock.now() } };
      const turnMs = effect.owner === replica ? 0 : standbyMs;
      while (!signal.aborted) {
        const inForce = rules;
        const stop = AbortSignal.any([signal, change.signal]);
        const dueMs = dueMsOf(effect, tries, inForce);
        await sleep(dueMs === null ? null : dueMs + turnMs - logClock.now(), stop);
        if (stop.aborted) continue;
        // A replica that is cut off from the others cannot know whose turn it is.
        const isOurs = lifecycle.isAtHead() && bus.isConnected() && (await findOwner(options, effect)) === replica;
        if (stop.aborted) continue;
        if (!isOurs) {
          await sleep(standbyMs, stop);
        } else if (inForce.notify === null) {
          warn(options, effect, tries.warned.count);
          tries.warned = { count: tries.warned.count + 1, atMs: logClock.now() };
        } else if (await send(options, effect, inForce, stop)) {
          const data = { count: notified + 1, delivery };
          return { tail: `own.${entity}.${id}.escalation.notified`, data };
        } else tries.failed = { rules: inForce, atMs: logClock.now() };
      }
      return null;
    },
  };
}

/** When the notice is due, in the log's time; null: never by these rules. New rules make what failed due again. */
function dueMsOf({ dueMs, data }: NoticeEffect, { failed, warned }: Tries, rules: EscalationRules): number | null {
  const { remindMs, notify } = rules;
  const [count, toldMs] = notify === null ? [warned.count, warned.atMs] : [data.notified, dueMs];
  const failedMs = failed?.rules === rules ? failed.atMs : null;
  if (count === 0 && failedMs === null) return toldMs;
  return remindMs === null ? null : Math.max(toldMs, failedMs ?? 0) + remindMs;
}

/** The first owner in line that answers a ping: by the log alone a killed replica stays a member for a while. */
async function findOwner({ bus, fleet, replica }: NoticesOptions, effect: NoticeEffect): Promise<string> {
  const gone = new Set<string>();
  for (;;) {
    const owner = ownerOfNotice(fleet, effect, gone);
    if (owner === null || owner === replica) return replica;
    if ((await bus.ping(owner)) !== 'gone') return owner;
    gone.add(owner);
  }
}

const idNames = { worker: 'workerId', task: 'taskId', queue: 'queue' } as const;
const warnings = {
  escalation: ['escalated: needs a person', 'still escalated: nobody has looked'],
  waiting: ['a request waits for a person for long', 'a request still waits: nobody has looked'],
  unattended: ['tasks wait, and no worker is there', 'tasks still wait: nobody has looked'],
} as const;

function warn({ fleet, logger }: NoticesOptions, effect: NoticeEffect, reminder: number): void {
  const { since, reason, ...rest } = createNotice(fleet, effect);
  const line = { [idNames[rest.entity]]: rest.id, since, reason, ...('cause' in rest ? { cause: rest.cause } : {}) };
  logger.warn({ ...line, reminder }, warnings[effect.data.kind][reminder === 0 ? 0 : 1]);
}

const names = {
  escalation: 'an escalation',
  reminder: 'an escalation',
  waiting: 'a request that waits',
  unattended: 'an unattended queue',
} as const;

/** @returns whether the receiver has taken it; false also where it was stopped */
async function send(
  { fleet, logger }: NoticesOptions,
  effect: NoticeEffect,
  { notify, remindMs }: EscalationRules,
  stop: AbortSignal,
): Promise<boolean> {
  const notice = createNotice(fleet, effect);
  const { delivery, reminder } = notice;
  try {
    await notify?.(notice, stop);
  } catch (error) {
    const again = remindMs === null ? 'not before the next start' : 'at the next reminder';
    if (!stop.aborted)
      logger.error(
        { delivery, why: (error as Error).message, again },
        `could not notify anybody of ${names[notice.kind]}`,
      );
    return false;
  }
  logger.info({ delivery, reminder }, `notified of ${names[notice.kind]}`);
  return true;
}

function createNotice(fleet: Fleet, { data }: NoticeEffect): Notice {
  const { id, notified: reminder, delivery } = data;
  const given = { v: 1, fleet: fleet.name, id, reminder, delivery } as const;
  switch (data.kind) {
    case 'escalation':
      return { ...given, ...describeEscalation(fleet, id, data) };
    case 'waiting':
      return { ...given, ...describeWaiting(fleet, id, data.request) };
    case 'unattended':
      return { ...given, ...describeUnattended(viewQueue(fleet, id) as QueueView, data.unattended.since) };
  }
}

type Data<Kind> = Extract<NoticeEffect['data'], { readonly kind: Kind }>;

function describeEscalation(fleet: Fleet, id: string, { entity, escalation }: Data<'escalation'>) {
  const { since, reason, cause, attempt, notified, seq, worker } = escalation;
  const view = entity === 'worker' ? viewWorker(fleet, id, fleet.nowMs) : viewTask(fleet, id);
  const last = fleet.workers.get(worker)?.snapshot.context.worker.lastDecision ?? null;
  const kind: EscalationNotice['kind'] = notified === 0 ? 'escalation' : 'reminder';
  return {
    kind,
    entity,
    since,
    reason,
    sentence: view?.sentence ?? reason,
    cause,
    attempt,
    missing: view?.standing.missing ?? [],
    ...(last !== null && last.seq === seq && attempt !== null ? { decision: last } : {}),
  };
}

/** `Worker w1 waits for a person since 2026-03-02T12:00:00.000Z: Bash: make deploy`. */
function describeWaiting(fleet: Fleet, worker: string, asked: InputRequest) {
  const { request, tool, message, detail, since } = asked;
  const reason = `Worker ${worker} waits for a person since ${since}: ${requestText(asked)}`;
  const here = request === null ? '' : `in the inbox, with "stopgate answer ${worker} --request ${request}", or `;
  const missing = [`a person answers it ${here}where the agent runs`];
  const sentence = viewWorker(fleet, worker, fleet.nowMs)?.sentence ?? reason;
  const about = { kind: 'waiting', entity: 'worker', since, reason, sentence } as const;
  return { ...about, missing, request, tool, message, detail };
}

/** `2 tasks wait in queue build, and no worker of it is there: T-1 Fix login, … Since 2026-03-02T12:00:00.000Z`. */
function describeUnattended(view: QueueView, since: string) {
  const { queue, pending, reported, next } = view;
  const [wait] = personWaitsOfQueue(view);
  const sentence = wait?.sentence ?? queue;
  const reason = `${wait?.reason ?? queue}. Nobody could take one since ${since}`;
  const missing = [`a worker of queue ${queue} starts, wakes up, or is no longer escalated or limited`];
  const about = { kind: 'unattended', entity: 'queue', since, reason, sentence } as const;
  return { ...about, missing, pending: pending - reported, next };
}
