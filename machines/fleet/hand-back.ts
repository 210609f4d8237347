/**
 * Returns the tasks of a worker that stays stale to their queues, if the configuration asks for it (`releaseAfter`;
 * seed 004, Rate Limit Considerations: a new worker can be launched to replace it).
 */
import { type Fleet, placeOf, type WorkerRecord } from './fleet.ts';
import { stepTask } from './tasks.ts';
import { stepWorker } from './workers.ts';

export function handBack(fleet: Fleet, record: WorkerRecord): void {
  const { worker, tasks } = record.snapshot.context.worker;
  for (const task of tasks) {
    stepTask(fleet, task, { type: 'task.released', data: { task }, ...placeOf(fleet) });
    stepWorker(fleet, record, { type: 'task.lost', data: { task }, ...placeOf(fleet) });
    fleet.outcomes.push({ kind: 'handedBack', task, worker });
  }
}
