/**
 * Probe: what would be decided if this worker tried to stop now? It is judged like an attempt, on data that is then
 * discarded: nothing is folded, an open attempt is not touched, and nothing is held (protocol.md §5).
 */
import type { AttemptFields } from '../entries/worker.ts';
import { planOfTask, surroundingsOf } from '../fleet/facts.ts';
import type { Fleet } from '../fleet/fleet.ts';
import { policyInForce } from '../fleet/policies.ts';
import type { PendingCheck, PolicyInForce } from '../guards/attempt.ts';
import type { Decision } from '../guards/decision.ts';
import { idleOf } from '../guards/idle.ts';
import type { CheckResult } from '../policy/checks/check-result.ts';
import { idleLimitOf } from '../policy/persistence.ts';
import type { Plan } from '../policy/plan.ts';
import { formatIsoTime } from '../values/time.ts';
import type { WorkerContext } from '../worker/context.ts';
import type { Surroundings } from '../worker/events.ts';
import type { WorkerSnapshot } from '../worker/worker.ts';

/** Either the decision, or a check that waits for its answer from outside, which goes to `next`. */
export type Probe =
  | { readonly decision: Decision }
  | { readonly pending: PendingCheck; readonly worker: WorkerContext; readonly next: (result: CheckResult) => Probe };

/**
 * The question that is asked. `stop`: the whole judgement. The others ask `checks` and `hooks` alone, whatever the
 * worker's state, counts, limits and queue are:
 * - `work`: is the work complete, of the plan, the held tasks and the tasks that the worker lost unfinished?
 * - `{ task }`: is this task complete, which the worker holds?
 * - `step`: may a step be marked as done (policy `steps: gate`)? The policy's checks, each `plan` among them taken as
 * fulfilled, without the hooks of tasks.
 */
export type ProbeScope = 'stop' | 'work' | 'step' | { readonly task: string };

export function probe(
  fleet: Fleet,
  worker: string,
  fields: AttemptFields,
  nowMs: number,
  scope: ProbeScope = 'stop',
): Probe {
  const known =
    fleet.workers.read(worker)?.snapshot ?? fleet.workerStepper.start({ fleet: fleet.name, worker, atMs: nowMs });
  const context = askedAbout(fleet, { ...known.context.worker, attempt: null }, scope);
  const found = policyInForce(fleet, context);
  const atMs = Math.max(nowMs, fleet.nowMs);
  const surroundings = (): Surroundings => {
    const around = surroundingsOf(fleet, context, found, atMs);
    if (scope === 'stop') return around;
    const tasks = scope === 'step' ? around.tasks?.map((task) => ({ ...task, hooks: [] })) : around.tasks;
    return { ...around, inForce: workOnly(found), tasks, from: 'checks' };
  };
  const step = (snapshot: WorkerSnapshot): Probe => {
    const { worker: at } = snapshot.context;
    const pending = at.attempt?.pending ?? null;
    if (pending === null)
      return { decision: dryRun(at.lastDecision as Decision, context, found, { atMs, isStop: scope === 'stop' }) };
    const next = (result: CheckResult) => {
      const data = { ...result, attempt: probeId, check: pending.name };
      const event = { type: 'check.finished', data, seq: 0, atMs, facts: surroundings() } as const;
      return step(fleet.workerStepper.next(snapshot, event));
    };
    return { pending, worker: { ...at, plan: known.context.worker.plan }, next };
  };
  // An open attempt is left alone: the probe starts as if there were none.
  const from = {
    value: { ...known.value, state: 'working' },
    context: { worker: context, evaluation: undefined },
  } as WorkerSnapshot;
  const data = { ...fields, attempt: probeId, holdMs: 0 };
  return step(fleet.workerStepper.next(from, { type: 'stop.attempted', data, seq: 0, atMs, facts: surroundings() }));
}

/** Returns the worker with the plan and the tasks that are asked about. */
function askedAbout(fleet: Fleet, worker: WorkerContext, scope: ProbeScope): WorkerContext {
  if (scope === 'step') return { ...worker, plan: fulfilled };
  if (scope === 'work') {
    const open = worker.heldAtEnd.filter((task) => isOpen(fleet, task));
    const plans = open.map((task) => planOfTask(fleet, task));
    return { ...worker, tasks: [...open, ...worker.tasks], plan: [...worker.plan, ...plans.flat()] };
  }
  if (typeof scope === 'string') return worker;
  return { ...worker, tasks: [scope.task], plan: planOfTask(fleet, scope.task) };
}

/** Tells whether the task is still to be done. Only stopped tasks are ever forgotten. */
function isOpen(fleet: Fleet, task: string): boolean {
  const known = fleet.tasks.get(task)?.snapshot;
  return known !== undefined && known.value !== 'stopped';
}

/** Every step is done, and there is at least one. */
const fulfilled: Plan = [{ title: '', status: 'done' }];

/** No id, so no attempt has it. */
const probeId = '~probe';

/** Removes what only a stop is asked: the cap, equal failures, persistence. */
const workOnly = (inForce: PolicyInForce): PolicyInForce => ({
  ...inForce,
  policy: { ...inForce.policy, retries: null, stuckAfter: null, persistence: null },
});

/** The bounds are those of the policy, asked or not; only a stop would count. */
function dryRun(
  decision: Decision,
  worker: WorkerContext,
  { policy }: PolicyInForce,
  { atMs, isStop }: { readonly atMs: number; readonly isStop: boolean },
): Decision {
  const idle = idleOf(worker, idleLimitOf(policy, worker.profile), atMs);
  const retry = { count: isStop ? decision.retry.count : worker.retryCount, max: policy.retries };
  return { ...decision, attempt: null, seq: null, at: formatIsoTime(atMs), retry, idle, dryRun: true };
}
