/**
 * Takeover: another replica finishes what a replica that is gone left open. Owners are pinged over the bus, which knows
 * at once when a connection is gone. The log only tells which replicas have ever joined.
 */
import { acceptedMessageId } from '../../machines/index.ts';
import { type HostContext, isAtHead, isRunning } from './context.ts';
import type { Evaluations } from './evaluations.ts';
import type { Outbox } from './outbox.ts';
import { appendUntilFolded } from './own-entries.ts';

const checkEveryMs = 500;
/** An owner that does not answer so many pings in a row counts as gone. */
const silentMax = 2;

export type Takeover = { open(): void; close(): void };

export function createTakeover(context: HostContext, outbox: Outbox, evaluations: Evaluations): Takeover {
  const { bus, logger } = context;
  const silentCounts = new Map<string, number>();
  let timer: NodeJS.Timeout | null = null;
  let checking = false;

  const isGone = async (owner: string) => {
    const found = await bus.ping(owner);
    const count = found === 'silent' ? (silentCounts.get(owner) ?? 0) + 1 : 0;
    silentCounts.set(owner, count);
    return found === 'gone' || count >= silentMax;
  };
  const checkOwners = async () => {
    const owners = [...outbox.overdueOwners(checkEveryMs), ...ownersOfOpen(context), ...evaluations.owners()];
    for (const owner of new Set(owners)) {
      if (owner !== null && !(await isGone(owner))) continue;
      if (!isAtHead(context)) return;
      outbox.sendFor(owner);
      acceptAttempts(context, owner);
      // Every replica that notices it calls the hooks: a call changes nothing, and the first answer counts.
      evaluations.takeOver(owner);
    }
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
    if (logClock.now() - attempt.atMs >= checkEveryMs) owners.add(record.owner);
  }
  return owners;
}

/** If several replicas notice it, the first entry in the log counts: the message id is the same for all. */
function acceptAttempts(context: HostContext, owner: string | null): void {
  const { fleet, replica, logger } = context;
  for (const worker of fleet.open) {
    const record = fleet.workers.get(worker);
    const attempt = record?.snapshot.context.worker.attempt?.attempt;
    if (record === undefined || attempt === undefined || record.owner !== owner) continue;
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
