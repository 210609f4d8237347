/** decide: may this worker stop? Stores the attempt and replies with its decision (protocol.md §5). */
import {
  type AttemptFields,
  attemptSchema,
  type Decision,
  jsonDepthMax,
  quickRead,
  readJson,
} from '../../machines/index.ts';
import { AppError } from '../errors.ts';
import { encodeDecision } from '../host/fold/decision-bytes.ts';
import type { Host } from '../host/host.ts';
import type { Reply } from '../host/intake/open-request.ts';
import type { Endpoint } from '../nats/request-server.ts';
import { checkBody, checkBytes, checkId, parseInput } from './parse-input.ts';

/** Reads the body of decide, probe and verify. @throws AppError input.bad or entry.large */
export function readAttempt(worker: string, body: unknown): AttemptFields {
  checkId('worker', worker);
  checkBody(body);
  const given = body ?? {};
  const fields = quickRead('stop.attempted', given) ?? parseInput(attemptSchema, given);
  return { ...given, ...fields };
}

/** @throws AppError as `Service.decide` */
export const decide = (host: Host, worker: string, body: unknown): Promise<Decision> =>
  new Promise((resolve, reject) => {
    checkId('worker', worker);
    attempt(host, worker, body ?? {}, checkBody(body), (answer) =>
      answer instanceof Error ? reject(answer) : resolve(answer),
    );
  });

/** decide over NATS. Replies in the turn in which the decision is folded. */
export const decideRequest =
  (host: Host): Endpoint['handle'] =>
  ({ tail: worker, text, bytes }, respond) => {
    checkBytes('request', bytes);
    const read = readJson(text, 'the payload', jsonDepthMax);
    if (!read.ok) throw new AppError('input.bad', read.message);
    checkId('worker', worker);
    attempt(host, worker, read.value, text, (answer) =>
      respond(answer instanceof Error ? answer : encodeDecision(answer)),
    );
  };

/** @param text `given` as JSON. Stored unchanged, unless the schema changes the fields. */
function attempt(host: Host, worker: string, given: object, text: string, reply: Reply<Decision>): void {
  const plain = quickRead('stop.attempted', given) as AttemptFields | null;
  const fields = plain ?? parseInput(attemptSchema, given);
  // Unknown fields are kept in the log.
  const payload = plain === null ? JSON.stringify({ ...given, ...fields }) : text || '{}';
  host.attempt(worker, { attempt: fields.attempt, payload }, reply);
}
