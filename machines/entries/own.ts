/** Schemas of the entries that only replicas and operators may publish (protocol.md §3). */
import { z } from 'zod';
import { grantForm } from '../policy/budget.ts';
import { checkRequestFields, checkResultSchema } from '../policy/checks/check-result.ts';
import { policySetSchema } from '../policy/policy-set.ts';
import { idSchema, name } from '../values/schemas.ts';

// `check.started` and `check.finished`: the progress of an awaited check or remote hook.

/** The check got a slot on a runner, and its timeout starts. Only the first such entry counts. */
export const checkStarted = z.object(checkRequestFields);

export const checkFinished = checkResultSchema;

/** `timer.fired`: moves the log's clock when no other entry does. */
export const timerFired = z.object({ timer: name, attempt: idSchema.optional() });

// `escalation.*`: how people respond to an escalated worker or task.

/**
 * The entry that caused the escalation in question. Without it, the response applies to whichever escalation is open.
 */
const escalationSeq = z.int().nonnegative().optional();

export const escalationAcknowledged = z.object({ by: name, seq: escalationSeq });

export const escalationResolved = z.object({
  by: name,
  verdict: z.enum(['resume', 'stop']),
  prompt: z.string().optional(),
  /** With `resume`, if a budget was used up: the amounts to grant instead of the configured ones. */
  grant: grantForm.optional(),
  seq: escalationSeq,
});

/**
 * People were notified of the escalation. Keeps them from being notified again after a restart or by another replica.
 * `count`: the 1-based number of the notice. `delivery`: its name, which must match `nextDelivery`.
 */
export const escalationNotified = z.object({ count: z.int().positive(), delivery: name });

// `replica.*`: a running instance of the service joined or left. `rules.set`: from here on, the log is folded by this
// version of the rules (protocol.md §15).

const version = z.int().positive();

/** `rules`: the first and last rules version that the replica knows. */
export const replicaJoined = z.object({ replica: idSchema, rules: z.tuple([version, version]).optional() });
export const replicaLeft = z.object({ replica: idSchema });
export const rulesSet = z.object({ version });

/** `policy.set`: replaces the whole set of policies. */
export const policySet = policySetSchema;
