/** The body of decide, probe and verify: the fields of an attempt (protocol.md §5). */
import { type AttemptFields, attemptSchema } from '../../machines/index.ts';
import { checkBody, checkId, parseInput } from '../parse-input.ts';

/** @throws AppError input.bad, entry.large */
export function readAttempt(worker: string, body: unknown): AttemptFields {
  checkId('worker', worker);
  checkBody(body);
  const fields = parseInput(attemptSchema, body ?? {});
  // Unknown fields go into the log as they came.
  return { ...(body as object), ...fields };
}
