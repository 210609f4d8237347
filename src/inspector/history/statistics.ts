/**
 * Statistics of the last week, or of any range, counted from the log: from where they began on, then on from where the last
 * request ended.
 * Where agents report what they use, the entries are folded too: only the state tells for which task it was.
 */
import { AppError } from '../../errors.ts';
import type { StoredLog } from '../../nats/log/stored-log.ts';
import { setNewest } from '../../newest.ts';
import type { FleetStatistics } from '../messages.ts';
import { type Windows, windowOf } from '../statistics/buckets.ts';
import { type Span, spanMs, type TimeRange } from '../statistics/spans.ts';
import { createStatistics, type Statistics } from '../statistics/statistics.ts';
import type { Job } from './jobs.ts';
import { findFirst } from './log-entries.ts';
import type { Past, Step } from './past.ts';

export type StatisticsReader = {
  /** Counts on to the end of the log, or of the range. Must not be called twice at once, since all go on in the same counts. */
  read(span: Span | TimeRange, job: Job): Promise<FleetStatistics>;
};

/**
 * `knownFromMs`: what came earlier is no longer in the log; null: it was counted, or is older than the longest span.
 * `tasksSeq`: up to where it is known for which tasks something was used; null: no fold can begin before that any more.
 */
type Counted = { statistics: Statistics; seq: number; tasksSeq: number | null; knownFromMs: number | null };
type Log = Pick<StoredLog, 'range' | 'history'>;
type LogRange = Awaited<ReturnType<Log['range']>>;

/** Ranges that are kept: those at which several people look at the same time. Each takes about as much as a week. */
const rangesMax = 4;
const decoder = new TextDecoder();

export function createStatisticsReader(
  log: Log,
  past: Pick<Past, 'over'>,
  now: () => number = Date.now,
): StatisticsReader {
  let counted: Counted | null = null;
  const ranges = new Map<string, Counted>();
  // Less than it was: another log has taken its place. Cut beyond it: earlier counts would be followed by a hole.
  const isLost = (it: Counted, { firstSeq, lastSeq }: LogRange) => lastSeq < it.seq || firstSeq > it.seq + 1;
  const readSpan = async (span: Span, range: LogRange, job: Job) => {
    const nowMs = Math.max(now(), range.lastMs);
    if (counted === null || isLost(counted, range)) counted = await begin(log, range, nowMs - spanMs('week'));
    await countOn(log, counted, range.lastSeq, job);
    await findTasks(past, counted, job);
    const { statistics, knownFromMs, tasksSeq, seq } = counted;
    return statistics.view({ span, nowMs, knownFromMs, areTasksKnown: tasksSeq === seq });
  };
  const readRange = async ({ fromMs, toMs }: TimeRange, range: LogRange, job: Job) => {
    const key = `${fromMs} ${toMs}`;
    let kept = ranges.get(key);
    if (kept === undefined || isLost(kept, range))
      kept = await begin(log, range, fromMs, { custom: windowOf(fromMs, toMs) });
    setNewest(ranges, key, kept, rangesMax);
    const endSeq = range.lastMs < toMs ? range.lastSeq : (await findFirst(log, range, toMs)) - 1;
    await countOn(log, kept, endSeq, job);
    await findTasks(past, kept, job);
    const { statistics, knownFromMs, tasksSeq, seq } = kept;
    return statistics.view({ span: 'custom', fromMs, nowMs: toMs, knownFromMs, areTasksKnown: tasksSeq === seq });
  };
  return {
    async read(span, job) {
      const range = await log.range();
      return typeof span === 'string' ? readSpan(span, range, job) : readRange(span, range, job);
    },
  };
}

async function begin(log: Log, range: LogRange, fromMs: number, windows?: Windows): Promise<Counted> {
  const from = await findFirst(log, range, fromMs);
  return {
    statistics: createStatistics(windows),
    seq: from - 1,
    tasksSeq: from - 1,
    knownFromMs: range.firstSeq > 1 && range.firstMs > fromMs ? range.firstMs : null,
  };
}

async function countOn(log: Pick<StoredLog, 'history'>, counted: Counted, lastSeq: number, job: Job): Promise<void> {
  const [fromSeq, total] = [counted.seq + 1, lastSeq - counted.seq];
  if (total <= 0) return;
  await log.history({ fromSeq, toSeq: lastSeq }, ({ seq, atMs, subject, data }) => {
    counted.statistics.fold({ atMs, subject, text: () => decoder.decode(data) });
    counted.seq = seq;
    return job.step(seq - fromSeq + 1, total);
  });
}

/** Folds what was counted since the last time. A log whose beginning was cut has counts, but may have no state. */
async function findTasks(past: Pick<Past, 'over'>, counted: Counted, job: Job): Promise<void> {
  const { statistics, seq, tasksSeq } = counted;
  if (tasksSeq === null || tasksSeq === seq) return;
  // Without usage there is nothing to find, now or in what was counted.
  if (!statistics.hasUsage) {
    counted.tasksSeq = seq;
    return;
  }
  try {
    await past.over(tasksSeq + 1, seq, job, (step) => {
      countTasks(statistics, step);
      counted.tasksSeq = step.message.seq;
    });
    counted.tasksSeq = seq;
  } catch (error) {
    job.signal.throwIfAborted();
    if (!(error instanceof AppError)) throw error;
    counted.tasksSeq = null;
  }
}

function countTasks(statistics: Statistics, { message: { atMs }, outcomes }: Step): void {
  for (const outcome of outcomes) if (outcome.kind === 'used') statistics.usedFor(outcome.task, atMs, outcome.report);
}
