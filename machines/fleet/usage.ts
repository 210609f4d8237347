/**
 * Counts usage: `usage.reported` counts for its worker, for the task that the worker claimed last, and for the fleet's
 * day (protocol.md §3). It is not activity: it does not make a worker active, and changes no state.
 */
import type { OwnWorkerEntry, WorkerEntry } from '../entries/index.ts';
import { amountsOf, type DayUsage } from '../policy/budget.ts';
import type { Escalation } from '../values/escalation.ts';
import { parseIsoTime } from '../values/time.ts';
import { addToPeriod, countedOf, grantPeriod, type Period, unusedPeriod, useOf } from '../values/usage.ts';
import { countsUsage } from '../worker/changes.ts';
import type { WorkerContext } from '../worker/context.ts';
import { type Fleet, positionOf, type WorkerRecord } from './fleet.ts';
import { stepTask } from './tasks.ts';
import { eventOf, stepWorker } from './workers.ts';

const dayMs = 86_400_000;

/** Returns the usage of the UTC day of `nowMs`. */
function dayOf({ day }: Fleet, nowMs: number): Period {
  const sinceMs = nowMs - (nowMs % dayMs);
  return day.sinceMs === sinceMs ? day : { ...unusedPeriod, sinceMs };
}

/** Returns the fleet's daily budget and the usage that counts towards it, or null if it has no budget. */
export function dayUsageOf(fleet: Fleet, nowMs = fleet.nowMs): DayUsage | null {
  const { budget } = fleet.policies;
  if (budget === null) return null;
  const day = dayOf(fleet, nowMs);
  const used = countedOf(day);
  const amounts = day.granted?.amounts;
  return amounts === undefined ? { budget, used } : { budget, used, amounts };
}

type Reported = Extract<WorkerEntry, { type: 'usage.reported' }>;

export function addUsage(fleet: Fleet, record: WorkerRecord, entry: Reported): void {
  const { worker } = record.snapshot.context;
  const { tasks } = worker;
  // Another source reports the same usage.
  if (!countsUsage(worker, entry.data)) return;
  const task = tasks.at(-1) ?? taskOfLastStop(worker);
  stepWorker(fleet, record, eventOf(fleet, entry));
  if (task !== null) stepTask(fleet, task, { type: entry.type, data: entry.data, ...positionOf(fleet) });
  fleet.day = addToPeriod(dayOf(fleet, fleet.nowMs), useOf(entry.data));
  fleet.outcomes.push({ kind: 'used', worker: entry.id, task, report: entry.data });
}

/**
 * Returns the task that the worker held at its last stop, if no new turn has begun since, or null. The usage of a turn
 * is often reported after the stop that ended it.
 */
function taskOfLastStop({ lastDecision, usage: { prompt } }: WorkerContext): string | null {
  // A prompt may have the same time as the stop before it, so comparing times is not enough.
  if (lastDecision === null || prompt.turns === 0 || (parseIsoTime(lastDecision.at) ?? 0) < prompt.sinceMs) return null;
  return lastDecision.task;
}

type Resolved = Extract<OwnWorkerEntry, { type: 'escalation.resolved' }>;

/** Grants the daily budget again when a person resumes a worker or task that was escalated for it. */
export function grantDay(
  fleet: Fleet,
  escalation: Pick<Escalation, 'budget' | 'since'> | null,
  { verdict, grant }: Resolved['data'],
): void {
  if (escalation?.budget !== 'day' || verdict !== 'resume') return;
  const { policies, nowMs: atMs } = fleet;
  const { budget } = policies;
  const escalatedMs = parseIsoTime(escalation.since) ?? 0;
  // Amounts for limits that the budget does not have must not undo one that was chosen before.
  const amounts = amountsOf({
    tokens: budget?.tokens == null ? undefined : grant?.tokens,
    usd: budget?.usd == null ? undefined : grant?.usd,
  });
  fleet.day = grantPeriod(dayOf(fleet, atMs), amounts, { atMs, escalatedMs });
}

/** Grants the exhausted budget again before a person's resumption of the worker is folded. */
export function grantBudget(fleet: Fleet, record: WorkerRecord, { id, data }: Resolved): void {
  const { escalation, lastDecision } = record.snapshot.context.worker;
  if (data.verdict !== 'resume' || escalation === null) return;
  grantDay(fleet, escalation, data);
  if (escalation.budget !== 'task') return;
  // The person chose an amount for the task whose budget was used up. Others that were held get theirs as configured.
  const over = lastDecision?.seq === escalation.seq ? lastDecision.task : null;
  // The worker may claim the task again at once, so its budget must already be granted.
  for (const { entity, id: task } of fleet.escalated.values()) {
    const ofTask = entity === 'task' ? fleet.tasks.get(task)?.snapshot.context.escalation : null;
    if (ofTask?.worker === id && ofTask.since === escalation.since)
      stepTask(fleet, task, {
        type: 'budget.granted',
        data: { grant: task === over ? data.grant : undefined },
        ...positionOf(fleet),
      });
  }
}
