/**
 * Sends people a notice of each escalation, of each request that waits too long, and of each unattended queue, and a
 * reminder every `remindMs` until somebody acknowledges or ends it. One replica sends it: the owner that the fold chose
 * when it began, or another one if the owner is gone. A delivered notice is stored as an entry, so neither a restart
 * nor another replica repeats it. The entry is appended after the delivery; a crash between the two repeats the notice
 * with the same delivery id.
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

/** The body of a webhook that says that something needs a person. `reminder` is 0 for the first notice. */
export type Notice = {
  readonly v: 1;
  readonly fleet: string;
  readonly id: string;
  readonly since: string;
  readonly reason: string;
  /** The sentence of the actor's view that describes its state. */
  readonly sentence: string;
  /** The ways to end it, one per line. For an escalation: `standing.missing` of the worker's or task's view. */
  readonly missing: readonly string[];
  readonly reminder: number;
  /** Opens it on the page; null if the configuration does not say where people reach this service. */
  readonly link: string | null;
  /** The agent and the folder of the worker; null if unknown, and for queues. */
  readonly agent: string | null;
  readonly cwd: string | null;
  /** Unique per notice, and equal at every try and on every replica. */
  readonly delivery: string;
} & (EscalationNotice | WaitingNotice | UnattendedNotice);

type EscalationNotice = {
  readonly kind: 'escalation' | 'reminder';
  readonly entity: 'worker' | 'task';
  readonly cause: Escalation['cause'];
  readonly attempt: string | null;
  /** Present while this is the worker's last decision. */
  readonly decision?: Decision;
};
/**
 * A request that waits for longer than `escalation.waiting`. If `request` is null, only the agent's terminal can answer
 * it.
 */
type WaitingNotice = { readonly kind: 'waiting'; readonly entity: 'worker' } & Pick<
  InputRequest,
  'request' | 'tool' | 'message' | 'detail'
>;
/** For longer than `escalation.unattended`, no worker could take the ready tasks of a queue. */
type UnattendedNotice = {
  readonly kind: 'unattended';
  readonly entity: 'queue';
  /** The number of tasks that are ready, and the first three of them. */
  readonly pending: number;
  readonly next: readonly NextTask[];
};
/** Resolves when the receiver has accepted the notice. Rejects on failure, on a timeout, and when `signal` aborts. */
export type Notify = (notice: Notice, signal: AbortSignal) => Promise<void>;

/**
 * `remindMs` is null for no reminders. `notify` is null if notices only go into the service's own log. `pageUrl`: where
 * people reach this service; by default notices have no link.
 */
export type EscalationRules = {
  readonly remindMs: number | null;
  readonly notify: Notify | null;
  readonly pageUrl?: string | null;
};

export type Notices = Performer<NoticeEffect> & {
  /** Takes effect at once, also for open escalations. */
  configure(rules: EscalationRules): void;
  /** Called when the log's head is reached. */
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

/** The other replicas wait this much longer than the owner. */
const standbyMs = 1_000;

/** This replica's tries to send one notice. */
type Tries = {
  /** The last failed delivery, and the rules used for it. The next try is the next reminder. */
  failed: { readonly rules: EscalationRules; readonly atMs: number } | null;
  /** The notices written to the service's own log, for lack of a `notify`. */
  warned: { readonly count: number; readonly atMs: number };
};

export function createNotices(options: NoticesOptions): Notices {
  const { fleet, replica, lifecycle, bus, logClock } = options;
  let rules: EscalationRules = { remindMs: null, notify: null };
  /** Aborted when the rules change. */
  let change = new AbortController();
  /** The head that this replica reached first. Other replicas have logged the escalations from before. */
  let opened: { readonly seq: number; readonly atMs: number } | null = null;
  const isNew = ({ seq, since }: NoticeEffect['data']['began']) =>
    opened !== null && (seq > opened.seq || (parseIsoTime(since) ?? 0) > opened.atMs);

  return {
    runsOnAllReplicas: true,
    configure(newRules) {
      rules = newRules;
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
        const current = rules;
        const stop = AbortSignal.any([signal, change.signal]);
        const dueMs = dueMsOf(effect, tries, current);
        await sleep(dueMs === null ? null : dueMs + turnMs - logClock.now(), stop);
        if (stop.aborted) continue;
        // Without a connection this replica cannot know whether the owner is alive.
        const isOurs = lifecycle.isAtHead() && bus.isConnected() && (await findOwner(options, effect)) === replica;
        if (stop.aborted) continue;
        if (!isOurs) {
          await sleep(standbyMs, stop);
        } else if (current.notify === null) {
          warn(options, effect, tries.warned.count);
          tries.warned = { count: tries.warned.count + 1, atMs: logClock.now() };
        } else if (await send(options, effect, current, stop)) {
          const data = { count: notified + 1, delivery };
          return { tail: `own.${entity}.${id}.escalation.notified`, data };
        } else tries.failed = { rules: current, atMs: logClock.now() };
      }
      return null;
    },
  };
}

/** Returns when the notice is due, in the log's time, or null if never. New rules make a failed notice due again. */
function dueMsOf({ dueMs, data }: NoticeEffect, { failed, warned }: Tries, rules: EscalationRules): number | null {
  const { remindMs, notify } = rules;
  const [count, lastMs] = notify === null ? [warned.count, warned.atMs] : [data.notified, dueMs];
  const failedMs = failed?.rules === rules ? failed.atMs : null;
  if (count === 0 && failedMs === null) return lastMs;
  return remindMs === null ? null : Math.max(lastMs, failedMs ?? 0) + remindMs;
}

/**
 * Returns the first owner in line that is not known to be gone; one that is only slow to answer the ping counts. A killed
 * replica stays a member for a while, hence the ping.
 */
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
  escalation: ['escalated: needs a person', 'still escalated: not acknowledged'],
  waiting: ['a request has waited long for a person', 'a request still waits: not acknowledged'],
  unattended: ['tasks wait, but no worker can take them', 'tasks still wait: not acknowledged'],
} as const;

function warn({ fleet, logger }: NoticesOptions, effect: NoticeEffect, reminder: number): void {
  const { since, reason, ...rest } = createNotice(fleet, effect, null);
  const line = { [idNames[rest.entity]]: rest.id, since, reason, ...('cause' in rest ? { cause: rest.cause } : {}) };
  logger.warn({ ...line, reminder }, warnings[effect.data.kind][reminder === 0 ? 0 : 1]);
}

const names = {
  escalation: 'an escalation',
  reminder: 'an escalation',
  waiting: 'a request that waits',
  unattended: 'an unattended queue',
} as const;

/** @returns true if the receiver has accepted the notice; false on failure or when stopped */
async function send(
  { fleet, logger }: NoticesOptions,
  effect: NoticeEffect,
  { notify, remindMs, pageUrl = null }: EscalationRules,
  stop: AbortSignal,
): Promise<boolean> {
  const notice = createNotice(fleet, effect, pageUrl);
  const { delivery, reminder } = notice;
  try {
    await notify?.(notice, stop);
  } catch (error) {
    const nextTry = remindMs === null ? 'at the next start' : 'at the next reminder';
    if (!stop.aborted)
      logger.error(
        { delivery, why: (error as Error).message, again: nextTry },
        `could not notify anybody of ${names[notice.kind]}`,
      );
    return false;
  }
  logger.info({ delivery, reminder }, `notified of ${names[notice.kind]}`);
  return true;
}

function createNotice(fleet: Fleet, { data }: NoticeEffect, pageUrl: string | null): Notice {
  const { id, notified: reminder, delivery } = data;
  const link =
    pageUrl === null ? null : linkTo(pageUrl, fleet.name, data.kind === 'escalation' ? data.entity : data.kind, id);
  const shared = { v: 1, fleet: fleet.name, id, reminder, delivery, link, ...describeWorker(fleet, data) } as const;
  switch (data.kind) {
    case 'escalation':
      return { ...shared, ...describeEscalation(fleet, id, data) };
    case 'waiting':
      return { ...shared, ...describeWaiting(fleet, id, data.request) };
    case 'unattended':
      return { ...shared, ...describeUnattended(viewQueue(fleet, id) as QueueView, data.unattended.since) };
  }
}

/** Returns the address of an actor on the page. */
function linkTo(
  pageUrl: string,
  fleet: string,
  kind: 'worker' | 'task' | 'waiting' | 'unattended',
  id: string,
): string {
  const link = new URL(`${pageUrl.replace(/\/+$/, '')}/`);
  link.searchParams.set('fleet', fleet);
  if (kind === 'unattended') link.searchParams.set('view', 'queues');
  else link.searchParams.set(kind === 'task' ? 'task' : 'worker', id);
  return link.href;
}

/** Returns the agent and the folder of the worker that the notice is about. */
function describeWorker(fleet: Fleet, data: NoticeEffect['data']): Pick<Notice, 'agent' | 'cwd'> {
  if (data.kind === 'unattended') return { agent: null, cwd: null };
  const id = data.kind === 'escalation' ? data.escalation.worker : data.id;
  const worker = fleet.workers.get(id)?.snapshot.context.worker;
  return { agent: worker?.agent ?? null, cwd: worker?.cwd ?? null };
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

/** Reason: `Worker w1 has waited for a person since 2026-03-02T12:00:00.000Z: Bash: make deploy`. */
function describeWaiting(fleet: Fleet, worker: string, input: InputRequest) {
  const { request, tool, message, detail, since } = input;
  const reason = `Worker ${worker} has waited for a person since ${since}: ${requestText(input)}`;
  const byOperator = request === null ? '' : `in the inbox, with "stopgate answer ${worker} --request ${request}", or `;
  const missing = [`a person answers it ${byOperator}where the agent runs`];
  const sentence = viewWorker(fleet, worker, fleet.nowMs)?.sentence ?? reason;
  const about = { kind: 'waiting', entity: 'worker', since, reason, sentence } as const;
  return { ...about, missing, request, tool, message, detail };
}

/** The reason is that of `personWaitsOfQueue`, with `Nobody could take one since 2026-03-02T12:00:00.000Z`. */
function describeUnattended(view: QueueView, since: string) {
  const { queue, pending, reported, next } = view;
  const [wait] = personWaitsOfQueue(view);
  const sentence = wait?.sentence ?? queue;
  const reason = `${wait?.reason ?? queue}. Nobody could take one since ${since}`;
  const missing = [`a worker of queue ${queue} starts, wakes up, or is no longer escalated or limited`];
  const about = { kind: 'unattended', entity: 'queue', since, reason, sentence } as const;
  return { ...about, missing, pending: pending - reported, next };
}
