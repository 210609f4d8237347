/**
 * Takeover: the remaining replicas finish the work of a replica that is gone (protocol.md §9). Owners are pinged over
 * NATS, which reports a lost connection at once; heartbeats show which owners are alive but do not keep up with the
 * log. Each survivor takes its share. After a while, anyone takes what is left.
 */
import {
  acceptedMessageId,
  actorKey,
  type CheckEffect,
  type Effect,
  effectsOf,
  type Fleet,
  ownerFor,
} from '../../../machines/index.ts';
import type { Logger } from '../../log.ts';
import type { Bus } from '../../nats/bus.ts';
import type { LogClock } from '../fold/log-clock.ts';
import type { Lifecycle } from '../lifecycle.ts';
import type { OwnEntries } from '../own-entries.ts';
import type { Effects } from './effects.ts';

const checkEveryMs = 500;
/** An owner that misses this many pings in a row counts as gone. */
const silentMax = 2;
/** After this time, a survivor no longer leaves work to the one whose share it is. */
const shareMs = 3_000;

export type Takeover = { open(): void; close(): void };

export type TakeoverOptions = {
  readonly fleet: Fleet;
  readonly replica: string;
  readonly lifecycle: Pick<Lifecycle, 'isAtHead' | 'isRunning'>;
  readonly bus: Pick<Bus, 'ping'>;
  readonly clock: () => number;
  readonly logClock: Pick<LogClock, 'since'>;
  readonly logger: Logger;
  readonly entries: OwnEntries;
  readonly effects: Pick<Effects, 'takeOver'>;
  /** Unconfirmed decisions have owners, like effects. */
  readonly outbox: {
    resend(): void;
    overdueOwners(ageMs: number): ReadonlySet<string | null>;
    sendFor(owner: string | null, isMine: (key: string) => boolean): void;
  };
  /** Whether the member is alive but does not keep up with the log. */
  readonly isLagging: (member: string) => boolean;
};

export function createTakeover(options: TakeoverOptions): Takeover {
  const { fleet, replica, lifecycle, bus, clock, logger, effects, outbox, isLagging } = options;
  const silentCounts = new Map<string, number>();
  /** The owners that are gone, and since when. The key null stands for work without an owner: there was no member. */
  const goneSince = new Map<string | null, number>();
  let timer: NodeJS.Timeout | null = null;
  let checking = false;

  const isGone = async (owner: string) => {
    if (isLagging(owner)) return true;
    const found = await bus.ping(owner);
    const count = found === 'silent' ? (silentCounts.get(owner) ?? 0) + 1 : 0;
    silentCounts.set(owner, count);
    return found === 'gone' || count >= silentMax;
  };
  const noteOwner = async (owner: string | null) => {
    if (owner !== null && !(await isGone(owner))) goneSince.delete(owner);
    else if (!goneSince.has(owner)) goneSince.set(owner, clock());
  };
  const forgetOthers = (owners: ReadonlySet<string | null>) => {
    for (const owner of [...goneSince.keys(), ...silentCounts.keys()]) {
      if (owners.has(owner)) continue;
      goneSince.delete(owner);
      if (owner !== null) silentCounts.delete(owner);
    }
  };
  const checkOwners = async () => {
    const owners = new Set([
      ...outbox.overdueOwners(checkEveryMs),
      ...effectsOfOthers(options).map(({ owner }) => owner),
    ]);
    forgetOthers(owners);
    await Promise.all([...owners].map(noteOwner));
    if (!lifecycle.isAtHead()) return;
    const gone = new Set([...goneSince.keys()].filter((owner) => owner !== null));
    const isMine = (owner: string | null, key: string) =>
      ownerFor(fleet, key, null, gone) === replica || Math.abs(clock() - (goneSince.get(owner) ?? 0)) >= shareMs;
    for (const owner of goneSince.keys()) outbox.sendFor(owner, (key) => isMine(owner, key));
    for (const effect of goneSince.size === 0 ? [] : effectsOfOthers(options)) {
      if (!goneSince.has(effect.owner) || !isMine(effect.owner, effect.key)) continue;
      // An entry decides who owns an attempt. A hook may be called twice, but only one answer is stored.
      if (effect.kind === 'check') acceptAttempt(options, effect);
      else effects.takeOver(effect);
    }
  };
  const check = async () => {
    if (checking || !lifecycle.isAtHead()) return;
    checking = true;
    try {
      outbox.resend();
      await checkOwners();
    } catch (error) {
      // While the connection closes, the other replicas send what is left.
      if (lifecycle.isRunning()) logger.warn({ err: error }, 'takeover check failed');
    } finally {
      checking = false;
    }
  };
  return {
    open() {
      timer = setInterval(() => void check(), checkEveryMs);
    },
    close() {
      if (timer !== null) clearInterval(timer);
    },
  };
}

/** Returns the checks and hooks that other replicas should have started a while ago. */
function effectsOfOthers({ fleet, replica, logClock }: TakeoverOptions): Effect[] {
  const actors: string[] = [];
  for (const worker of fleet.open)
    if (fleet.workers.get(worker)?.owner !== replica) actors.push(actorKey('worker', worker));
  for (const task of fleet.evaluating) actors.push(actorKey('task', task));
  return effectsOf(fleet, actors).filter(
    ({ kind, owner, dueMs }) =>
      (kind === 'check' || kind === 'hook') && owner !== replica && logClock.since(dueMs) >= checkEveryMs,
  );
}

/**
 * Takes over an attempt by appending an entry that makes this replica its owner. If several replicas do this at once,
 * NATS stores the first entry only, since all use the same message id.
 */
function acceptAttempt(options: TakeoverOptions, { owner, data: { worker, attempt } }: CheckEffect): void {
  const { fleet, replica, lifecycle, logger, entries } = options;
  const id = worker.worker;
  logger.warn({ workerId: id, attempt, from: owner }, 'taking over an attempt');
  void entries.untilFolded({
    tail: `own.worker.${id}.attempt.accepted`,
    data: { attempt, replica, ...(owner === null ? {} : { from: owner }) },
    messageId: acceptedMessageId(id, attempt, owner),
    isNeeded() {
      const record = fleet.workers.get(id);
      return (
        lifecycle.isRunning() && record?.owner === owner && record.snapshot.context.worker.attempt?.attempt === attempt
      );
    },
  });
}
