/**
 * Folds entries about workers: entries that are not valid in the current state are refused, all others go to the
 * worker's machine (protocol.md §3 and §4).
 */
import type { WorkerEntry } from '../entries/index.ts';
import { planStepsMax } from '../policy/plan.ts';
import { backgroundMax, scopesMax } from '../values/limits.ts';
import { refuseRequest } from '../worker/changes.ts';
import type { WorkerContext } from '../worker/context.ts';
import { closeSession, openAttempt, supersedeAttempt } from './attempts.ts';
import type { Fleet, WorkerRecord } from './fleet.ts';
import { policyInForce } from './policies.ts';
import { staleFromMs } from './presence.ts';
import { absentWorkerOf, changeLimit, refreshPresence } from './presence-change.ts';
import { claimTask, letGoOfTask, resumeTasks } from './queues/claims.ts';
import { trackAttendance } from './queues/queues.ts';
import { describeFull, isStateFull } from './state-size.ts';
import { armStaleness } from './time/due-time.ts';
import { addUsage } from './usage.ts';
import { eventOf, refuseWorker, stepWithin, workerOf } from './workers.ts';

export function foldWorker(fleet: Fleet, entry: WorkerEntry, seq: number, owner: string | null): void {
  if (!fleet.workers.has(entry.id) && isStateFull(fleet)) {
    const reason = describeFull(fleet.stateSizeMax);
    fleet.outcomes.push({ kind: 'refused', entity: 'worker', id: entry.id, type: entry.type, reason });
    return;
  }
  if (entry.type === 'usage.reported') {
    const record = absentWorkerOf(fleet, entry.id);
    record.namedMs = fleet.nowMs;
    addUsage(fleet, record, entry);
    return;
  }
  const record = workerOf(fleet, entry.id);
  const beforeMs = staleFromMs(record);
  record.lastSeenMs = fleet.nowMs;
  record.namedMs = fleet.nowMs;
  const named = 'task' in entry.data ? fleet.tasks.get(entry.data.task) : undefined;
  if (named !== undefined) named.namedMs = fleet.nowMs;
  apply(fleet, record, entry, seq, owner);
  armStaleness(fleet, record, beforeMs);
  if (record.snapshot.value.presence !== 'active') refreshPresence(fleet, record);
  // An entry that was refused has changed nothing but that the worker was heard of.
  if (record.attends === null) trackAttendance(fleet, record);
}

function apply(fleet: Fleet, record: WorkerRecord, entry: WorkerEntry, seq: number, owner: string | null): void {
  const { worker: context } = record.snapshot.context;
  switch (entry.type) {
    case 'tool.started':
      stepWithin(fleet, record, eventOf(fleet, entry, { inForce: policyInForce(fleet, context) }));
      resumeTasks(fleet, record);
      return;
    case 'stop.attempted':
      openAttempt(fleet, record, entry, seq, owner);
      return;
    case 'task.claimed':
      claimTask(fleet, record, entry.data);
      return;
    case 'task.completed':
    case 'task.failed':
    case 'task.released':
      letGoOfTask(fleet, record, entry);
      return;
    case 'session.ended':
      closeSession(fleet, record, entry);
      return;
    case 'step.updated':
      if (context.plan.length >= planStepsMax && !context.plan.some((step) => step.step === entry.data.step)) {
        refuseWorker(fleet, record, entry.type, `the plan has ${planStepsMax} steps, the most there may be`);
        return;
      }
      break;
    case 'background.started':
      if (context.background.length >= backgroundMax && !context.background.includes(entry.data.id)) {
        refuseWorker(
          fleet,
          record,
          entry.type,
          `${backgroundMax} background works are outstanding, the most there may be`,
        );
        return;
      }
      break;
    case 'input.requested': {
      const refusal = refuseRequest(context, entry.data.request);
      if (refusal !== null) {
        refuseWorker(fleet, record, entry.type, refusal);
        return;
      }
      break;
    }
    case 'prompt.submitted':
      if (context.ended !== 'retired') supersedeAttempt(fleet, record);
      break;
    case 'limit.reached':
    case 'limit.cleared':
      if (hasTooManyScopes(context, entry)) {
        refuseWorker(fleet, record, entry.type, `the worker has reported ${scopesMax} scopes, the most there may be`);
        return;
      }
      if (stepWithin(fleet, record, eventOf(fleet, entry))) changeLimit(fleet, record, entry);
      return;
    case 'worker.registered':
      if (entry.data.queue !== undefined) fleet.arrivals.add(entry.data.queue);
      break;
  }
  stepWithin(fleet, record, eventOf(fleet, entry));
  if (workTypes.has(entry.type)) resumeTasks(fleet, record);
}

const hasTooManyScopes = (
  { scopes }: WorkerContext,
  { type, data: { scope } }: Extract<WorkerEntry, { type: 'limit.reached' | 'limit.cleared' }>,
): boolean => type === 'limit.reached' && scope !== undefined && scopes.length >= scopesMax && !scopes.includes(scope);

const workTypes: ReadonlySet<string> = new Set(['prompt.submitted', 'tool.used', 'plan.updated', 'step.updated']);
