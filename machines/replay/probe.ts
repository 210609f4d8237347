/**
 * Probe: what would be decided if this worker tried to stop now? It is judged like an attempt, on data that is then
 * discarded: nothing is folded, an open attempt is not touched, and nothing is held (protocol.md §5).
 */

import type { AttemptFields } from '../entries/attempt.ts';
import { surroundingsOf } from '../fleet/facts.ts';
import type { Fleet } from '../fleet/fleet.ts';
import { policyInForce } from '../fleet/policies.ts';
import type { PendingCheck, PolicyInForce, TaskFacts } from '../guards/attempt.ts';
import type { Decision } from '../guards/decision.ts';
import type { CheckResult } from '../policy/checks/check-result.ts';
import type { Plan } from '../policy/plan.ts';
import { formatIsoTime } from '../values/iso-time.ts';
import type { WorkerContext } from '../worker/context.ts';
import type { Surroundings } from '../worker/events.ts';
import type { WorkerSnapshot } from '../worker/worker.ts';

/** Either the decision, or a check that waits for its answer from outside, which goes to `next`. */
export type Probe =
  | { readonly decision: Decision }
  | { readonly pending: PendingCheck; readonly worker: WorkerContext; readonly next: (result: CheckResult) => Probe };

/**
 * `stop`: the whole judgement. `step`: may a step of the plan be marked as done (policy `steps: gate`)? The policy's
 * checks alone, each `plan` among them taken as fulfilled: no cap, no task's hooks, no persistence.
 */
export type ProbeScope = 'stop' | 'step';

export function probe(
  fleet: Fleet,
  worker: string,
  fields: AttemptFields,
  nowMs: number,
  scope: ProbeScope = 'stop',
): Probe {
  const known =
    fleet.workers.read(worker)?.snapshot ?? fleet.workerStepper.start({ fleet: fleet.name, worker, atMs: nowMs });
  const context: WorkerContext = { ...known.context.worker, attempt: null };
  const found = policyInForce(fleet, context);
  const atMs = Math.max(nowMs, fleet.nowMs);
  const surroundings = (): Surroundings => {
    const around = surroundingsOf(fleet, context, found, atMs);
    if (scope === 'stop') return around;
    return { ...around, inForce: checksOnly(found), task: withoutHooks(around.task ?? null), from: 'checks' };
  };
  const step = (snapshot: WorkerSnapshot): Probe => {
    const { worker: at } = snapshot.context;
    const pending = at.attempt?.pending ?? null;
    if (pending === null) return { decision: dryRun(at.lastDecision as Decision, atMs) };
    const next = (result: CheckResult) => {
      const data = { ...result, attempt: probeId, check: pending.name };
      const event = { type: 'check.finished', data, seq: 0, atMs, facts: surroundings() } as const;
      return step(fleet.workerStepper.next(snapshot, event));
    };
    return { pending, worker: { ...at, plan: context.plan }, next };
  };
  // An open attempt is left alone: the probe starts as if there were none.
  const from = {
    value: { ...known.value, state: 'working' },
    context: { worker: scope === 'step' ? { ...context, plan: fulfilled } : context },
  } as WorkerSnapshot;
  const data = { ...fields, attempt: probeId, holdMs: 0 };
  return step(fleet.workerStepper.next(from, { type: 'stop.attempted', data, seq: 0, atMs, facts: surroundings() }));
}

/** Every step is done, and there is at least one. */
const fulfilled: Plan = [{ title: '', status: 'done' }];

/** No id, so no attempt has it. */
const probeId = '~probe';

const checksOnly = (inForce: PolicyInForce): PolicyInForce => ({
  ...inForce,
  policy: { ...inForce.policy, persistence: null, stuckAfter: null },
});

const withoutHooks = (task: TaskFacts | null): TaskFacts | null => (task === null ? null : { ...task, hooks: [] });

const dryRun = (decision: Decision, nowMs: number): Decision => ({
  ...decision,
  attempt: null,
  seq: null,
  at: formatIsoTime(nowMs),
  dryRun: true,
});
