/** Folds own entries about tasks: answers of remote hooks, and what operators decide (protocol.md §3). */
import type { OwnTaskEntry } from '../entries/index.ts';
import { nextDelivery } from '../values/escalation.ts';
import { formatIsoTime } from '../values/iso-time.ts';
import { resumeEvaluation } from './evaluations.ts';
import type { Fleet } from './fleet.ts';
import { refuseTask, stepTask } from './tasks.ts';

export function foldOwnTask(fleet: Fleet, entry: OwnTaskEntry): void {
  const record = fleet.tasks.get(entry.id);
  if (record === undefined) return;
  if (entry.type !== 'timer.fired') record.namedMs = fleet.nowMs;
  if (entry.type === 'check.finished') resumeEvaluation(fleet, entry.id, entry.data.attempt, entry.data);
  const at = formatIsoTime(fleet.nowMs);
  if (entry.type === 'escalation.notified') {
    // One that comes late is about what is over.
    const { escalation } = record.snapshot.context;
    if (escalation !== null && entry.data.delivery === nextDelivery(fleet.name, 'task', entry.id, escalation))
      stepTask(fleet, entry.id, { type: entry.type, at });
  }
  if (entry.type !== 'escalation.resolved' && entry.type !== 'escalation.acknowledged') return;
  if (record.snapshot.value !== 'escalated')
    refuseTask(fleet, entry.id, entry.type, `task ${entry.id} is not escalated`);
  else if (entry.type === 'escalation.acknowledged')
    stepTask(fleet, entry.id, { type: entry.type, by: entry.data.by, at });
  else stepTask(fleet, entry.id, { type: entry.type, verdict: entry.data.verdict });
}
