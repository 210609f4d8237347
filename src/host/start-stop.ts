/**
 * The start, the return to the log's head, and the end of a host: what its parts do at each change of its lifecycle
 * (`lifecycle.ts`).
 */
import { AppError } from '../errors.ts';
import type { FoldLoop } from './fold/fold-loop.ts';
import { catchUp } from './intake/read-barrier.ts';
import { upgradeRules } from './maintenance/membership.ts';
import type { HostParts } from './parts.ts';

export type StartStop = {
  /** Folds the history and continues what it left open. @throws AppError log.lost, replica.running */
  start(): Promise<void>;
  close(): Promise<void>;
};

const retryMs = 250;
const reportEveryMs = 5_000;

export function createStartStop(parts: HostParts, loop: FoldLoop): StartStop {
  const { lifecycle, log } = parts;
  let reader: { close(): void } | null = null;
  lifecycle.watch((phase, why) => {
    if (phase === 'head') openEffects(parts);
    if (phase === 'behind') {
      parts.logger.info({ why, seq: parts.progress.seq }, 'entries stored in the meantime are folded first');
      // It fails where the host has ended, and whoever ended it says so.
      regainHead(parts).catch(() => {});
    }
    if (phase === 'lost') {
      reader?.close();
      onLost(parts);
    }
  });
  return {
    async start() {
      reader = log.read({
        folded: parts.progress.position,
        onMessage: loop.receive,
        onLost: lifecycle.lose,
        onInterrupted: () => lifecycle.fallBehind('the connection to the log was interrupted'),
      });
      await reachHead(parts);
      parts.pendingReplies.open();
      await parts.membership.join();
      // The join itself comes back from the log, and everything before it is folded then.
      await reachHead(parts);
      lifecycle.reachHead();
      await parts.policies.open();
      await reachHead(parts);
      lifecycle.start();
      const { membership, takeover, foldNote, logWatch, snapshots, retention } = parts;
      for (const part of [membership, takeover, logWatch, snapshots, retention]) part.open();
      await foldNote.open();
    },
    async close() {
      lifecycle.leave();
      parts.logHealth.close();
      stopEffects(parts);
      parts.outbox.flush();
      const isLost = lifecycle.phase === 'lost';
      await Promise.all([isLost ? null : parts.membership.leave(), parts.foldNote.close()]);
      if (!isLost) await parts.snapshots.close();
      reader?.close();
      parts.outbox.flush();
      failCallers(parts, new AppError('log.unavailable', 'this replica is stopping; try again'));
    },
  };
}

async function regainHead(parts: HostParts): Promise<void> {
  const { lifecycle, logger, policies, progress } = parts;
  for (let seen = -1; seen !== lifecycle.falls; ) {
    seen = lifecycle.falls;
    await reachHead(parts);
  }
  if (lifecycle.phase !== 'behind') return;
  lifecycle.reachHead();
  void policies.open();
  logger.info({ seq: progress.seq }, 'at the head of the log again');
}

/** Folds what is stored, however long that takes. @throws AppError log.lost, and what else has ended the host */
async function reachHead(parts: HostParts): Promise<void> {
  const report = setInterval(() => reportProgress(parts), reportEveryMs);
  try {
    await untilCaughtUp(parts);
  } finally {
    clearInterval(report);
  }
}

/** Retries while the server is slow or away. @throws AppError log.lost, log.unavailable: the host is being closed */
async function untilCaughtUp(parts: HostParts): Promise<void> {
  const { lifecycle, logger } = parts;
  while (lifecycle.isRunning()) {
    try {
      await catchUp(parts);
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

function reportProgress({ log, logHealth, progress, logger }: HostParts): void {
  const silence = logHealth.silence();
  if (silence !== null) logger.warn({ reason: silence.message }, 'the log does not answer; asking again');
  const lastSeq = log.lastSeq();
  const percent = lastSeq === 0 ? 0 : Math.floor((100 * progress.seq) / lastSeq);
  logger.info({ foldedSeq: progress.seq, lastSeq, percent }, 'folding the log');
}

/** The log's head is reached: effects of the fold go out from now on, also those that are still open. */
function openEffects(parts: HostParts): void {
  const { outbox, deadLetters, notices, effects } = parts;
  for (const part of [outbox, deadLetters, notices, effects]) part.open();
  upgradeRules(parts);
}

/** Nothing of this fold may get into another log. */
function onLost(parts: HostParts): void {
  const error = parts.lifecycle.loss() as AppError;
  if (error.code === 'log.lost') parts.logger.error({ err: error }, 'the log is lost');
  if (error.code === 'rules.unknown') parts.logger.error({ err: error }, 'the log needs a later release');
  stopEffects(parts);
  parts.membership.close();
  failCallers(parts, error);
  parts.progress.release();
}

function stopEffects({ effects, pendingReplies, takeover, logWatch, retention }: HostParts): void {
  for (const part of [effects, pendingReplies, takeover, logWatch, retention]) part.close();
}

function failCallers({ decisionWaiters, evaluationWaiters }: HostParts, error: AppError): void {
  decisionWaiters.failAll(error);
  evaluationWaiters.failAll(error);
}
