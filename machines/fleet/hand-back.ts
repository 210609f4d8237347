/** Handles the tasks of a stale worker: they are handed back to their queues, or a person is asked (protocol.md §8). */
import { escalate } from '../values/escalation.ts';
import { formatIsoTime } from '../values/time.ts';
import { type Fleet, positionOf, type WorkerRecord } from './fleet.ts';
import { stepTask } from './tasks.ts';
import { stepWorker } from './workers.ts';

/** The reason names at most this many tasks. */
const shownMax = 3;

/** Escalates a worker that became stale while holding tasks. Called if its policy has `onStale: escalate`. */
export function escalateWithTasks(fleet: Fleet, record: WorkerRecord): void {
  const { worker, tasks } = record.snapshot.context.worker;
  const named = tasks.length > shownMax ? [...tasks.slice(0, shownMax), '…'] : tasks;
  const reason = `Worker ${worker} is stale and holds ${named.join(', ')}`;
  const since = formatIsoTime(fleet.nowMs);
  const escalation = escalate({ seq: fleet.seq, since, reason, cause: 'stale', attempt: null, worker });
  for (const task of tasks)
    stepTask(fleet, task, {
      type: 'stale.escalated',
      escalation: { ...escalation, withWorker: true },
      ...positionOf(fleet),
    });
  stepWorker(fleet, record, { type: 'stale.escalated', escalation, ...positionOf(fleet) });
}

/**
 * Hands the tasks of a worker that stayed stale back to their queues. Called if the configuration has `releaseAfter`
 * (seed 004, Rate Limit Considerations: a new worker can be launched to replace it).
 */
export function handBack(fleet: Fleet, record: WorkerRecord): void {
  const { worker, tasks } = record.snapshot.context.worker;
  for (const task of tasks) {
    stepTask(fleet, task, { type: 'task.released', data: { task }, ...positionOf(fleet) });
    stepWorker(fleet, record, { type: 'task.lost', data: { task, isOpen: true }, ...positionOf(fleet) });
    fleet.outcomes.push({ kind: 'handedBack', task, worker });
  }
}
