/** The body of decide, probe and verify: the fields of an attempt (protocol.md §5). */
import { type AttemptFields, attemptSchema, quickRead } from '../../machines/index.ts';
import { checkBody, checkId, parseInput } from '../parse-input.ts';

/** @throws AppError input.bad, entry.large */
export function readAttempt(worker: string, body: unknown): AttemptFields {
  checkId('worker', worker);
  checkBody(body);
  const given = body ?? {};
  const fields = quickRead('stop.attempted', given) ?? parseInput(attemptSchema, given);
  // Unknown fields go into the log as they came.
  return { ...given, ...fields };
}
