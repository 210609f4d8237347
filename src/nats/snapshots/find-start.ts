/**
 * Finds where a fold begins: at the newest intact snapshot that belongs to the log, or at the first entry (protocol.md
 * §15). `snapshots.ts` lists the other steps in the lifecycle of a snapshot.
 */
import {
  describeUnknownRules,
  type Fleet,
  type RulesVersion,
  restoreFleet,
  snapshotFormat,
} from '../../../machines/index.ts';
import { AppError } from '../../errors.ts';
import type { Logger } from '../../log.ts';
import type { LogPosition } from '../log/log-reader.ts';
import type { SnapshotInfo } from './snapshot-bucket.ts';
import type { SnapshotFile } from './snapshot-file.ts';
import type { SnapshotStore } from './snapshot-store.ts';

/** `host`: the state that the host added to the snapshot, for the host to restore. */
export type FoldStart = { readonly fleet: Fleet; readonly position: LogPosition; readonly host: unknown };

type FindStartOptions = {
  readonly fleet: string;
  readonly store: Pick<SnapshotStore, 'list' | 'read'>;
  /** Resolves to the log's current entry at `seq`, or null. @throws AppError log.unavailable */
  readonly positionAt: (seq: number) => Promise<LogPosition | null>;
  /** Default: all rules of this release. */
  readonly rules?: readonly RulesVersion[] | undefined;
  /** Use only snapshots up to this sequence number. Default: all. */
  readonly upTo?: number | undefined;
  /** Tells whether the host can restore its state. Default: not checked. */
  readonly isHostState?: ((host: unknown) => boolean) | undefined;
  /** Called for a snapshot of this log that can never be used. */
  readonly onDamaged?: ((name: string) => void) | undefined;
  readonly logger: Logger;
};

/**
 * Returns null to begin at the first entry. Skips unusable snapshots with a warning.
 * @throws AppError if the beginning of the log was cut: rules.unknown if the snapshots need a later release,
 * log.unavailable if they cannot be read now
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
    // If the log was cut, it cannot be folded without its snapshots.
    if ((await positionAt(1)) === null) throw unreadable(cause);
    logger.warn({ err: cause }, 'cannot read the snapshots; folding the log from its beginning');
    return [];
  });
  /** The errors of snapshots that another release or a later try can use. */
  const temporary: AppError[] = [];
  /** Set if an intact snapshot needs later rules. Then so does the log, whichever snapshot the fold starts from. */
  let laterRules: AppError | null = null;
  for (const info of infos) {
    const { name, position } = info;
    if (position.seq > upTo) continue;
    const why = await whyUnfit(info, await positionAt(position.seq));
    const start = why ?? (await load(info));
    if (typeof start !== 'string') return start;
    logger.warn({ snapshot: name, seq: position.seq, why: start }, 'snapshot skipped');
  }
  // The log is not damaged: the next try, or the release that wrote the snapshots, can still fold it.
  const cause = temporary.find(({ code }) => code === 'log.unavailable');
  const error = laterRules ?? (cause === undefined ? temporary[0] : unreadable(cause)) ?? null;
  if (error !== null && (await positionAt(1)) === null) throw error;
  return null;

  async function load({ name, position, format }: SnapshotInfo): Promise<FoldStart | string> {
    try {
      if (format !== null && format > snapshotFormat) throw unknownFormat(format);
      const file = await store.read(name);
      if (!isOf(file, fleet, position)) throw new Error('its content does not match its metadata');
      if (!isHostState(file.host)) throw new Error('its host state is invalid');
      const restored = restoreFleet(fleet, file.lines, rules);
      const { unknownRules, rulesKnown } = restored;
      if (unknownRules === null) return { fleet: restored, position, host: file.host };
      laterRules ??= new AppError('rules.unknown', describeUnknownRules(unknownRules, rulesKnown));
      return laterRules.message;
    } catch (error) {
      if (error instanceof AppError) temporary.push(error);
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
 * Yields the snapshots that belong to the current log; if the log was rolled back, snapshots of lost entries do not.
 * Starts with the one that covers most, which need not be the last stored. Checks each lazily.
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
  return isSamePosition(found, position) ? null : `entry ${position.seq} of the log is a different one`;
}

/** Tells whether a snapshot belongs to the log. `found`: the log's entry at the snapshot's position. */
export const isOfLog = (info: SnapshotInfo, found: LogPosition | null): boolean => whyUnfit(info, found) === null;

/** Tells whether a file matches its metadata in the store. */
export const isOf = ({ head }: SnapshotFile, fleet: string, position: LogPosition): boolean =>
  head.fleet === fleet && isSamePosition(head.position, position);

const isSamePosition = (a: LogPosition, b: LogPosition): boolean =>
  a.seq === b.seq && a.atMs === b.atMs && a.subject === b.subject && a.digest === b.digest;
