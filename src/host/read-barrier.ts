/** A read sees everything that was stored before it began: it waits here until the fold has reached that. */
import { formatIsoTime } from '../../machines/index.ts';
import { AppError } from '../errors.ts';
import type { HostContext } from './context.ts';
import { expectEntry } from './expect-entry.ts';

/**
 * Everything that the log holds now is folded, however long that takes. It proves that the log is the one that is
 * folded, and ends the host where it is not. @throws AppError log.lost, log.unavailable
 */
export async function catchUp(context: HostContext): Promise<void> {
  const { log, progress, lost } = context;
  try {
    const head = await log.head();
    await progress.until(head.seq);
    const foldedMs = progress.timeOf(head.seq);
    if (foldedMs !== null && foldedMs !== head.atMs) throw otherEntry(head.seq, head.atMs, foldedMs);
  } catch (error) {
    if (error instanceof AppError && error.code === 'log.lost') lost.abort(error);
    throw error;
  }
  // A loss ends the wait, too.
  lost.signal.throwIfAborted();
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

async function inTime(context: HostContext, wait: () => Promise<void>): Promise<void> {
  const { signal } = context.lost;
  signal.throwIfAborted();
  await new Promise<void>((resolve, reject) => {
    const stop = expectEntry(context, () => reject(new AppError('log.unavailable', 'the log did not answer in time')));
    wait().then(resolve, reject).finally(stop);
  });
  // A loss ends the wait, too.
  signal.throwIfAborted();
}
