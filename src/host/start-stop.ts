/**
 * The start, the return to the log's head, and the end of a host: what its rooms do at each change of its life
 * (`lifecycle.ts`).
 */
import { AppError } from '../errors.ts';
import type { HostContext } from './context.ts';
import type { Effects } from './effects/effects.ts';
import type { Notices } from './effects/notices.ts';
import type { PendingReplies } from './effects/pending-replies.ts';
import type { Takeover } from './effects/takeover.ts';
import type { FoldLoop, FoldRooms } from './fold/fold-loop.ts';
import { catchUp } from './intake/read-barrier.ts';
import type { FoldNote, LogWatch } from './maintenance/log-health.ts';
import { type Membership, upgradeRules } from './maintenance/membership.ts';
import type { Retention } from './maintenance/retention.ts';

export type Rooms = FoldRooms & {
  readonly effects: Effects;
  readonly notices: Notices;
  readonly pendingReplies: PendingReplies;
  readonly foldNote: FoldNote;
  readonly logWatch: LogWatch;
  readonly membership: Membership;
  readonly retention: Retention;
  readonly takeover: Takeover;
};

export type StartStop = {
  /** Folds the history and continues what it left open. @throws AppError log.lost, replica.running */
  start(): Promise<void>;
  close(): Promise<void>;
};

const retryMs = 250;
const reportEveryMs = 5_000;

export function createStartStop(context: HostContext, rooms: Rooms, loop: FoldLoop): StartStop {
  const { lifecycle, log } = context;
  let reader: { close(): void } | null = null;
  lifecycle.watch((phase, why) => {
    if (phase === 'head') openEffects(context, rooms);
    if (phase === 'behind') {
      context.logger.info({ why, seq: context.progress.seq }, 'entries stored in the meantime are folded first');
      // It fails where the host has ended, and whoever ended it says so.
      regainHead(context, rooms).catch(() => {});
    }
    if (phase === 'lost') {
      reader?.close();
      onLost(context, rooms);
    }
  });
  return {
    async start() {
      reader = log.read({
        folded: context.progress.position,
        onMessage: loop.receive,
        onLost: lifecycle.lose,
        onInterrupted: () => lifecycle.fallBehind('the connection to the log was interrupted'),
      });
      await reachHead(context);
      rooms.pendingReplies.open();
      await rooms.membership.join();
      // The join itself comes back from the log, and everything before it is folded then.
      await reachHead(context);
      lifecycle.reachHead();
      await rooms.policies.open();
      await reachHead(context);
      lifecycle.start();
      const { membership, takeover, foldNote, logWatch, snapshots, retention } = rooms;
      for (const room of [membership, takeover, logWatch, snapshots, retention]) room.open();
      await foldNote.open();
    },
    async close() {
      lifecycle.leave();
      context.logHealth.close();
      stopEffects(rooms);
      rooms.outbox.flush();
      const isLost = lifecycle.phase === 'lost';
      await Promise.all([isLost ? null : rooms.membership.leave(), rooms.foldNote.close()]);
      if (!isLost) await rooms.snapshots.close();
      reader?.close();
      rooms.outbox.flush();
      failCallers(context, new AppError('log.unavailable', 'this replica is stopping; try again'));
    },
  };
}

async function regainHead(context: HostContext, { policies }: Rooms): Promise<void> {
  const { lifecycle, logger, progress } = context;
  for (let seen = -1; seen !== lifecycle.falls; ) {
    seen = lifecycle.falls;
    await reachHead(context);
  }
  if (lifecycle.phase !== 'behind') return;
  lifecycle.reachHead();
  void policies.open();
  logger.info({ seq: progress.seq }, 'at the head of the log again');
}

/** Folds what is stored, however long that takes. @throws AppError log.lost, and what else has ended the host */
async function reachHead(context: HostContext): Promise<void> {
  const report = setInterval(() => reportProgress(context), reportEveryMs);
  try {
    await untilCaughtUp(context);
  } finally {
    clearInterval(report);
  }
}

/** Retries while the server is slow or away. @throws AppError log.lost, log.unavailable: the host is being closed */
async function untilCaughtUp(context: HostContext): Promise<void> {
  const { lifecycle, logger } = context;
  while (lifecycle.isRunning()) {
    try {
      await catchUp(context);
      if (lifecycle.isRunning()) return;
    } catch (error) {
      lifecycle.lost.throwIfAborted();
      logger.debug({ err: error }, 'the log does not answer; trying again');
      await new Promise((done) => setTimeout(done, retryMs));
    }
  }
  lifecycle.lost.throwIfAborted();
  throw new AppError('log.unavailable', 'this replica is stopping; try again');
}

function reportProgress({ log, logHealth, progress, logger }: HostContext): void {
  const silence = logHealth.silence();
  if (silence !== null) logger.warn({ reason: silence.message }, 'the log does not answer; asking again');
  const lastSeq = log.lastSeq();
  const percent = lastSeq === 0 ? 0 : Math.floor((100 * progress.seq) / lastSeq);
  logger.info({ foldedSeq: progress.seq, lastSeq, percent }, 'folding the log');
}

/** The log's head is reached: effects of the fold go out from now on, also those that are still open. */
function openEffects(context: HostContext, { outbox, deadLetters, notices, effects }: Rooms): void {
  for (const room of [outbox, deadLetters, notices, effects]) room.open();
  upgradeRules(context);
}

/** Nothing of this fold may get into another log. */
function onLost(context: HostContext, rooms: Rooms): void {
  const error = context.lifecycle.loss() as AppError;
  if (error.code === 'log.lost') context.logger.error({ err: error }, 'the log is lost');
  if (error.code === 'rules.unknown') context.logger.error({ err: error }, 'the log needs a later release');
  stopEffects(rooms);
  rooms.membership.close();
  failCallers(context, error);
  context.progress.release();
}

function stopEffects({ effects, pendingReplies, takeover, logWatch, retention }: Rooms): void {
  for (const room of [effects, pendingReplies, takeover, logWatch, retention]) room.close();
}

function failCallers({ decisionWaiters, evaluationWaiters }: HostContext, error: AppError): void {
  decisionWaiters.failAll(error);
  evaluationWaiters.failAll(error);
}
