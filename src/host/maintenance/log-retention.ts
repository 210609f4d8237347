/**
 * Retention (protocol.md §15): removes entries that exceed the configured age or size, but only entries before the
 * second newest usable snapshot (`nats/snapshots/snapshots.ts`). If an archive is configured, the entries are written
 * there first. Runs every ten minutes, and after each snapshot of this replica.
 */
import { type Fleet, ownerFor } from '../../../machines/index.ts';
import type { RetentionRules } from '../../config/file.ts';
import type { Logger } from '../../log.ts';
import type { LogMessage } from '../../nats/log/log-reader.ts';
import type { LogSize, LogTrimmer } from '../../nats/log/log-trimmer.ts';
import type { SnapshotInfo } from '../../nats/snapshots/snapshot-bucket.ts';
import type { DeadLetters } from '../fold/dead-letters.ts';
import type { LogClock } from '../fold/log-clock.ts';
import type { Lifecycle } from '../lifecycle.ts';
import { writeArchive } from './archive.ts';

export type Retention = {
  configure(rules: RetentionRules): void;
  rules(): RetentionRules;
  open(): void;
  /** Removes the entries that are due, if this replica has that duty. Never rejects. */
  run(): Promise<void>;
  close(): void;
};

const everyMs = 600_000;
/**
 * Maximum number of entries per archive file, and of their bytes: they are in memory until the file is written, and one
 * entry has up to 64 KiB.
 */
const entriesMax = 10_000;
const bytesHeldMax = 16 * 1_048_576;
/** Approximate size of an entry in the store beside its subject and payload: its headers, and the store's metadata. */
const overheadBytes = 120;

export type RetentionOptions = {
  readonly fleet: Fleet;
  readonly replica: string;
  readonly lifecycle: Pick<Lifecycle, 'phase'>;
  readonly logClock: Pick<LogClock, 'now'>;
  readonly logger: Logger;
  /** Null if the log is never trimmed. */
  readonly trimmer: LogTrimmer | null;
  /** Yields the snapshots that a start could continue from now, newest first. Reads each one to verify it. */
  readonly usableSnapshots: () => AsyncIterable<SnapshotInfo>;
};

export function createRetention(options: RetentionOptions, deadLetters: Pick<DeadLetters, 'owedFrom'>): Retention {
  const { fleet, logger, trimmer } = options;
  let rules: RetentionRules = { forMs: null, bytesMax: null, archive: null };
  let timer: NodeJS.Timeout | null = null;
  let running = false;
  const runOnce = async () => {
    if (trimmer === null || (rules.forMs === null && rules.bytesMax === null)) return;
    // Reading snapshots is expensive, so check first whether anything is due.
    if (!isAnyDue(rules, await trimmer.size(), options.logClock.now())) return;
    const second = await secondNewest(options);
    if (second === null) return;
    // Keep entries whose dead letter is not sent yet: they are read from the log again.
    await cut(options, trimmer, rules, Math.min(second.position.seq, deadLetters.owedFrom() ?? second.position.seq));
  };
  const run = async () => {
    if (running || options.lifecycle.phase !== 'head' || ownerFor(fleet, 'retention', null) !== options.replica) return;
    running = true;
    await runOnce().catch((error: unknown) =>
      logger.warn({ err: error }, 'the log was not trimmed; trying again later'),
    );
    running = false;
  };
  return {
    configure(newRules) {
      rules = newRules;
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

/** @param coveredTo the entry of the snapshot's position. It is kept, to prove that the snapshot belongs to this log */
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
    // Writing takes time. If the log was replaced in the meantime, the snapshots may not cover it.
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

/** Returns a function that tells whether an entry is due. Call it for each entry in order. */
function createLimits({ forMs, bytesMax }: RetentionRules, bytes: number, nowMs: number) {
  let excess = bytesMax === null ? 0 : bytes - bytesMax;
  const untilMs = forMs === null ? Number.NEGATIVE_INFINITY : nowMs - forMs;
  return ({ atMs, subject, data }: LogMessage): boolean => {
    if (atMs >= untilMs && excess <= 0) return false;
    excess -= subject.length + data.length + overheadBytes;
    return true;
  };
}
