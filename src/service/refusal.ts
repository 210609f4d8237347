/**
 * Finds what happened to an entry: the log also stores an entry that is not valid in the current state, and its actor
 * then lists it as refused.
 */
import type { QueueView, TaskView, WorkerView } from '../../machines/index.ts';
import { AppError } from '../errors.ts';

/**
 * @param refused of the actor, once the entry at `seq` is folded
 * @throws AppError entry.refused: that entry was, with the fold's reason
 */
export function throwIfRefused({ refused }: Partial<Pick<WorkerView, 'refused'>>, seq: number): void {
  // A queue has no list of them.
  const reason = refused?.find((it) => it.seq === seq)?.reason;
  if (reason !== undefined) throw new AppError('entry.refused', reason);
}

/** Says why nobody can acknowledge it: there is nothing of which people are notified. Null: they can. */
export function acknowledgementFault(view: WorkerView | TaskView | QueueView): string | null {
  if ('pending' in view) return view.unattended === null ? `queue ${view.queue} is not unattended` : null;
  if (view.state === 'escalated') return null;
  if (!('inputs' in view)) return `task ${view.task} is not escalated, it is ${view.state}`;
  const isOverdue = view.inputs.some(({ overdue }) => overdue !== undefined);
  return isOverdue ? null : `worker ${view.worker} is not escalated, it is ${view.state}`;
}

/**
 * A second retirement would change nothing, and stand in the log as an action of its own.
 *
 * @throws AppError entry.refused: it was retired, and has not registered since
 */
export function throwIfRetired(worker: string, { ended }: Partial<Pick<WorkerView, 'ended'>>): void {
  if (ended === 'retired') throw new AppError('entry.refused', `worker ${worker} is retired already`);
}
