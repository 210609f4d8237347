/**
 * The past: the fleet as it was at any entry, folded from the log by the same fold. Going on is cheap; going back
 * starts at the nearest of some copies made on the way.
 */
import { copyFleet, createFleet, type Fleet } from '../../machines/index.ts';
import { AppError } from '../errors.ts';
import { foldMessage } from '../host/fold-message.ts';
import type { EventLog } from '../nats/event-log.ts';
import { type TimelineEntry, timelineEntry } from './timeline.ts';

/** `entry`: what stands at `seq`; null: nothing of anyone. */
export type Moment = { readonly fleet: Fleet; readonly seq: number; readonly entry: TimelineEntry | null };
export type Past = {
  /** Lets `look` see the fleet as it was after entry `seq`. @throws AppError input.bad: not in the log */
  at<Seen>(seq: number, look: (moment: Moment) => Seen): Promise<Seen>;
};

const copiesMax = 24;
const copyEveryMin = 500;

export function createPast(fleet: string, log: Pick<EventLog, 'range' | 'history'>): Past {
  const copies = new Map<number, Fleet>();
  let cursor: Moment = { fleet: createFleet(fleet), seq: 0, entry: null };
  /** One at a time: the fold is shared. */
  let last: Promise<unknown> = Promise.resolve();

  const copyAt = (seq: number, every: number) => {
    if (seq % every !== 0 || copies.has(seq)) return;
    if (copies.size >= copiesMax) copies.delete(copies.keys().next().value as number);
    copies.set(seq, copyFleet(cursor.fleet));
  };
  const goBackTo = (seq: number) => {
    const nearest = [...copies.keys()].filter((at) => at <= seq).sort((a, b) => b - a)[0] ?? 0;
    const known = copies.get(nearest);
    cursor = { fleet: known === undefined ? createFleet(fleet) : copyFleet(known), seq: nearest, entry: null };
  };
  const go = async (seq: number) => {
    const { firstSeq, lastSeq } = await log.range();
    if (seq > lastSeq) throw new AppError('input.bad', `entry ${seq} is not there yet: the log ends at ${lastSeq}`);
    if (firstSeq > 1)
      throw new AppError('input.bad', `the log begins at entry ${firstSeq}: what was before is no longer known`);
    if (seq === cursor.seq) return cursor;
    // One entry too far back, so that the entry at `seq` itself is met.
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
    at(seq, look) {
      const seen = last.then(async () => look(await go(seq)));
      last = seen.catch(() => {});
      return seen;
    },
  };
}
