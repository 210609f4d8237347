/**
 * Finds where a fold begins: at the newest snapshot that is complete and fits the log, or at the first entry
 * (protocol.md §15).
 */
import { describeUnknownRules, type Fleet, type Rules, restoreFleet, snapshotFormat } from '../../../machines/index.ts';
import { AppError } from '../../errors.ts';
import type { Logger } from '../../log.ts';
import type { LogPosition } from '../log/log-reader.ts';
import type { SnapshotInfo } from './snapshot-bucket.ts';
import type { SnapshotFile } from './snapshot-file.ts';
import type { SnapshotStore } from './snapshot-store.ts';

/** `host`: what the host has added; it reads it itself. */
export type FoldStart = { readonly fleet: Fleet; readonly position: LogPosition; readonly host: unknown };

export type FindStartOptions = {
  readonly fleet: string;
  readonly store: Pick<SnapshotStore, 'list' | 'read'>;
  /** Resolves to the entry in the log at `seq` now; null if there is none. @throws AppError log.unavailable */
  readonly positionAt: (seq: number) => Promise<LogPosition | null>;
  /** Default: those of this release. */
  readonly rules?: readonly Rules[] | undefined;
  /** Only snapshots of this entry or an earlier one. Default: all. */
  readonly upTo?: number | undefined;
  /** Tells whether the host can read what it has added. Default: nobody asks. */
  readonly isHostState?: ((host: unknown) => boolean) | undefined;
  /** One of this log that cannot be used, now or later. */
  readonly onDamaged?: ((name: string) => void) | undefined;
  readonly logger: Logger;
};

/**
 * Returns null to begin at the first entry. Snapshots that cannot be used are passed over with a warning.
 * @throws AppError, where the log is cut, rules.unknown: what covers it needs a later release; log.unavailable: it cannot be
 * read now
 */
export async function findStart({
  fleet,
  store,
  positionAt,
  rules,
  upTo = Number.POSITIVE_INFINITY,
  isHostState = () => true,
  onDamaged = () => {},
  logger,
}: FindStartOptions): Promise<FoldStart | null> {
  const infos = await store.list().catch(async (cause: Error) => {
    // Without them the beginning of a log that was cut would be taken for lost.
    if ((await positionAt(1)) === null) throw unreadable(cause);
    logger.warn({ err: cause }, 'the snapshots cannot be read; the log is folded from its beginning');
    return [];
  });
  /** The errors of snapshots that another release, or a later try, can use. */
  const passing: AppError[] = [];
  for (const info of infos) {
    const { name, position } = info;
    if (position.seq > upTo) continue;
    const why = await whyUnfit(info, await positionAt(position.seq));
    const start = why ?? (await load(info));
    if (typeof start !== 'string') return start;
    logger.warn({ snapshot: name, seq: position.seq, why: start }, 'snapshot passed over');
  }
  // Such a log looks as if its beginning were lost, and is whole for the next try, or for the release that wrote it.
  const cause = passing.find(({ code }) => code === 'log.unavailable');
  const [error = null] = cause === undefined ? passing : [unreadable(cause)];
  if (error !== null && (await positionAt(1)) === null) throw error;
  return null;

  async function load({ name, position, format }: SnapshotInfo): Promise<FoldStart | string> {
    try {
      if (format !== null && format > snapshotFormat) throw unknownFormat(format);
      const file = await store.read(name);
      if (!isOf(file, fleet, position)) throw new Error('it is of something else than its name says');
      if (!isHostState(file.host)) throw new Error('what it holds of the host is of another form');
      const restored = restoreFleet(fleet, file.lines, rules);
      const { unknownRules, rulesKnown } = restored;
      if (unknownRules === null) return { fleet: restored, position, host: file.host };
      throw new AppError('rules.unknown', describeUnknownRules(unknownRules, rulesKnown));
    } catch (error) {
      if (error instanceof AppError) passing.push(error);
      else onDamaged(name);
      return (error as Error).message;
    }
  }
}

const unreadable = (cause: Error): AppError =>
  new AppError('log.unavailable', `entry 1 is not in the log, and its snapshots cannot be read: ${cause.message}`, {
    cause,
  });

const unknownFormat = (format: number): AppError =>
  new AppError(
    'rules.unknown',
    `a snapshot is of format ${format}, and this release reads ${snapshotFormat}; install the release that wrote it, or a later one`,
  );

/**
 * Yields the snapshots that are of this log as it is now: a log that went back keeps the snapshots of what is gone.
 * First comes the one that covers most, which need not be the one that was stored last. The log is asked about each
 * only when it is its turn.
 */
export async function* fittingSnapshots({
  store,
  positionAt,
}: Pick<FindStartOptions, 'store' | 'positionAt'>): AsyncGenerator<SnapshotInfo> {
  const infos = [...(await store.list())].sort((a, b) => b.position.seq - a.position.seq);
  for (const info of infos) {
    if (isOfLog(info, await positionAt(info.position.seq))) yield info;
  }
}

function whyUnfit({ position }: SnapshotInfo, found: LogPosition | null): string | null {
  if (found === null) return `the log has no entry ${position.seq}`;
  return isSamePosition(found, position) ? null : `entry ${position.seq} of the log is another one`;
}

/** Tells whether it is of the log in which `found` stands at its place now. */
export const isOfLog = (info: SnapshotInfo, found: LogPosition | null): boolean => whyUnfit(info, found) === null;

/** Tells whether a file is what the store says of it. */
export const isOf = ({ head }: SnapshotFile, fleet: string, position: LogPosition): boolean =>
  head.fleet === fleet && isSamePosition(head.position, position);

const isSamePosition = (a: LogPosition, b: LogPosition): boolean =>
  a.seq === b.seq && a.atMs === b.atMs && a.subject === b.subject && a.digest === b.digest;
