/**
 * Counts what a fleet uses: `usage.reported` counts for its worker, for the task that the worker claimed last, and for
 * the day of the whole fleet (protocol.md §3). It is no activity: nobody becomes present by it, and no state changes.
 */
import type { OwnWorkerEntry, WorkerEntry } from '../entries/index.ts';
import type { DayUsage } from '../policy/budget.ts';
import type { Escalation } from '../values/escalation.ts';
import { parseIsoTime } from '../values/time.ts';
import { addUse, countedOf, grantPeriod, type Period, unusedPeriod, useOf } from '../values/usage.ts';
import { countsUsage } from '../worker/changes.ts';
import type { WorkerContext } from '../worker/context.ts';
import { type Fleet, placeOf, type WorkerRecord } from './fleet.ts';
import { stepTask } from './tasks.ts';
import { eventOf, stepWorker } from './workers.ts';

const dayMs = 86_400_000;

/**
 * Returns the usage of the day in UTC in which `nowMs` is; it is zero if nobody has reported anything since the day
 * began.
 */
function dayOf({ day }: Fleet, nowMs: number): Period {
  const sinceMs = nowMs - (nowMs % dayMs);
  return day.sinceMs === sinceMs ? day : { ...unusedPeriod, sinceMs };
}

/** The budget of the day and what counts towards it; null: the fleet has none. */
export function dayUsageOf(fleet: Fleet, nowMs = fleet.nowMs): DayUsage | null {
  const { budget } = fleet.policies;
  return budget === null ? null : { budget, used: countedOf(dayOf(fleet, nowMs)) };
}

type Reported = Extract<WorkerEntry, { type: 'usage.reported' }>;

export function addUsage(fleet: Fleet, record: WorkerRecord, entry: Reported): void {
  const { worker } = record.snapshot.context;
  const { tasks } = worker;
  // Another source reports the same usage in its own way.
  if (!countsUsage(worker, entry.data)) return;
  const task = tasks.at(-1) ?? taskOfLastStop(worker);
  stepWorker(fleet, record, eventOf(fleet, entry));
  if (task !== null) stepTask(fleet, task, { type: entry.type, data: entry.data, ...placeOf(fleet) });
  fleet.day = addUse(dayOf(fleet, fleet.nowMs), useOf(entry.data));
  fleet.outcomes.push({ kind: 'used', worker: entry.id, task, report: entry.data });
}

/**
 * Returns the task that the worker held when it last tried to stop, if nothing new has begun since; null: none. What an
 * agent used for its last turn is often reported after the stop that ended it.
 */
function taskOfLastStop({ lastDecision, usage: { prompt } }: WorkerContext): string | null {
  // A prompt may have the time of the stop before it, so the time alone does not tell which came first.
  if (lastDecision === null || prompt.turns === 0 || (parseIsoTime(lastDecision.at) ?? 0) < prompt.sinceMs) return null;
  return lastDecision.task;
}

/** Grants the day's budget once more, when a person resumes a worker or a task that was escalated for it. */
export function grantDay(
  fleet: Fleet,
  escalation: Pick<Escalation, 'budget'> | null,
  verdict: 'resume' | 'stop',
): void {
  if (escalation?.budget === 'day' && verdict === 'resume')
    fleet.day = grantPeriod(dayOf(fleet, fleet.nowMs), fleet.nowMs);
}

/** Grants the budget of a worker once more, before a person resumes it: the same budget counts from here. */
export function grantBudget(
  fleet: Fleet,
  record: WorkerRecord,
  { id, data }: Extract<OwnWorkerEntry, { type: 'escalation.resolved' }>,
): void {
  const { escalation } = record.snapshot.context.worker;
  if (data.verdict !== 'resume' || escalation === null) return;
  grantDay(fleet, escalation, data.verdict);
  if (escalation.budget !== 'task') return;
  // Its worker is told to go on with it: it may claim it again at once.
  for (const { entity, id: task } of fleet.escalated.values()) {
    const its = entity === 'task' ? fleet.tasks.get(task)?.snapshot.context.escalation : null;
    if (its?.worker === id && its.since === escalation.since)
      stepTask(fleet, task, { type: 'budget.granted', ...placeOf(fleet) });
  }
}
