/** A read sees everything that was stored before it began: it waits here until the fold has reached that. */

import { formatIsoTime } from '../../../machines/index.ts';
import { AppError } from '../../errors.ts';
import type { LogHead } from '../../nats/log/event-log.ts';
import { within } from '../../timer.ts';
import type { HostContext } from '../context.ts';
import { expectEntry } from './waiters.ts';

/**
 * Everything that the log holds now is folded, however long that takes. It proves that the log is the one that is
 * folded, and ends the host where it is not. @throws AppError log.lost, log.unavailable
 */
export async function catchUp(context: HostContext): Promise<void> {
  const { progress, life } = context;
  try {
    const head = await foldToHead(context);
    const foldedMs = progress.timeOf(head.seq);
    if (foldedMs !== null && foldedMs !== head.atMs) throw otherEntry(head.seq, head.atMs, foldedMs);
  } catch (error) {
    if (error instanceof AppError && error.code === 'log.lost') life.lose(error);
    throw error;
  }
  // A loss ends the wait, too.
  life.lost.throwIfAborted();
}

const askAgainMs = 2_000;

/**
 * Waits until the head is folded, and returns it. A log that went back has fewer entries than before, and the rest may
 * never come.
 */
async function foldToHead({ log, progress }: HostContext): Promise<LogHead> {
  for (let head = await log.head(); ; ) {
    if (await within(askAgainMs, progress.until(head.seq))) return head;
    const now = await log.head();
    if (now.seq < head.seq) head = now;
  }
}

const otherEntry = (seq: number, atMs: number, foldedMs: number) => {
  const [stands, folded] = [formatIsoTime(atMs), formatIsoTime(foldedMs)];
  const hint = 'restore it, or restart, which folds what is there from the beginning';
  return new AppError(
    'log.lost',
    `entry ${seq} of the log is of ${stands}, the one folded there of ${folded}: ${hint}`,
  );
};

/** @throws AppError log.lost, log.unavailable: the log does not move for `entryTimeoutMs` */
export async function catchUpInTime(context: HostContext): Promise<void> {
  await inTime(context, () => catchUp(context));
}

/** Everything up to `seq` is folded. It does not ask the log for its end. @throws AppError as `catchUpInTime` does */
export async function foldInTime(context: HostContext, seq: number): Promise<void> {
  await inTime(context, () => context.progress.until(seq));
}

/** Why nothing can be decided now, or null. */
export function faultOf(context: HostContext): AppError | null {
  const loss = context.life.loss();
  if (loss !== null) return loss;
  if (!context.bus.isConnected()) return notConnected();
  if (context.life.phase !== 'behind') return context.logHealth.fault();
  const silence = context.logHealth.silence();
  if (silence !== null) return silence;
  const [folded, last] = [context.progress.seq, Math.max(context.progress.seq, context.log.lastSeq())];
  return new AppError('log.unavailable', `folding the log: ${folded} of ${last} entries are folded; try again`);
}

export const notConnected = (): AppError => new AppError('log.unavailable', 'the connection to NATS is broken');

/** A request that comes while the history is folded would wait for too long. @throws AppError log.unavailable, log.lost */
export function throwUnlessStarted(context: HostContext): void {
  context.life.lost.throwIfAborted();
  const fault = context.life.hasStarted ? null : faultOf(context);
  if (fault !== null) throw fault;
}

async function inTime(context: HostContext, wait: () => Promise<void>): Promise<void> {
  throwUnlessStarted(context);
  await new Promise<void>((resolve, reject) => {
    const { clear } = expectEntry(context, () =>
      reject(new AppError('log.unavailable', 'the log did not answer in time')),
    );
    wait().then(resolve, reject).finally(clear);
  });
  // A loss ends the wait, too.
  context.life.lost.throwIfAborted();
}
