/**
 * What happened to an entry: the log also stores an entry that is not valid in the current state, and its actor then
 * lists it as refused.
 */
import type { WorkerView } from '../../machines/index.ts';
import { AppError } from '../errors.ts';

/**
 * @param refused of the actor, once the entry at `seq` is folded
 * @throws AppError entry.refused: that entry was, with the fold's reason
 */
export function throwIfRefused({ refused }: Pick<WorkerView, 'refused'>, seq: number): void {
  const reason = refused.find((it) => it.seq === seq)?.reason;
  if (reason !== undefined) throw new AppError('entry.refused', reason);
}

/**
 * A second retirement would change nothing, and stand in the log as an action of its own.
 *
 * @throws AppError entry.refused: it was retired, and has not registered since
 */
export function throwIfRetired(worker: string, { ended }: Partial<Pick<WorkerView, 'ended'>>): void {
  if (ended === 'retired') throw new AppError('entry.refused', `worker ${worker} is retired already`);
}
