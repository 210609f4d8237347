/** What happens to the tasks of a stale worker: they go back to their queues, or a person is asked (protocol.md §8). */
import { escalate } from '../values/escalation.ts';
import { formatIsoTime } from '../values/time.ts';
import { type Fleet, placeOf, type WorkerRecord } from './fleet.ts';
import { stepTask } from './tasks.ts';
import { stepWorker } from './workers.ts';

/** The reason names this many of its tasks. */
const shownMax = 3;

/**
 * Escalates a worker that becomes stale while it holds a task, if its policy asks for it (`onStale: escalate`,
 * protocol.md §8).
 */
export function escalateStale(fleet: Fleet, record: WorkerRecord): void {
  const { worker, tasks } = record.snapshot.context.worker;
  const named = tasks.length > shownMax ? [...tasks.slice(0, shownMax), '…'] : tasks;
  const reason = `Worker ${worker} is stale and holds ${named.join(', ')}`;
  const since = formatIsoTime(fleet.nowMs);
  const escalation = escalate({ seq: fleet.seq, since, reason, cause: 'stale', attempt: null, worker });
  for (const task of tasks)
    stepTask(fleet, task, {
      type: 'stale.escalated',
      escalation: { ...escalation, withWorker: true },
      ...placeOf(fleet),
    });
  stepWorker(fleet, record, { type: 'stale.escalated', escalation, ...placeOf(fleet) });
}

/**
 * Returns the tasks of a worker that stays stale to their queues, if the configuration asks for it (`releaseAfter`;
 * seed 004, Rate Limit Considerations: a new worker can be launched to replace it).
 */
export function handBack(fleet: Fleet, record: WorkerRecord): void {
  const { worker, tasks } = record.snapshot.context.worker;
  for (const task of tasks) {
    stepTask(fleet, task, { type: 'task.released', data: { task }, ...placeOf(fleet) });
    stepWorker(fleet, record, { type: 'task.lost', data: { task, isOpen: true }, ...placeOf(fleet) });
    fleet.outcomes.push({ kind: 'handedBack', task, worker });
  }
}
