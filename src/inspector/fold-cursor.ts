/**
 * The fleet at any entry of the log, by the same fold. Going forward is cheap; going back starts from the nearest of
 * some copies made on the way.
 */
import { copyFleet, createFleet, type Fleet } from '../../machines/index.ts';
import { AppError } from '../errors.ts';
import { foldMessage } from '../host/fold-message.ts';
import type { EventLog } from '../nats/event-log.ts';
import type { TimelineEntry } from './messages.ts';
import { timelineEntry } from './timeline-entry.ts';

/** The fleet after entry `seq`. `entry`: the one at `seq`; null: it is about no actor. */
export type FoldedMoment = { readonly fleet: Fleet; readonly seq: number; readonly entry: TimelineEntry | null };
export type FoldCursor = {
  /** Calls `read` with the moment at `seq`, which it must not keep. @throws AppError input.bad: not in the log */
  at<Result>(seq: number, read: (moment: FoldedMoment) => Result): Promise<Result>;
};

const copiesMax = 24;
const copyEveryMin = 500;

export function createFoldCursor(fleet: string, log: Pick<EventLog, 'range' | 'history'>): FoldCursor {
  const copies = new Map<number, Fleet>();
  let cursor: FoldedMoment = { fleet: createFleet(fleet), seq: 0, entry: null };
  /** Requests run one at a time, because they share the cursor. */
  let last: Promise<unknown> = Promise.resolve();

  const copyAt = (seq: number, every: number) => {
    if (seq % every !== 0 || copies.has(seq)) return;
    if (copies.size >= copiesMax) copies.delete(copies.keys().next().value as number);
    copies.set(seq, copyFleet(cursor.fleet));
  };
  const goBackTo = (seq: number) => {
    const nearest = [...copies.keys()].filter((at) => at <= seq).sort((a, b) => b - a)[0] ?? 0;
    const copy = copies.get(nearest);
    cursor = { fleet: copy === undefined ? createFleet(fleet) : copyFleet(copy), seq: nearest, entry: null };
  };
  const goTo = async (seq: number) => {
    const { firstSeq, lastSeq } = await log.range();
    if (seq > lastSeq) throw new AppError('input.bad', `there is no entry ${seq} yet: the log ends at ${lastSeq}`);
    if (firstSeq > 1)
      throw new AppError('input.bad', `the log starts at entry ${firstSeq}: earlier entries have been removed`);
    if (seq === cursor.seq) return cursor;
    // To the entry before, so that the entry at `seq` itself is read.
    if (seq < cursor.seq) goBackTo(seq - 1);
    const every = Math.max(copyEveryMin, Math.ceil(lastSeq / copiesMax));
    await log.history({ fromSeq: cursor.seq + 1, toSeq: seq }, (message) => {
      foldMessage(cursor.fleet, message);
      cursor = { ...cursor, seq: message.seq, entry: message.seq === seq ? timelineEntry(message) : null };
      copyAt(message.seq, every);
    });
    return cursor;
  };

  return {
    at(seq, read) {
      const result = last.then(async () => read(await goTo(seq)));
      last = result.catch(() => {});
      return result;
    },
  };
}
