/** Escalations that a decision makes. */
import type { Decision } from '../guards/decision.ts';
import { type Escalation, escalate } from '../values/escalation.ts';

export function escalateBy({ seq, at, reason, cause, attempt, worker }: Decision): Escalation {
  return escalate({ seq: seq ?? 0, since: at, reason, cause, attempt, worker });
}
