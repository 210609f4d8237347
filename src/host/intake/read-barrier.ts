/** A read sees everything that was stored before it began: it waits here until the fold has reached that. */

import { formatIsoTime } from '../../../machines/index.ts';
import { AppError } from '../../errors.ts';
import type { Bus } from '../../nats/bus.ts';
import type { EventLog, LogHead } from '../../nats/log/event-log.ts';
import { within } from '../../timer.ts';
import type { FoldProgress } from '../fold/fold-progress.ts';
import type { Lifecycle } from '../lifecycle.ts';
import type { LogHealth } from '../maintenance/log-health.ts';
import { type EntryWaitOptions, expectEntry } from './entry-wait.ts';

/** The parts of a host that a read barrier looks at. */
export type BarrierParts = EntryWaitOptions & {
  readonly log: Pick<EventLog, 'head' | 'lastSeq'>;
  readonly bus: Pick<Bus, 'isConnected'>;
  readonly progress: FoldProgress;
  readonly lifecycle: Lifecycle;
  readonly logHealth: Pick<LogHealth, 'fault' | 'silence'>;
};

/**
 * Everything that the log holds now is folded, however long that takes. It proves that the log is the one that is
 * folded, and ends the host where it is not. @throws AppError log.lost, log.unavailable
 */
export async function catchUp(parts: BarrierParts): Promise<void> {
  const { progress, lifecycle } = parts;
  try {
    const head = await foldToHead(parts);
    const foldedMs = progress.timeOf(head.seq);
    if (foldedMs !== null && foldedMs !== head.atMs) throw otherEntry(head.seq, head.atMs, foldedMs);
  } catch (error) {
    if (error instanceof AppError && error.code === 'log.lost') lifecycle.lose(error);
    throw error;
  }
  // A loss ends the wait, too.
  lifecycle.lost.throwIfAborted();
}

const askAgainMs = 2_000;

/**
 * Waits until the head is folded, and returns it. A log that went back has fewer entries than before, and the rest may
 * never come.
 */
async function foldToHead({ log, progress }: BarrierParts): Promise<LogHead> {
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
export async function catchUpInTime(parts: BarrierParts): Promise<void> {
  await inTime(parts, () => catchUp(parts));
}

/** Everything up to `seq` is folded. It does not ask the log for its end. @throws AppError as `catchUpInTime` does */
export async function foldInTime(parts: BarrierParts, seq: number): Promise<void> {
  await inTime(parts, () => parts.progress.until(seq));
}

/** Returns why nothing can be decided now, or null. */
export const faultOf = (parts: BarrierParts): AppError | null => outageOf(parts)?.error ?? null;

/**
 * `log-lost`: what was folded is not what the log holds. `ended`: another replica has the name, or the log needs a later
 * release. `nats-away`: the connection is broken. `log-silent`: NATS answers, and the log does not. `not-stored`: the
 * log takes no entries. `catching-up`: what is stored is being folded.
 */
export type OutageKind = 'log-lost' | 'ended' | 'nats-away' | 'log-silent' | 'not-stored' | 'catching-up';

/** The same, with its kind. */
export function outageOf(parts: BarrierParts): { readonly kind: OutageKind; readonly error: AppError } | null {
  const { bus, lifecycle, log, logHealth, progress } = parts;
  const loss = lifecycle.loss();
  if (loss !== null) return { kind: loss.code === 'log.lost' ? 'log-lost' : 'ended', error: loss };
  if (!bus.isConnected()) return { kind: 'nats-away', error: notConnected() };
  const fault = logHealth.fault();
  if (lifecycle.phase !== 'behind') return fault === null ? null : { kind: 'not-stored', error: fault };
  const silence = logHealth.silence();
  if (silence !== null) return { kind: 'log-silent', error: silence };
  const [folded, last] = [progress.seq, Math.max(progress.seq, log.lastSeq())];
  const text = `folding the log: ${folded} of ${last} entries are folded; try again`;
  return { kind: 'catching-up', error: new AppError('log.unavailable', text) };
}

export const notConnected = (): AppError => new AppError('log.unavailable', 'the connection to NATS is broken');

/** A request that comes while the history is folded would wait for too long. @throws AppError log.unavailable, log.lost */
export function throwUnlessStarted(parts: BarrierParts): void {
  parts.lifecycle.lost.throwIfAborted();
  const fault = parts.lifecycle.hasStarted ? null : faultOf(parts);
  if (fault !== null) throw fault;
}

async function inTime(parts: BarrierParts, wait: () => Promise<void>): Promise<void> {
  throwUnlessStarted(parts);
  await new Promise<void>((resolve, reject) => {
    const late = expectEntry(parts, () => reject(new AppError('log.unavailable', 'the log did not answer in time')));
    wait()
      .then(resolve, reject)
      .finally(() => late.clear());
  });
  // A loss ends the wait, too.
  parts.lifecycle.lost.throwIfAborted();
}
