/**
 * Starts and stops a host, and brings it back to the log's head: the actions at each change of its lifecycle
 * (`lifecycle.ts`).
 */
import { AppError } from '../errors.ts';
import type { FoldLoop } from './fold/fold-loop.ts';
import { catchUp } from './intake/read-barrier.ts';
import { upgradeRules } from './maintenance/membership.ts';
import type { HostParts } from './parts.ts';

export type StartStop = {
  /** Folds the history, then resumes open attempts, checks and timers. @throws AppError log.lost or replica.running */
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
      // Rejects only if the host has ended, which is reported elsewhere.
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
      // `replica.joined` comes back from the log after everything that was stored before it.
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

/** Folds the log to its head, however long that takes. @throws AppError log.lost, or the error that ended the host */
async function reachHead(parts: HostParts): Promise<void> {
  const report = setInterval(() => reportProgress(parts), reportEveryMs);
  try {
    await untilCaughtUp(parts);
  } finally {
    clearInterval(report);
  }
}

/**
 * Retries while the server is slow or away. @throws AppError log.lost, or log.unavailable if the host is being closed
 */
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
  if (silence !== null) logger.warn({ reason: silence.message }, 'the log does not answer; trying again');
  const lastSeq = log.lastSeq();
  const percent = lastSeq === 0 ? 0 : Math.floor((100 * progress.seq) / lastSeq);
  logger.info({ foldedSeq: progress.seq, lastSeq, percent }, 'folding the log');
}

/** Called at the log's head: starts all effects that are open, and lets new ones start. */
function openEffects(parts: HostParts): void {
  const { outbox, deadLetters, notices, effects } = parts;
  for (const part of [outbox, deadLetters, notices, effects]) part.open();
  upgradeRules(parts);
}

/** Stops everything, so that nothing derived from this fold gets into another log. */
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
