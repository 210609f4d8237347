/**
 * Takeover: the others finish what a replica that is gone left open (protocol.md §9). Owners are pinged over the bus,
 * which knows at once when a connection is gone; their beats tell which live and do not keep up with the log. Each
 * survivor takes its share; what nobody took within a while anyone takes.
 */
import { acceptedMessageId, attemptMessageId, ownerFor } from '../../machines/index.ts';
import { type HostContext, isAtHead, isRunning } from './context.ts';
import type { Evaluations } from './evaluations.ts';
import type { Membership } from './membership.ts';
import type { Outbox } from './outbox.ts';
import { appendUntilFolded } from './own-entries.ts';

const checkEveryMs = 500;
/** An owner that does not answer so many pings in a row counts as gone. */
const silentMax = 2;
/** How long the survivors whose share it is have, before all try. */
const shareMs = 3_000;

export type Takeover = { open(): void; close(): void };

type TakeoverRooms = { readonly outbox: Outbox; readonly evaluations: Evaluations; readonly membership: Membership };

export function createTakeover(context: HostContext, { outbox, evaluations, membership }: TakeoverRooms): Takeover {
  const { bus, clock, fleet, logger, replica } = context;
  const silentCounts = new Map<string, number>();
  /** The owners that are gone, and since when. Null: there was no member. */
  const goneSince = new Map<string | null, number>();
  let timer: NodeJS.Timeout | null = null;
  let checking = false;

  const isGone = async (owner: string) => {
    if (membership.isLagging(owner)) return true;
    const found = await bus.ping(owner);
    const count = found === 'silent' ? (silentCounts.get(owner) ?? 0) + 1 : 0;
    silentCounts.set(owner, count);
    return found === 'gone' || count >= silentMax;
  };
  const noteOwner = async (owner: string | null) => {
    if (owner !== null && !(await isGone(owner))) goneSince.delete(owner);
    else if (!goneSince.has(owner)) goneSince.set(owner, clock());
  };
  const checkOwners = async () => {
    const owners = new Set([...outbox.overdueOwners(checkEveryMs), ...ownersOfOpen(context), ...evaluations.owners()]);
    for (const known of [...goneSince.keys(), ...silentCounts.keys()]) if (!owners.has(known)) forget(known);
    await Promise.all([...owners].map(noteOwner));
    if (!isAtHead(context)) return;
    const gone = new Set([...goneSince.keys()].filter((owner) => owner !== null));
    for (const [owner, sinceMs] of goneSince) {
      const isMine = (key: string) =>
        ownerFor(fleet, key, null, gone) === replica || Math.abs(clock() - sinceMs) >= shareMs;
      outbox.sendFor(owner, isMine);
      acceptAttempts(context, owner, isMine);
      evaluations.takeOver(owner, isMine);
    }
  };
  const forget = (owner: string | null) => {
    goneSince.delete(owner);
    if (owner !== null) silentCounts.delete(owner);
  };
  const check = async () => {
    if (checking || !isAtHead(context)) return;
    checking = true;
    try {
      outbox.resend();
      await checkOwners();
    } catch (error) {
      // The connection is closing; the other replicas send what is left.
      logger.warn({ err: error }, 'takeover check failed');
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

/** Other replicas with an attempt that has been open for a while. */
function ownersOfOpen({ fleet, replica, logClock }: HostContext): Set<string | null> {
  const owners = new Set<string | null>();
  for (const worker of fleet.open) {
    const record = fleet.workers.get(worker);
    const attempt = record?.snapshot.context.worker.attempt;
    if (record === undefined || attempt == null || record.owner === replica) continue;
    if (logClock.since(attempt.atMs) >= checkEveryMs) owners.add(record.owner);
  }
  return owners;
}

/**
 * Those that wait for a check; the others need nobody before they are decided, and go to a member when their owner has
 * left. If several replicas notice it, the first entry in the log counts: the message id is the same for all.
 */
function acceptAttempts(context: HostContext, owner: string | null, isMine: (key: string) => boolean): void {
  const { fleet, replica, logger } = context;
  for (const worker of fleet.open) {
    const record = fleet.workers.get(worker);
    const open = record?.snapshot.context.worker.attempt;
    if (record === undefined || open?.pending == null || record.owner !== owner) continue;
    const { attempt } = open;
    if (!isMine(attemptMessageId(worker, attempt))) continue;
    logger.warn({ workerId: worker, attempt, from: owner }, 'taking over an attempt');
    void appendUntilFolded(context, {
      tail: `own.worker.${worker}.attempt.accepted`,
      data: { attempt, replica, ...(owner === null ? {} : { from: owner }) },
      messageId: acceptedMessageId(worker, attempt, owner),
      isNeeded: () =>
        isRunning(context) && record.owner === owner && record.snapshot.context.worker.attempt?.attempt === attempt,
    });
  }
}
