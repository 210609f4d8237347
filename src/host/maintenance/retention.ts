/**
 * Retention (protocol.md §15): removes entries that are older, or past the size, that the configuration gives, and that
 * stand behind the second newest usable snapshot; never others. Where there is an archive they are written there first.
 */
import { type Fleet, ownerFor } from '../../../machines/index.ts';
import type { RetentionRules } from '../../config/file.ts';
import type { Logger } from '../../log.ts';
import type { LogMessage } from '../../nats/log/log-reader.ts';
import type { SnapshotInfo } from '../../nats/snapshots/snapshot-bucket.ts';
import type { LogSize, LogTrimmer } from '../../nats/snapshots/snapshots.ts';
import type { DeadLetters } from '../fold/dead-letters.ts';
import type { LogClock } from '../fold/log-clock.ts';
import type { Lifecycle } from '../lifecycle.ts';
import { writeArchive } from './archive.ts';

export type Retention = {
  configure(rules: RetentionRules): void;
  rules(): RetentionRules;
  open(): void;
  /** Cuts what is to be cut, if it is this replica's turn. Never rejects. */
  run(): Promise<void>;
  close(): void;
};

const everyMs = 600_000;
/** In one file of the archive, and in memory until it is written; so many are 64 KiB each at the very most. */
const entriesMax = 10_000;
const bytesHeldMax = 16 * 1_048_576;
/** The store keeps this much of each entry beside its subject and payload: its headers, and the store's own. */
const overheadBytes = 120;

export type RetentionOptions = {
  readonly fleet: Fleet;
  readonly replica: string;
  readonly lifecycle: Pick<Lifecycle, 'phase'>;
  readonly logClock: Pick<LogClock, 'now'>;
  readonly logger: Logger;
  /** It is null if the log is never cut. */
  readonly trimmer: LogTrimmer | null;
  /** The snapshots of this log as it is now that a start can continue from, newest first. Each is read for that. */
  readonly usableSnapshots: () => AsyncIterable<SnapshotInfo>;
};

export function createRetention(options: RetentionOptions, deadLetters: Pick<DeadLetters, 'owedFrom'>): Retention {
  const { fleet, logger, trimmer } = options;
  let rules: RetentionRules = { forMs: null, bytesMax: null, archive: null };
  let timer: NodeJS.Timeout | null = null;
  let running = false;
  const runOnce = async () => {
    if (trimmer === null || (rules.forMs === null && rules.bytesMax === null)) return;
    // Snapshots are read for this, which is not worth it while nothing is to go.
    if (!isAnyDue(rules, await trimmer.size(), options.logClock.now())) return;
    const second = await secondNewest(options);
    if (second === null) return;
    // A dead letter that is still to be sent is read from the log again.
    await cut(options, trimmer, rules, Math.min(second.position.seq, deadLetters.owedFrom() ?? second.position.seq));
  };
  const run = async () => {
    if (running || options.lifecycle.phase !== 'head' || ownerFor(fleet, 'retention', null) !== options.replica) return;
    running = true;
    await runOnce().catch((error: unknown) => logger.warn({ err: error }, 'the log was not cut; trying again later'));
    running = false;
  };
  return {
    configure(given) {
      rules = given;
      if (timer !== null) void run();
    },
    rules: () => rules,
    run,
    open() {
      timer ??= setInterval(() => void run(), everyMs).unref();
      void run();
    },
    close() {
      if (timer !== null) clearInterval(timer);
      timer = null;
    },
  };
}

const isAnyDue = ({ forMs, bytesMax }: RetentionRules, { bytes, firstMs }: LogSize, nowMs: number): boolean =>
  (bytesMax !== null && bytes > bytesMax) || (forMs !== null && firstMs < nowMs - forMs);

async function secondNewest({ usableSnapshots }: RetentionOptions): Promise<SnapshotInfo | null> {
  let newer = 0;
  for await (const info of usableSnapshots()) {
    if (newer === 1) return info;
    newer += 1;
  }
  return null;
}

/** @param coveredTo what stands there stays, so that the snapshot of it can prove that this is its log */
async function cut(
  options: RetentionOptions,
  trimmer: LogTrimmer,
  rules: RetentionRules,
  coveredTo: number,
): Promise<void> {
  const { firstSeq, bytes } = await trimmer.size();
  if (firstSeq >= coveredTo) return;
  const isDue = createLimits(rules, bytes, options.logClock.now());
  let held: LogMessage[] = [];
  let heldBytes = 0;
  const flush = async () => {
    const last = held.at(-1);
    if (last === undefined) return;
    const { archive } = rules;
    const path = archive === null ? null : await writeArchive(archive, options.fleet.name, held);
    // Writing took its time: a log that went back meanwhile may not have what the snapshots cover any more.
    if (options.lifecycle.phase !== 'head') return;
    await trimmer.cutBefore(last.seq + 1);
    options.logger.info({ fromSeq: held[0]?.seq, toSeq: last.seq, archive: path }, 'entries behind a snapshot removed');
    held = [];
    heldBytes = 0;
  };
  for await (const batch of trimmer.read(firstSeq)) {
    for (const message of batch) {
      if (message.seq >= coveredTo || options.lifecycle.phase !== 'head' || !isDue(message)) return flush();
      held.push(message);
      heldBytes += message.data.length;
      if (held.length >= entriesMax || heldBytes >= bytesHeldMax) await flush();
    }
  }
  await flush();
}

/** Tells whether the next entry is to go; it is asked for each in order. */
function createLimits({ forMs, bytesMax }: RetentionRules, bytes: number, nowMs: number) {
  let excess = bytesMax === null ? 0 : bytes - bytesMax;
  const untilMs = forMs === null ? Number.NEGATIVE_INFINITY : nowMs - forMs;
  return ({ atMs, subject, data }: LogMessage): boolean => {
    if (atMs >= untilMs && excess <= 0) return false;
    excess -= subject.length + data.length + overheadBytes;
    return true;
  };
}
