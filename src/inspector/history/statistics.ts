/**
 * Statistics of the last week, counted from the log: from where they began on, then on from where the last request ended.
 * Where agents report what they use, the entries are folded too: only the state tells for which task it was.
 */
import { AppError } from '../../errors.ts';
import type { StoredLog } from '../../nats/log/stored-log.ts';
import { type Span, spanMs } from '../statistics/buckets.ts';
import type { FleetStatistics } from '../statistics/messages.ts';
import { createStatistics, type Statistics } from '../statistics/statistics.ts';
import type { Job } from './jobs.ts';
import { findFirst } from './log-entries.ts';
import type { Past, Step } from './past.ts';

export type StatisticsReader = {
  /** Counts on to the end of the log. Must not be called twice at once, since all go on in the same counts. */
  read(span: Span, job: Job): Promise<FleetStatistics>;
};

/**
 * `knownFromMs`: what came earlier is no longer in the log; null: it was counted, or is older than the longest span.
 * `tasksSeq`: up to where it is known for which tasks something was used; null: no fold can begin before that any more.
 */
type Counted = { statistics: Statistics; seq: number; tasksSeq: number | null; knownFromMs: number | null };

const decoder = new TextDecoder();

export function createStatisticsReader(
  log: Pick<StoredLog, 'range' | 'history'>,
  past: Pick<Past, 'over'>,
  now: () => number = Date.now,
): StatisticsReader {
  let counted: Counted | null = null;
  return {
    async read(span, job) {
      const { firstSeq, lastSeq, firstMs, lastMs } = await log.range();
      const nowMs = Math.max(now(), lastMs);
      // Less than it was: another log has taken its place. Cut beyond it: earlier counts would be followed by a hole.
      if (counted === null || lastSeq < counted.seq || firstSeq > counted.seq + 1) {
        const fromMs = nowMs - spanMs('week');
        const from = await findFirst(log, { firstSeq, lastSeq }, fromMs);
        const isCut = firstSeq > 1 && firstMs > fromMs;
        counted = {
          ...{ statistics: createStatistics(), seq: from - 1, tasksSeq: from - 1 },
          knownFromMs: isCut ? firstMs : null,
        };
      }
      await countOn(log, counted, lastSeq, job);
      await findTasks(past, counted, job);
      const { statistics, knownFromMs, tasksSeq } = counted;
      return statistics.view({ span, nowMs, knownFromMs, areTasksKnown: tasksSeq === counted.seq });
    },
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

function countTasks(statistics: Statistics, { message: { atMs }, outcomes, fleet: { workers } }: Step): void {
  for (const outcome of outcomes)
    if (outcome.kind === 'used') {
      const task = workers.read(outcome.worker)?.snapshot.context.worker.tasks.at(-1) ?? null;
      statistics.usedFor(task, atMs, outcome.report);
    }
}
