/** Passes each outcome of the fold to the room that acts on it. */
import { type Outcome, ownerFor } from '../../machines/index.ts';
import type { LogMessage } from '../nats/log-reader.ts';
import { type HostContext, isAtHead } from './context.ts';
import { onDecided } from './decisions.ts';
import type { Evaluations } from './evaluations.ts';
import type { Notices } from './notices.ts';
import type { Observers } from './observers.ts';
import type { Outbox } from './outbox.ts';
import type { PendingChecks } from './pending-checks.ts';
import { onAttemptRepeated } from './repeated-attempts.ts';

export type ActingRooms = {
  readonly outbox: Outbox;
  readonly checks: PendingChecks;
  readonly evaluations: Evaluations;
  readonly notices: Notices;
  readonly observers: Observers;
};

/** @param startedMs when the fold of `message` began, by `performance.now()` */
export function applyOutcome(
  context: HostContext,
  rooms: ActingRooms,
  outcome: Outcome,
  message: LogMessage,
  startedMs: number,
): void {
  const { outbox, checks, evaluations } = rooms;
  switch (outcome.kind) {
    case 'decided':
      onDecided(context, outbox, outcome, message, startedMs);
      checks.cancelStale(outcome.decision.worker);
      return;
    case 'checkPending':
    case 'accepted':
      if (isAtHead(context)) checks.start(outcome.worker);
      return;
    case 'repeated':
      void onAttemptRepeated(context, outbox, outcome.worker, outcome.attempt);
      return;
    case 'validated':
      evaluations.onValidated(outcome.task, outcome.attempt, outcome.result);
      return;
    case 'hookPending':
      evaluations.callHooks(outcome.task);
      return;
    case 'escalation':
      rooms.notices.onChanged(outcome.entity, outcome.id);
      rooms.observers.escalation(outcome.entity, outcome.id);
      return;
    case 'inputs':
      rooms.observers.inputs(outcome.worker);
      return;
    default:
      // What happened in history was reported when it was new.
      if (isAtHead(context)) report(context, outcome);
  }
}

type Reported = Extract<Outcome, { kind: 'hooksEvaluated' | 'handedBack' | 'refused' | 'used' }>;

function report({ fleet, replica, logger, metrics }: HostContext, outcome: Reported): void {
  switch (outcome.kind) {
    case 'hooksEvaluated':
      for (const run of outcome.runs) metrics.hookRan(run);
      return;
    case 'used':
      // One replica counts it, so that their sum is what was used.
      if (ownerFor(fleet, `usage ${fleet.seq}`, null) === replica) metrics.used(outcome.report);
      return;
    case 'handedBack':
      logger.warn({ workerId: outcome.worker, taskId: outcome.task }, 'task of a stale worker handed back');
      return;
    case 'refused': {
      const { entity, id, type, reason } = outcome;
      metrics.refused(type);
      logger.info({ [entity]: id, type, reason }, 'entry not valid in the current state');
      return;
    }
  }
}
