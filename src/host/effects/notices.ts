/**
 * Notices: people get a notice of each escalation, and a reminder every `remindMs` until somebody acknowledges or
 * resolves it. One replica sends them: the one that the fold named when the escalation began, or another if that one is
 * gone. A delivered notice is an entry, so neither a restart nor another replica repeats it. The entry is appended after
 * the delivery: a crash between the two repeats the notice under the same delivery id.
 */
import {
  type Decision,
  type EscalatedEntity,
  type Escalation,
  type Fleet,
  type NoticeEffect,
  ownerFor,
  parseIsoTime,
  viewTask,
  viewWorker,
} from '../../../machines/index.ts';
import type { Logger } from '../../log.ts';
import type { Bus } from '../../nats/bus.ts';
import { sleep } from '../../timer.ts';
import type { LogClock } from '../fold/log-clock.ts';
import type { Life } from '../life.ts';
import type { Performer } from './effects.ts';

/** The body of a webhook. `reminder`: 0 when the escalation is new. */
export type Notice = {
  readonly v: 1;
  readonly kind: 'escalation' | 'reminder';
  readonly fleet: string;
  readonly entity: EscalatedEntity;
  readonly id: string;
  readonly since: string;
  readonly reason: string;
  /** How it stands, as its view says it. */
  readonly sentence: string;
  readonly cause: Escalation['cause'];
  readonly attempt: string | null;
  /** What would let the worker or task go, a line each, as its view says it (`standing.missing`). */
  readonly missing: readonly string[];
  /** Present while it is the worker's last. */
  readonly decision?: Decision;
  readonly reminder: number;
  /** The same at every try and on every replica, and no other notice's. */
  readonly delivery: string;
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
  readonly life: Pick<Life, 'isAtHead'>;
  readonly bus: Pick<Bus, 'isConnected' | 'ping'>;
  readonly logClock: Pick<LogClock, 'now'>;
  readonly logger: Logger;
};

/** How long the other replicas wait for the first. */
const standbyMs = 1_000;

/** What this replica has done of one notice. */
type Tries = {
  /** When the last delivery failed for good, and by which rules; the next try is the next reminder. */
  failed: { readonly rules: EscalationRules; readonly atMs: number } | null;
  /** The notices that went into the service's own log, without a `notify`. */
  warned: { readonly count: number; readonly atMs: number };
};

export function createNotices(options: NoticesOptions): Notices {
  const { fleet, replica, life, bus, logClock, logger } = options;
  let rules: EscalationRules = { remindMs: null, notify: null };
  /** Aborted when the rules change. */
  let change = new AbortController();
  /** Where this replica first reached the head: what began before was new to others. */
  let opened: { readonly seq: number; readonly atMs: number } | null = null;
  const isNew = ({ seq, since }: Escalation) =>
    opened !== null && (seq > opened.seq || (parseIsoTime(since) ?? 0) > opened.atMs);

  return {
    standsBy: true,
    configure(given) {
      rules = given;
      change.abort();
      change = new AbortController();
    },
    open() {
      opened ??= { seq: fleet.seq, atMs: fleet.nowMs };
    },
    async perform(effect, { signal }) {
      const { entity, id, escalation, delivery } = effect.data;
      const tries: Tries = { failed: null, warned: { count: isNew(escalation) ? 0 : 1, atMs: logClock.now() } };
      const turnMs = effect.owner === replica ? 0 : standbyMs;
      while (!signal.aborted) {
        const inForce = rules;
        const stop = AbortSignal.any([signal, change.signal]);
        const dueMs = dueMsOf(effect, tries, inForce);
        await sleep(dueMs === null ? null : dueMs + turnMs - logClock.now(), stop);
        if (stop.aborted) continue;
        // A replica that is cut off from the others cannot know whose turn it is.
        const isOurs = life.isAtHead() && bus.isConnected() && (await findOwner(options, effect)) === replica;
        if (stop.aborted) continue;
        if (!isOurs) {
          await sleep(standbyMs, stop);
        } else if (inForce.notify === null) {
          warn(logger, effect, tries.warned.count);
          tries.warned = { count: tries.warned.count + 1, atMs: logClock.now() };
        } else if (await send(options, effect, inForce, stop)) {
          const data = { count: escalation.notified + 1, delivery };
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
  const [count, toldMs] = notify === null ? [warned.count, warned.atMs] : [data.escalation.notified, dueMs];
  const failedMs = failed?.rules === rules ? failed.atMs : null;
  if (count === 0 && failedMs === null) return toldMs;
  return remindMs === null ? null : Math.max(toldMs, failedMs ?? 0) + remindMs;
}

/** The first owner in line that answers a ping: by the log alone a killed replica stays a member for a while. */
async function findOwner({ bus, fleet, replica }: NoticesOptions, { actor }: NoticeEffect): Promise<string> {
  const gone = new Set<string>();
  for (;;) {
    const owner = ownerFor(fleet, actor, fleet.escalated.get(actor)?.owner ?? null, gone);
    if (owner === null || owner === replica) return replica;
    if ((await bus.ping(owner)) !== 'gone') return owner;
    gone.add(owner);
  }
}

function warn(logger: Logger, { data: { entity, id, escalation } }: NoticeEffect, reminder: number): void {
  const { since, reason, cause } = escalation;
  const line = { [entity === 'worker' ? 'workerId' : 'taskId']: id, since, reason, cause, reminder };
  logger.warn(line, reminder === 0 ? 'escalated: needs a person' : 'still escalated: nobody has looked');
}

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
      logger.error({ delivery, why: (error as Error).message, again }, 'could not notify anybody of an escalation');
    return false;
  }
  logger.info({ delivery, reminder }, 'notified of an escalation');
  return true;
}

function createNotice(fleet: Fleet, { data: { entity, id, escalation, delivery } }: NoticeEffect): Notice {
  const { since, reason, cause, attempt, notified, seq, worker } = escalation;
  const view = entity === 'worker' ? viewWorker(fleet, id, fleet.nowMs) : viewTask(fleet, id);
  const last = fleet.workers.get(worker)?.snapshot.context.worker.lastDecision ?? null;
  return {
    ...{ v: 1, kind: notified === 0 ? 'escalation' : 'reminder', fleet: fleet.name, entity, id },
    ...{ since, reason, sentence: view?.sentence ?? reason, cause, attempt, missing: view?.standing.missing ?? [] },
    ...(last !== null && last.seq === seq && attempt !== null ? { decision: last } : {}),
    ...{ reminder: notified, delivery },
  };
}
