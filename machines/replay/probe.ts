/**
 * Probe: what would be decided now, if this worker tried to stop? Judged as an attempt is, on data that is thrown
 * away: nothing is folded, an open attempt is left alone, and nothing is held (protocol 5).
 */

import type { AttemptFields } from '../entries/attempt.ts';
import { factsFor, policyInForce } from '../fleet/facts.ts';
import type { Fleet } from '../fleet/fleet.ts';
import type { Ask, Facts, PolicyInForce } from '../guards/attempt.ts';
import type { Decision } from '../guards/decision.ts';
import type { CheckResult } from '../policy/checks/check-result.ts';
import { noPlan } from '../policy/plan.ts';
import { formatIsoTime } from '../values/iso-time.ts';
import type { WorkerContext } from '../worker/worker-data.ts';
import { answerAsked, openAttempt } from '../worker/worker-judging.ts';

/** Either the answer, or a question to the world outside whose answer goes to `next`. */
export type Probe =
  | { readonly decision: Decision }
  | { readonly ask: Ask; readonly worker: WorkerContext; readonly next: (result: CheckResult) => Probe };

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
    ...(known ?? fleet.worker.start({ fleet: fleet.name, worker, atMs: nowMs }).context.worker),
    attempt: null,
  };
  const found = policyInForce(fleet, context);
  const inForce = scope === 'step' ? checksOnly(found) : found;
  const facts = () => {
    const seen = factsFor(fleet, context, found, Math.max(nowMs, fleet.nowMs));
    return scope === 'step' ? withoutHooks(seen) : seen;
  };
  const step = (at: WorkerContext): Probe => {
    const asked = at.attempt?.asked ?? null;
    if (asked === null) return { decision: dryRun(at.lastDecision as Decision, Math.max(nowMs, fleet.nowMs)) };
    const next = (result: CheckResult) =>
      step({
        ...at,
        ...answerAsked(at, { type: 'check.finished', result: { ...result, check: asked.name }, facts: facts() }),
      });
    return { ask: asked, worker: { ...at, plan: context.plan }, next };
  };
  const event = {
    type: 'stop.attempted',
    attempt: 'probe',
    seq: 0,
    fields: { ...fields, holdMs: 0 },
    inForce,
    facts: facts(),
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
