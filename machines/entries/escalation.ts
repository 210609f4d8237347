/** `escalation.*`: what people do about a worker or task that is escalated. */
import { z } from 'zod';
import { name } from './fields.ts';

export const escalationAcknowledged = z.object({ by: name });

export const escalationResolved = z.object({
  by: name,
  verdict: z.enum(['resume', 'stop']),
  prompt: z.string().optional(),
});

/**
 * This service's own, beside protocol.md §3: people were notified of the escalation, so that they are not notified
 * again after a restart or by another replica. `count`: which notice it was, 1-based; `delivery`: its name, which must be the next
 * one's (`nextDelivery`).
 */
export const escalationNotified = z.object({ count: z.int().positive(), delivery: name });
