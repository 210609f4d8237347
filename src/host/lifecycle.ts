/**
 * The lifecycle of a host: it folds what is stored, reaches the log's head, and leaves; or it loses its log. After each
 * reconnect and pause it is behind again, and nothing goes out before what was stored meanwhile is folded
 * (protocol.md §9).
 */
import { AppError } from '../errors.ts';
import { type HostContext, isRunning, lossOf } from './context.ts';
import type { FoldLoop, FoldRooms } from './fold-loop.ts';
import type { FoldNote } from './fold-note.ts';
import type { LogWatch } from './log-watch.ts';
import type { Membership } from './membership.ts';
import { catchUp } from './read-barrier.ts';
import type { Retention } from './retention.ts';
import { upgradeRules } from './rules-upgrade.ts';
import type { Takeover } from './takeover.ts';

export type Rooms = FoldRooms & {
  readonly foldNote: FoldNote;
  readonly logWatch: LogWatch;
  readonly membership: Membership;
  readonly retention: Retention;
  readonly takeover: Takeover;
};

export type Lifecycle = {
  /** Folds the history and continues what it left open. @throws AppError log.lost, replica.running */
  start(): Promise<void>;
  close(): Promise<void>;
};

const retryMs = 250;
const reportEveryMs = 5_000;

export function createLifecycle(context: HostContext, rooms: Rooms, loop: FoldLoop): Lifecycle {
  const { log, lost } = context;
  let reader: { close(): void } | null = null;
  lost.signal.addEventListener('abort', () => {
    reader?.close();
    onLost(context, rooms);
  });
  const head = createHead(context, rooms);
  context.fallBehind = head.fallBehind;
  return {
    async start() {
      reader = log.read({
        ...{ folded: context.progress.position, onMessage: loop.receive },
        onLost: (error) => lost.abort(error),
        onInterrupted: () => context.fallBehind('the connection to the log was interrupted'),
      });
      await head.reach();
      context.pendingReplies.open();
      await rooms.membership.join();
      // The join itself comes back from the log, and everything before it is folded then.
      await head.reach();
      resume(context, rooms);
      await rooms.policies.open();
      await head.reach();
      context.hasStarted = true;
      context.pauses.open(() => context.fallBehind('this process did not run for a while'));
      const { membership, takeover, foldNote, logWatch, snapshots, retention } = rooms;
      for (const room of [membership, takeover, logWatch, snapshots, retention]) room.open();
      await foldNote.open();
    },
    async close() {
      // An end during the start still folds for a moment: what it finds undecided or unsent is for those that stay.
      if (context.phase === 'behind') context.phase = 'leaving';
      else if (context.phase === 'head') context.phase = 'closing';
      context.logHealth.close();
      stopEffects(context, rooms);
      rooms.outbox.flush();
      const isLost = context.phase === 'lost';
      await Promise.all([isLost ? null : rooms.membership.leave(), rooms.foldNote.close()]);
      if (!isLost) await rooms.snapshots.close();
      reader?.close();
      rooms.outbox.flush();
      failCallers(context, new AppError('log.unavailable', 'this replica is stopping; try again'));
    },
  };
}

type Head = Pick<HostContext, 'fallBehind'> & {
  /** Folds what is stored, however long that takes. @throws AppError log.lost, and what else has ended the host */
  reach(): Promise<void>;
};

function createHead(context: HostContext, rooms: Rooms): Head {
  let falls = 0;
  const reach = async () => {
    const report = setInterval(() => reportProgress(context), reportEveryMs);
    try {
      await untilCaughtUp(context);
    } finally {
      clearInterval(report);
    }
  };
  const regain = async () => {
    for (let seen = -1; seen !== falls; ) {
      seen = falls;
      await reach();
    }
    if (!resume(context, rooms)) return;
    void rooms.policies.open();
    context.logger.info({ seq: context.progress.seq }, 'at the head of the log again');
  };
  return {
    reach,
    fallBehind(why) {
      falls += 1;
      context.pauses.reset();
      if (context.phase !== 'head') return;
      context.phase = 'behind';
      context.logger.info({ why, seq: context.progress.seq }, 'entries stored in the meantime are folded first');
      // It fails where the host has ended, and whoever ended it says so.
      regain().catch(() => {});
    },
  };
}

/** Retries while the server is slow or away. @throws AppError log.lost, log.unavailable: the host is being closed */
async function untilCaughtUp(context: HostContext): Promise<void> {
  while (isRunning(context)) {
    try {
      await catchUp(context);
      context.silence = null;
      if (isRunning(context)) return;
    } catch (error) {
      context.lost.signal.throwIfAborted();
      context.silence = error instanceof AppError ? error : null;
      context.logger.debug({ err: error }, 'the log does not answer; trying again');
      await new Promise((done) => setTimeout(done, retryMs));
    }
  }
  context.lost.signal.throwIfAborted();
  throw new AppError('log.unavailable', 'this replica is stopping; try again');
}

function reportProgress({ log, progress, logger, silence }: HostContext): void {
  if (silence !== null) logger.warn({ reason: silence.message }, 'the log does not answer; asking again');
  const lastSeq = log.lastSeq();
  const percent = lastSeq === 0 ? 0 : Math.floor((100 * progress.seq) / lastSeq);
  logger.info({ foldedSeq: progress.seq, lastSeq, percent }, 'folding the log');
}

/**
 * The log's head is reached: effects of the fold go out from now on, also those that are still open.
 * @returns false: it has ended meanwhile
 */
function resume(context: HostContext, rooms: Rooms): boolean {
  if (context.phase !== 'behind') return false;
  context.pauses.reset();
  context.phase = 'head';
  for (const room of [rooms.outbox, rooms.deadLetters, rooms.checks, rooms.evaluations, rooms.notices]) room.open();
  upgradeRules(context);
  rooms.timers.arm();
  return true;
}

/** Nothing of this fold may get into another log. */
function onLost(context: HostContext, rooms: Rooms): void {
  const error = lossOf(context) as AppError;
  if (error.code === 'log.lost') context.logger.error({ err: error }, 'the log is lost');
  if (error.code === 'rules.unknown') context.logger.error({ err: error }, 'the log needs a later release');
  context.phase = 'lost';
  stopEffects(context, rooms);
  rooms.membership.close();
  failCallers(context, error);
  context.progress.release();
}

function stopEffects(
  { pauses, pendingReplies }: HostContext,
  { timers, checks, evaluations, notices, takeover, logWatch, retention }: Rooms,
): void {
  for (const room of [pauses, pendingReplies, timers, checks, evaluations, notices, takeover, logWatch, retention])
    room.close();
}

function failCallers({ decisionWaiters, evaluationWaiters }: HostContext, error: AppError): void {
  decisionWaiters.failAll(error);
  evaluationWaiters.failAll(error);
}
