/** Entries that only replicas and operators write (protocol.md §3), a schema each. */
import { z } from 'zod';
import { checkRequestFields, checkResultSchema } from '../policy/checks/check-result.ts';
import { policySetSchema } from '../policy/policy-set.ts';
import { idSchema, name } from '../values/schemas.ts';

// `check.started` and `check.finished`: what becomes of a pending check or remote hook (protocol.md §3).

/** The check has its place on a runner, and its timeout starts; the first such entry counts. */
export const checkStarted = z.object(checkRequestFields);

export const checkFinished = checkResultSchema;

/** `timer.fired`: moves the log's clock when nothing else does. */
export const timerFired = z.object({ timer: name, attempt: idSchema.optional() });

/** `escalation.*`: what people do about a worker or task that is escalated. */
/** `seq`: the entry of the escalation that it is about; without it, it is about whichever is open. */
const escalationSeq = z.int().nonnegative().optional();

export const escalationAcknowledged = z.object({ by: name, seq: escalationSeq });

export const escalationResolved = z.object({
  by: name,
  verdict: z.enum(['resume', 'stop']),
  prompt: z.string().optional(),
  seq: escalationSeq,
});

/**
 * This service's own, beside protocol.md §3: people were notified of the escalation, so that they are not notified
 * again after a restart or by another replica. `count`: which notice it was, 1-based; `delivery`: its name, which must be the next
 * one's (`nextDelivery`).
 */
export const escalationNotified = z.object({ count: z.int().positive(), delivery: name });

/** `replica.*`: running copies of the service come and go. `rules.set`: which rules the log is folded by (protocol.md §15). */
const version = z.int().positive();

/** `rules`: the first and the last version of the rules that it knows. */
export const replicaJoined = z.object({ replica: idSchema, rules: z.tuple([version, version]).optional() });
export const replicaLeft = z.object({ replica: idSchema });
export const rulesSet = z.object({ version });

/** `policy.set`: replaces the whole set of policies. */
export const policySet = policySetSchema;
