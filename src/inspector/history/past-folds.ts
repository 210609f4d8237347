/**
 * The fleet at any entry of the log, by the same fold. A fold starts from the nearest checkpoint or from where another
 * request ended, forward jumps too, and leaves checkpoints on its way.
 */
import { createFleet, type Fleet } from '../../../machines/index.ts';
import { AppError } from '../../errors.ts';
import { foldMessage } from '../../host/fold-message.ts';
import type { StoredLog } from '../../nats/stored-log.ts';
import type { TimelineEntry } from '../messages.ts';
import { timelineEntry } from '../timeline-entry.ts';
import type { Checkpoints } from './checkpoints.ts';
import type { Pace } from './turns.ts';

/** The fleet after entry `seq`. `entry`: the one at `seq`; null: it is about no actor. */
export type FoldedMoment = { readonly fleet: Fleet; readonly seq: number; readonly entry: TimelineEntry | null };
export type PastFolds = {
  /** Calls `read` with the moment at `seq`, which it must not keep. @throws AppError input.bad: not in the log */
  at<Result>(seq: number, pace: Pace, read: (moment: FoldedMoment) => Result): Promise<Result>;
};
type Moment = { -readonly [Key in keyof FoldedMoment]: FoldedMoment[Key] };

/** Where the last requests ended: the next step of a slider or of the playback goes on from there. */
const recentMax = 4;

export function createPastFolds(
  fleet: string,
  log: Pick<StoredLog, 'range' | 'history'>,
  checkpoints: Checkpoints,
): PastFolds {
  /** The newest last. */
  const recent: Moment[] = [];
  /** The nearest place before `seq` to start from. One of `recent` is taken away, because it is folded on. */
  const takeStart = (seq: number): Moment => {
    const exact = recent.findIndex((it) => it.seq === seq);
    if (exact >= 0) return recent.splice(exact, 1)[0] as Moment;
    const checkpoint = checkpoints.nearest(seq - 1);
    const ended = recent.filter((it) => it.seq < seq).sort((a, b) => b.seq - a.seq)[0];
    if (ended !== undefined && ended.seq >= (checkpoint?.seq ?? 0)) {
      recent.splice(recent.indexOf(ended), 1);
      return ended;
    }
    return { ...(checkpoint ?? { seq: 0, fleet: createFleet(fleet) }), entry: null };
  };
  const foldOn = async (moment: Moment, seq: number, lastSeq: number, pace: Pace): Promise<void> => {
    const [fromSeq, total] = [moment.seq + 1, seq - moment.seq];
    await log.history({ fromSeq, toSeq: seq }, (message) => {
      foldMessage(moment.fleet, message);
      moment.seq = message.seq;
      moment.entry = message.seq === seq ? timelineEntry(message) : null;
      checkpoints.offer(message.seq, lastSeq, moment.fleet);
      return message.seq < seq ? pace.step(message.seq - fromSeq + 1, total) : undefined;
    });
  };
  return {
    async at(seq, pace, read) {
      const { firstSeq, lastSeq } = await log.range();
      if (seq > lastSeq) throw new AppError('input.bad', `there is no entry ${seq} yet: the log ends at ${lastSeq}`);
      if (firstSeq > 1)
        throw new AppError('input.bad', `the log starts at entry ${firstSeq}: earlier entries have been removed`);
      const moment = takeStart(seq);
      try {
        if (moment.seq < seq) await foldOn(moment, seq, lastSeq, pace);
        return read(moment);
      } finally {
        // Given up half-way, it is a start for the next.
        recent.push(moment);
        if (recent.length > recentMax) recent.shift();
      }
    },
  };
}
