/**
 * Read barriers: a read waits until everything that was stored before it is folded. Also says why the host is
 * unavailable.
 */
import { formatIsoTime } from '../../../machines/index.ts';
import { AppError } from '../../errors.ts';
import type { Bus } from '../../nats/bus.ts';
import type { EventLog, LogHead } from '../../nats/log/event-log.ts';
import { within } from '../../timer.ts';
import type { FoldProgress } from '../fold/fold-progress.ts';
import type { Lifecycle } from '../lifecycle.ts';
import type { LogHealth } from '../maintenance/log-health.ts';
import { type EntryWaitOptions, expectEntry } from './entry-wait.ts';

/** The parts of a host that a read barrier needs. */
export type BarrierParts = EntryWaitOptions & {
  readonly log: Pick<EventLog, 'head' | 'lastSeq'>;
  readonly bus: Pick<Bus, 'isConnected'>;
  readonly progress: FoldProgress;
  readonly lifecycle: Lifecycle;
  readonly logHealth: Pick<LogHealth, 'fault' | 'silence'>;
};

/**
 * Resolves when everything that the log holds now is folded, however long that takes. Verifies that the log is the
 * folded one, and ends the host if it is not.
 * @throws AppError log.lost or log.unavailable
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
 * Waits until the head is folded, and returns it. Asks again from time to time: a log that was restored from a backup
 * has fewer entries, and the missing ones may never come.
 */
async function foldToHead({ log, progress }: BarrierParts): Promise<LogHead> {
  for (let head = await log.head(); ; ) {
    if (await within(askAgainMs, progress.until(head.seq))) return head;
    const now = await log.head();
    if (now.seq < head.seq) head = now;
  }
}

const otherEntry = (seq: number, atMs: number, foldedMs: number) => {
  const [stored, folded] = [formatIsoTime(atMs), formatIsoTime(foldedMs)];
  const hint = 'restore the log, or restart to fold the current one from its beginning';
  return new AppError(
    'log.lost',
    `entry ${seq} of the log was stored at ${stored}, but the folded entry ${seq} at ${folded}: ${hint}`,
  );
};

/** As `catchUp`, with a timeout. @throws AppError log.lost, or log.unavailable if the log delivers nothing in time */
export async function catchUpInTime(parts: BarrierParts): Promise<void> {
  await inTime(parts, () => catchUp(parts));
}

/**
 * Resolves when everything up to `seq` is folded, without asking the log for its head. @throws as `catchUpInTime` does
 */
export async function foldInTime(parts: BarrierParts, seq: number): Promise<void> {
  await inTime(parts, () => parts.progress.until(seq));
}

/** Returns why no decision can be made now, or null. */
export const faultOf = (parts: BarrierParts): AppError | null => outageOf(parts)?.error ?? null;

/**
 * `log-lost`: the log is not the one that was folded. `ended`: another replica has the name, or the log needs a later
 * release. `nats-away`: the connection is broken. `log-silent`: NATS answers, but the log does not. `not-stored`: the
 * log accepts no entries. `catching-up`: stored entries are still being folded.
 */
export type OutageKind = 'log-lost' | 'ended' | 'nats-away' | 'log-silent' | 'not-stored' | 'catching-up';

/** As `faultOf`, with the kind of outage. */
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

/**
 * Refuses requests while the history is folded: they would wait too long. @throws AppError log.unavailable or log.lost
 */
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
