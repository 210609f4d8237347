/** A read sees everything that was stored before it began: it waits here until the fold has reached that. */
import { AppError } from '../errors.ts';
import type { HostContext } from './context.ts';

/** Everything that the log holds now is folded. However long that takes. */
export const catchUp = async ({ log, progress }: HostContext): Promise<void> => progress.until(await log.lastSeq());

/** @throws AppError log.lost, log.unavailable: it takes longer than `entryTimeoutMs` */
export async function catchUpInTime(context: HostContext): Promise<void> {
  await inTime(context, () => catchUp(context));
}

/** Everything up to `seq` is folded. It does not ask the log for its end. @throws AppError as `catchUpInTime` does */
export async function foldInTime(context: HostContext, seq: number): Promise<void> {
  await inTime(context, () => context.progress.until(seq));
}

async function inTime({ lost: { signal }, entryTimeoutMs }: HostContext, wait: () => Promise<void>): Promise<void> {
  signal.throwIfAborted();
  await new Promise<void>((resolve, reject) => {
    const late = new AppError('log.unavailable', `the log did not answer within ${entryTimeoutMs} ms`);
    const timer = setTimeout(() => reject(late), entryTimeoutMs);
    wait()
      .then(resolve, reject)
      .finally(() => clearTimeout(timer));
  });
  // A loss ends the wait, too.
  signal.throwIfAborted();
}
