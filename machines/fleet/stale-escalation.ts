/**
 * Escalates a worker that becomes stale while it holds a task, if its policy asks for it (`onStale: escalate`,
 * protocol.md §8).
 */
import { escalate } from '../values/escalation.ts';
import { formatIsoTime } from '../values/time.ts';
import { type Fleet, placeOf, type WorkerRecord } from './fleet.ts';
import { stepTask } from './tasks.ts';
import { stepWorker } from './workers.ts';

const shownMax = 3;

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
