/**
 * Counts statistics of the last week or of any range from the log. Each request continues where the previous one ended.
 * If agents report usage, the entries are also folded, because only the state shows which task the usage was for.
 */
import { AppError } from '../../errors.ts';
import type { StoredLog } from '../../nats/log/stored-log.ts';
import { setNewest } from '../../set-newest.ts';
import type { FleetStatistics } from '../messages.ts';
import { type Windows, windowOf } from '../statistics/buckets.ts';
import { type Span, spanMs, type TimeRange } from '../statistics/spans.ts';
import { createStatistics, type Statistics } from '../statistics/statistics.ts';
import type { Job } from './jobs.ts';
import { findFirst } from './log-entries.ts';
import type { Past, Step } from './past.ts';

export type StatisticsReader = {
  /** Counts up to the end of the log or range. Calls must not overlap, because they share their counts. */
  read(span: Span | TimeRange, job: Job): Promise<FleetStatistics>;
};

/**
 * Counts up to entry `seq`. `knownFromMs` is the time of the first entry in a log that has lost earlier ones, otherwise
 * null. `tasksSeq` is the entry up to which usage is assigned to tasks, or null if that is no longer possible.
 */
type Counted = { statistics: Statistics; seq: number; tasksSeq: number | null; knownFromMs: number | null };
type Log = Pick<StoredLog, 'range' | 'history'>;
type LogRange = Awaited<ReturnType<Log['range']>>;

/** Maximum number of kept ranges, for several people at once. Each takes about as much memory as a week. */
const rangesMax = 4;
const decoder = new TextDecoder();

export function createStatisticsReader(
  log: Log,
  past: Pick<Past, 'foldRange'>,
  now: () => number = Date.now,
): StatisticsReader {
  let counted: Counted | null = null;
  const ranges = new Map<string, Counted>();
  // A shorter log means that it was replaced. A log truncated beyond our position would leave a gap in the counts.
  const isLost = (counts: Counted, { firstSeq, lastSeq }: LogRange) =>
    lastSeq < counts.seq || firstSeq > counts.seq + 1;
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

/** Assigns newly counted usage to tasks. A truncated log can be counted, but maybe not folded. */
async function findTasks(past: Pick<Past, 'foldRange'>, counted: Counted, job: Job): Promise<void> {
  const { statistics, seq, tasksSeq } = counted;
  if (tasksSeq === null || tasksSeq === seq) return;
  // Without usage there is nothing to assign.
  if (!statistics.hasUsage) {
    counted.tasksSeq = seq;
    return;
  }
  try {
    await past.foldRange(tasksSeq + 1, seq, job, (step) => {
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
