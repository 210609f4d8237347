/**
 * Returns the tasks of a worker that stays stale to their queues, if the configuration asks for it (`releaseAfter`;
 * seed 004, Rate Limit Considerations: a new worker can be launched to replace it).
 */

import { parseIsoTime } from '../values/iso-time.ts';
import { type Fleet, moveOf, placeOf, type WorkerRecord } from './fleet.ts';
import { armForget } from './forgetting.ts';
import { activeForMs, staleAfterMs } from './presence.ts';
import { stepTask } from './tasks.ts';

/**
 * When the worker's tasks go back, or null: never, as things stand. A usage limit is waited out, and the time begins at
 * its end (protocol.md §8). Nothing is taken away while an attempt is open, since the worker then waits for us; it gets
 * the whole time after the answer.
 */
export function handBackDueMs(fleet: Fleet, { snapshot, lastSeenMs, limitEndedMs }: WorkerRecord): number | null {
  const { releaseAfterMs } = fleet.policies;
  const { tasks, attempt, lastDecision } = snapshot.context.worker;
  if (releaseAfterMs === null || tasks.length === 0 || attempt !== null || snapshot.value.presence !== 'stale')
    return null;
  const answeredMs = lastDecision === null ? 0 : (parseIsoTime(lastDecision.at) ?? 0);
  const sinceMs = Math.max(limitEndedMs ?? lastSeenMs + activeForMs, answeredMs);
  return Math.max(sinceMs + releaseAfterMs, lastSeenMs + staleAfterMs);
}

export function handBack(fleet: Fleet, worker: string, record: WorkerRecord): void {
  for (const task of record.snapshot.context.worker.tasks) {
    const from = record.snapshot.value.state;
    stepTask(fleet, task, { type: 'task.released', data: { task }, ...placeOf(fleet) });
    record.snapshot = fleet.workerStepper.next(record.snapshot, {
      type: 'task.lost',
      data: { task },
      ...placeOf(fleet),
    });
    armForget(fleet, 'forgetWorker', worker);
    const to = record.snapshot.value.state;
    fleet.watcher?.worker(worker, from, to, 'task.lost');
    if (to !== from) record.lastMove = moveOf(fleet, from, to, 'task.lost');
    fleet.outcomes.push({ kind: 'handedBack', task, worker });
  }
}
