/**
 * Probe: what would be decided if this worker tried to stop now? Judges like a real attempt, but on a copy of the
 * state: nothing is folded or held, and an open attempt is not affected (protocol.md §5).
 */
import type { AttemptFields } from '../entries/worker.ts';
import { planOfTask, surroundingsOf } from '../fleet/facts.ts';
import type { Fleet } from '../fleet/fleet.ts';
import { policyInForce } from '../fleet/policies.ts';
import type { AwaitedCheck, PolicyInForce } from '../guards/attempt.ts';
import type { Decision } from '../guards/decision.ts';
import { idleOf } from '../guards/idle.ts';
import type { CheckResult } from '../policy/checks/check-result.ts';
import { idleLimitOf } from '../policy/persistence.ts';
import type { Plan } from '../policy/plan.ts';
import { formatIsoTime } from '../values/time.ts';
import type { WorkerContext } from '../worker/context.ts';
import type { Surroundings } from '../worker/events.ts';
import type { WorkerSnapshot } from '../worker/worker.ts';

/** Either the decision, or an awaited check whose result must be passed to `next`. */
export type Probe =
  | { readonly decision: Decision }
  | { readonly awaited: AwaitedCheck; readonly worker: WorkerContext; readonly next: (result: CheckResult) => Probe };

/**
 * The question to answer. `stop` evaluates all guards. The others evaluate only `checks` and `hooks`, regardless of the
 * worker's state, counts, limits and queue:
 * - `work`: is the work complete, including the plan, the held tasks and the tasks that the worker lost unfinished?
 * - `{ task }`: is this held task complete?
 * - `step`: may a step be marked as done (policy `steps: gate`)? Evaluates the policy's checks without the hooks of
 *   tasks; `plan` checks pass.
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
  const context = narrowedTo(fleet, { ...known.context.worker, attempt: null }, scope);
  const found = policyInForce(fleet, context);
  const atMs = Math.max(nowMs, fleet.nowMs);
  const surroundings = (): Surroundings => {
    const around = surroundingsOf(fleet, context, found, atMs);
    if (scope === 'stop') return around;
    const tasks = scope === 'step' ? around.tasks?.map((task) => ({ ...task, hooks: [] })) : around.tasks;
    return { ...around, inForce: workOnly(found), tasks, from: 'checks' };
  };
  const step = (snapshot: WorkerSnapshot): Probe => {
    const { worker: judged } = snapshot.context;
    const awaited = judged.attempt?.pending ?? null;
    if (awaited === null)
      return { decision: dryRun(judged.lastDecision as Decision, context, found, { atMs, isStop: scope === 'stop' }) };
    const next = (result: CheckResult) => {
      const data = { ...result, attempt: probeId, check: awaited.name };
      const event = { type: 'check.finished', data, seq: 0, atMs, facts: surroundings() } as const;
      return step(fleet.workerStepper.next(snapshot, event));
    };
    return { awaited, worker: { ...judged, plan: known.context.worker.plan }, next };
  };
  // The probe ignores an open attempt: it starts as if there were none.
  const from = {
    value: { ...known.value, state: 'working' },
    context: { worker: context, evaluation: undefined },
  } as WorkerSnapshot;
  const data = { ...fields, attempt: probeId, holdMs: 0 };
  return step(fleet.workerStepper.next(from, { type: 'stop.attempted', data, seq: 0, atMs, facts: surroundings() }));
}

/** Returns the worker with only the plan and tasks that the question is about. */
function narrowedTo(fleet: Fleet, worker: WorkerContext, scope: ProbeScope): WorkerContext {
  if (scope === 'step') return { ...worker, plan: fulfilled };
  if (scope === 'work') {
    const open = worker.heldAtEnd.filter((task) => isOpen(fleet, task));
    const plans = open.map((task) => planOfTask(fleet, task));
    return { ...worker, tasks: [...open, ...worker.tasks], plan: [...worker.plan, ...plans.flat()] };
  }
  if (typeof scope === 'string') return worker;
  return { ...worker, tasks: [scope.task], plan: planOfTask(fleet, scope.task) };
}

/** Tells whether the task is not stopped. An unknown task was stopped, because only stopped tasks are forgotten. */
function isOpen(fleet: Fleet, task: string): boolean {
  const known = fleet.tasks.get(task)?.snapshot;
  return known !== undefined && known.value !== 'stopped';
}

/** A plan that passes every `plan` check. */
const fulfilled: Plan = [{ title: '', status: 'done' }];

/** Not a valid id, so it cannot collide with an attempt. */
const probeId = '~probe';

/** Removes the rules that concern only stops: retry limit, stuck detection, persistence. */
const workOnly = (inForce: PolicyInForce): PolicyInForce => ({
  ...inForce,
  policy: { ...inForce.policy, retries: null, stuckAfter: null, persistence: null },
});

/** Shows the policy's real limits, even those that `workOnly` removed. Only a stop would increase the retry count. */
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
