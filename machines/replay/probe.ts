/**
 * Probe: what would be decided now, if this worker tried to stop? Judged as an attempt is, on data that is thrown
 * away: nothing is folded, an open attempt is left alone, and nothing is held (protocol.md §5).
 */

import type { AttemptFields } from '../entries/attempt.ts';
import { factsFor } from '../fleet/facts.ts';
import type { Fleet } from '../fleet/fleet.ts';
import { policyInForce } from '../fleet/policies.ts';
import type { Facts, PendingCheck, PolicyInForce } from '../guards/attempt.ts';
import type { Decision } from '../guards/decision.ts';
import type { CheckResult } from '../policy/checks/check-result.ts';
import { noPlan } from '../policy/plan.ts';
import { formatIsoTime } from '../values/iso-time.ts';
import { answerCheck, openAttempt } from '../worker/attempt.ts';
import type { WorkerContext } from '../worker/context.ts';

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
  const known = fleet.workers.get(worker)?.snapshot.context.worker;
  const context: WorkerContext = {
    ...(known ?? fleet.workerStepper.start({ fleet: fleet.name, worker, atMs: nowMs }).context.worker),
    attempt: null,
  };
  const found = policyInForce(fleet, context);
  const inForce = scope === 'step' ? checksOnly(found) : found;
  const surroundings = () => {
    const facts = factsFor(fleet, context, found, Math.max(nowMs, fleet.nowMs));
    return { facts: scope === 'step' ? withoutHooks(facts) : facts, stopwatch: fleet.stopwatch };
  };
  const step = (at: WorkerContext): Probe => {
    const pending = at.attempt?.pending ?? null;
    if (pending === null) return { decision: dryRun(at.lastDecision as Decision, Math.max(nowMs, fleet.nowMs)) };
    const next = (result: CheckResult) =>
      step({
        ...at,
        ...answerCheck(at, { ...surroundings(), type: 'check.finished', result: { ...result, check: pending.name } }),
      });
    return { pending, worker: { ...at, plan: context.plan }, next };
  };
  const event = {
    type: 'stop.attempted',
    attempt: 'probe',
    seq: 0,
    fields: { ...fields, holdMs: 0 },
    inForce,
    ...surroundings(),
  } as const;
  if (scope === 'stop') return step({ ...context, ...openAttempt(context, event) });
  // Of an empty plan nothing remains.
  const asIfPlanned = { ...context, plan: noPlan };
  return step({ ...asIfPlanned, ...openAttempt(asIfPlanned, event, 'checks') });
}

const checksOnly = (inForce: PolicyInForce): PolicyInForce => ({
  ...inForce,
  policy: { ...inForce.policy, persistence: null, stuckAfter: null },
});

const withoutHooks = (facts: Facts): Facts =>
  facts.task === null ? facts : { ...facts, task: { ...facts.task, hooks: [] } };

const dryRun = (decision: Decision, nowMs: number): Decision => ({
  ...decision,
  attempt: null,
  seq: null,
  at: formatIsoTime(nowMs),
  dryRun: true,
});
