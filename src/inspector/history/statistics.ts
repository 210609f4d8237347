/** Statistics of the last week, counted from the log: from where they began on, then on from where the last request ended. */
import type { StoredLog } from '../../nats/stored-log.ts';
import type { FleetStatistics } from '../messages.ts';
import { type Span, spanMs } from '../statistics/buckets.ts';
import { createStatistics, type Statistics } from '../statistics/statistics.ts';
import { findFirst } from './first-entry.ts';
import type { Asker } from './past-folds.ts';
import { createPace } from './turns.ts';

export type StatisticsReader = {
  /** Counts on to the end of the log. Must not be called twice at once, since all go on in the same counts. */
  read(span: Span, asker: Asker): Promise<FleetStatistics>;
};

/** `knownFromMs`: what came earlier is no longer in the log; null: it was counted, or is older than the longest span. */
type Counted = { statistics: Statistics; seq: number; knownFromMs: number | null };

const decoder = new TextDecoder();

export function createStatisticsReader(
  log: Pick<StoredLog, 'range' | 'history'>,
  now: () => number = Date.now,
): StatisticsReader {
  let counted: Counted | null = null;
  return {
    async read(span, asker) {
      const { firstSeq, lastSeq, firstMs, lastMs } = await log.range();
      const nowMs = Math.max(now(), lastMs);
      // Less than it was: another log has taken its place. Cut beyond it: earlier counts would be followed by a hole.
      if (counted === null || lastSeq < counted.seq || firstSeq > counted.seq + 1) {
        const fromMs = nowMs - spanMs('week');
        const from = await findFirst(log, { firstSeq, lastSeq }, fromMs);
        const isCut = firstSeq > 1 && firstMs > fromMs;
        counted = { statistics: createStatistics(), seq: from - 1, knownFromMs: isCut ? firstMs : null };
      }
      await countOn(log, counted, lastSeq, asker);
      return counted.statistics.view(span, nowMs, counted.knownFromMs);
    },
  };
}

async function countOn(
  log: Pick<StoredLog, 'history'>,
  counted: Counted,
  lastSeq: number,
  { signal, onProgress }: Asker,
): Promise<void> {
  const [fromSeq, total] = [counted.seq + 1, lastSeq - counted.seq];
  if (total <= 0) return;
  const onTurn = () => {
    signal.throwIfAborted();
    onProgress({ done: counted.seq - fromSeq + 1, total });
  };
  const pace = createPace({ onTurn });
  await log.history({ fromSeq, toSeq: lastSeq }, ({ seq, atMs, subject, data }) => {
    counted.statistics.fold({ atMs, subject, text: () => decoder.decode(data) });
    counted.seq = seq;
    return pace.step();
  });
}
