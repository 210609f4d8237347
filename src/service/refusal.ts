/** What became of an entry: the log takes one that makes no sense now too, and its actor then lists it as refused. */
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
