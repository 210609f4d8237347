/**
 * The outline of the log that the page draws its time axis from. As long as somebody looks at it the log is folded in the
 * background, once, which also leaves the checkpoints of later jumps.
 */
import type { StoredLog } from '../../nats/log/stored-log.ts';
import type { OutlineReply } from '../messages.ts';
import { createOutline, type Outline } from './outline.ts';
import type { Asker, PastFolds } from './past-folds.ts';
import type { HistoryWork } from './work.ts';

type Question = Extract<HistoryWork, { kind: 'outline' }>;
export type LogOutline = {
  /** @throws AppError log.unavailable */
  read(question: Question, asker: Asker): Promise<OutlineReply>;
};

/** A stretch of at most so many entries is folded again where finer buckets are wanted: under a second of work. */
const fineMax = 32_768;
/** A page asks every few seconds. */
const wantedForMs = 15_000;

/** @param coarse all that is folded is added to it */
export function createLogOutline(log: Pick<StoredLog, 'range'>, folds: PastFolds, coarse: Outline): LogOutline {
  let wantedUntilMs = 0;
  let isFolding = false;
  const foldAll = async () => {
    const given = new AbortController();
    const onProgress = () => {
      if (performance.now() > wantedUntilMs) given.abort();
    };
    // Where entries are missing, nothing will ever be counted.
    let doneTo = 0;
    for (;;) {
      const first = Math.max(await folds.earliest(), doneTo + 1);
      const { lastSeq } = await log.range();
      const fromSeq = coarse.firstMissing(first, lastSeq);
      if (fromSeq === null) return;
      await folds.over(fromSeq, lastSeq, { signal: given.signal, onProgress }, { isBackground: true });
      doneTo = lastSeq;
    }
  };
  const wantAll = () => {
    wantedUntilMs = performance.now() + wantedForMs;
    if (isFolding) return;
    isFolding = true;
    // Given up, or the log cannot be read now: the next question starts it again.
    void foldAll()
      .catch(() => {})
      .finally(() => {
        isFolding = false;
      });
  };
  return {
    async read({ fromSeq, toSeq, width }, asker) {
      const { firstSeq, lastSeq } = await log.range();
      const shownFrom = Math.max(1, await folds.earliest());
      const [from, to] = [Math.max(fromSeq, shownFrom), Math.min(toSeq, lastSeq)];
      const place = { firstSeq, lastSeq, shownFrom };
      wantAll();
      if (width >= coarse.width || to - from >= fineMax) {
        const covered = coarse.covered(shownFrom, lastSeq);
        return { ...place, covered, width: Math.max(width, coarse.width), buckets: coarse.read(from, to, width) };
      }
      const fine = createOutline(width, Number.POSITIVE_INFINITY);
      if (from <= to) await folds.over(from, to, asker, { onStep: fine.add });
      return { ...place, covered: coarse.covered(shownFrom, lastSeq), width, buckets: fine.read(from, to, width) };
    },
  };
}
