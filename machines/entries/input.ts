/** `input.*`: the agent starts or stops waiting for a person. */
import { z } from 'zod';
import { requestLengthMax } from '../values/limits.ts';
import { textSchema } from '../values/schemas.ts';
import { name } from './fields.ts';

/** The agent's own id for its request, by which an operator answers it. */
const request = textSchema(requestLengthMax).min(1);

/**
 * `detail`: what `tool` is to do, as text or as the tool's own input. Without `request` no operator can answer, and
 * `input.received` ends whatever was waited for.
 */
const input = z.object({
  kind: z.string().optional(),
  message: z.string().optional(),
  request: request.optional(),
  tool: z.string().optional(),
  detail: z.unknown().optional(),
});
export const inputRequested = input;
export const inputReceived = input;
/** An operator's answer. */
export const inputAnswered = z.object({
  by: name,
  request,
  verdict: z.enum(['allow', 'deny']),
  message: z.string().optional(),
});
