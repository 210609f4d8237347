/** A worker with the persistence of the seed, in virtual time. */
import type { WorkerView } from '../../../machines/index.ts';
import { createVirtualLog } from '../virtual-log.ts';

export const minuteMs = 60_000;
/** Ten minutes. */
export const persistent = { default: { persistence: 'default' } };

/** Returns the log of a worker `w1` that registered at 12:00. */
export function registered(policies: object = persistent, more: object = {}) {
  const log = createVirtualLog(policies, more);
  log.publish('12:00', 'worker.w1.worker.registered');
  return { ...log, workerAt: (at: string) => log.viewAt(at).workers.w1 as WorkerView };
}
