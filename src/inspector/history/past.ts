/** Time travel: all actors at an entry of the log, or one of them in full. */
import { formatIsoTime, viewTask, viewWorker } from '../../../machines/index.ts';
import { AppError } from '../../errors.ts';
import { wholeOf } from '../fleet-rows.ts';
import type { PastActor, PastFleet, Topic } from '../messages.ts';
import { timelineEntry } from '../timeline.ts';
import type { Asker, PastFolds } from './past-folds.ts';

/** @throws AppError input.bad: `seq` cannot be shown; actor.unknown: there was no such actor at that entry */
export function readPast(
  folds: PastFolds,
  seq: number,
  topic: Topic | null,
  asker: Asker,
): Promise<PastFleet | PastActor> {
  return folds.at(seq, asker, ({ fleet, seq: at, last }) => {
    const entry = last?.seq === seq ? timelineEntry(last) : null;
    const moment = { seq: at, atMs: fleet.nowMs, entry };
    if (topic === null) return { ...moment, ...wholeOf(fleet) };
    const { entity, id } = topic;
    const view = entity === 'worker' ? viewWorker(fleet, id, fleet.nowMs) : viewTask(fleet, id);
    if (view !== null) return { ...moment, view };
    const time = fleet.nowMs === 0 ? '' : ` (${formatIsoTime(fleet.nowMs)})`;
    throw new AppError('actor.unknown', `${entity} ${id} was not known yet at entry ${at}${time}`);
  });
}
