/**
 * What happened to an entry: the log also stores an entry that is not valid in the current state, and its actor then
 * lists it as refused.
 */
import type { TaskView, WorkerView } from '../../machines/index.ts';
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
 * @throws AppError entry.refused: to be retired is the last that happened to it
 */
export function throwIfRetired(
  worker: string,
  { state, lastTransition }: Pick<WorkerView | TaskView, 'state' | 'lastTransition'>,
): void {
  if (state === 'stopped' && lastTransition?.event === 'worker.retired')
    throw new AppError('entry.refused', `worker ${worker} is retired already, since ${lastTransition.at}`);
}
