/**
 * Members: says that this replica lives, and takes over what a silent one left open. Whether an owner lives is asked
 * of it over the bus, which knows at once when a connection is gone; the log only says who has ever been here.
 */
import { appendUntilStored, type HostContext, subject } from './context.ts';
import type { Evaluations } from './evaluations.ts';
import type { Outbox } from './outbox.ts';

const joinEveryMs = 10_000;
const lookEveryMs = 500;
const silentMax = 2;

export type Members = {
  join(): Promise<void>;
  start(): void;
  stop(): void;
  /** Says goodbye, as well as it can. */
  leave(): Promise<void>;
};

export function createMembers(
  context: HostContext,
  outbox: Outbox,
  evaluations: Pick<Evaluations, 'owners' | 'serve'>,
  isRunning: () => boolean,
): Members {
  const silent = new Map<string, number>();
  let timers: NodeJS.Timeout[] = [];
  let looking = false;

  const join = () =>
    context.log
      .append(
        subject(context, `own.fleet.${context.fleet.name}.replica.joined`),
        JSON.stringify({ replica: context.replica }),
        {
          replica: context.replica,
        },
      )
      .then(
        () => {},
        (error) => context.logger.warn({ err: error }, 'could not say that this replica lives'),
      );

  const look = async () => {
    if (looking || !context.atHead()) return;
    looking = true;
    try {
      outbox.resend();
      for (const owner of new Set([...ownersToAsk(context, outbox), ...evaluations.owners()])) {
        if (owner !== null && !(await isGone(owner))) continue;
        if (!isRunning()) return;
        takeOver(context, outbox, owner, isRunning);
        // Whoever sees it asks: a question has no effect, and the first answer counts.
        evaluations.serve(owner);
      }
    } catch (error) {
      // The connection is closing; what stays here is the others' to send.
      context.logger.warn({ err: error }, 'could not look after the others');
    } finally {
      looking = false;
    }
  };
  const isGone = async (owner: string) => {
    const found = await context.bus.ping(owner);
    const count = found === 'silent' ? (silent.get(owner) ?? 0) + 1 : 0;
    silent.set(owner, count);
    return found === 'gone' || count >= silentMax;
  };

  const stop = () => {
    for (const timer of timers.splice(0)) clearInterval(timer);
  };

  return {
    join,
    start() {
      timers = [setInterval(() => void join(), joinEveryMs), setInterval(() => void look(), lookEveryMs)];
    },
    stop,
    async leave() {
      stop();
      const data = JSON.stringify({ replica: context.replica });
      const left = context.log.append(subject(context, `own.fleet.${context.fleet.name}.replica.left`), data, {
        replica: context.replica,
      });
      await Promise.race([left.catch(() => {}), new Promise((done) => setTimeout(done, 1_000).unref())]);
    },
  };
}

function ownersToAsk({ fleet, replica, logNow }: HostContext, outbox: Outbox): Set<string | null> {
  const owners = outbox.overdueOwners(lookEveryMs);
  for (const worker of fleet.open) {
    const record = fleet.workers.get(worker);
    const attempt = record?.snapshot.context.worker.attempt;
    if (record === undefined || attempt == null || record.owner === replica) continue;
    if (logNow() - attempt.atMs >= lookEveryMs) owners.add(record.owner);
  }
  return owners;
}

/** Of several that see the silence the first in the log has it: the message id is the same for all. */
function takeOver(context: HostContext, outbox: Outbox, owner: string | null, isRunning: () => boolean): void {
  const { fleet, replica, logger } = context;
  outbox.sendFor(owner);
  for (const worker of fleet.open) {
    const record = fleet.workers.get(worker);
    const attempt = record?.snapshot.context.worker.attempt;
    if (record === undefined || attempt == null || record.owner !== owner) continue;
    logger.warn({ workerId: worker, attempt: attempt.attempt, from: owner }, 'taking over an attempt');
    const data = { attempt: attempt.attempt, replica, ...(owner === null ? {} : { from: owner }) };
    const messageId = `${worker}:${attempt.attempt}:accepted:${owner ?? ''}`;
    const isNeeded = () =>
      isRunning() && record.owner === owner && record.snapshot.context.worker.attempt?.attempt === attempt.attempt;
    void appendUntilStored(context, `own.worker.${worker}.attempt.accepted`, data, messageId, isNeeded);
  }
}
