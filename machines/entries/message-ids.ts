/**
 * The message ids (`Nats-Msg-Id`) of the entries that clients and replicas store. Most ids are derived from what
 * the entry is about, so that NATS drops a repeat. Where an id must be parsed, the parser is next to the function that
 * builds it.
 *
 * Names chosen by agents never contain a colon or `~` (`idPattern`), so ids built from names cannot collide
 * with ids of another kind. Ids with `~` rely on their random part.
 *
 * The ids are not secret: agents can choose any message id, and an agent that uses one of these first prevents the
 * replica from storing its entry. So a replica either confirms its entry through the fold, or stores it again under a
 * `retriedMessageId`, whose `unique` part cannot be guessed.
 */

/** The id of a named attempt. Also the key under which a replica waits for its decision. */
export const attemptMessageId = (worker: string, attempt: string): string => `${worker}:${attempt}`;

/** The id of an attempt without a name. */
export const unnamedAttemptMessageId = (worker: string, unique: string): string => `${worker}:~${unique}`;

/** Tells whether the id belongs to this worker. */
export const isAttemptMessageIdOf = (worker: string, messageId: string): boolean => messageId.startsWith(`${worker}:`);

/**
 * The id of a claim made by the request `claim-next`. `tries` counts from 1; it grows when another worker was faster.
 */
export const claimNextMessageId = (worker: string, request: string, tries: number): string =>
  `${worker}:claim:${request}:${tries}`;

/** The id of an `iteration.validated` whose caller waits for the result. Unique, since each one is evaluated. */
export const evaluationMessageId = (task: string, unique: string): string => `${task}:~${unique}`;

export const isEvaluationMessageIdOf = (task: string, messageId: string): boolean => messageId.startsWith(`${task}:~`);

/** The id for storing an entry again when another entry has taken its id. `unique` must be unpredictable. */
export const retriedMessageId = (messageId: string, unique: string): string => `${messageId}:${unique}`;

export const decisionMessageId = (worker: string, attempt: string | null): string => `${worker}:${attempt}:decision`;

/**
 * Parses the message id of a decision, retried or not.
 * @returns the attempt, or null if the id does not belong to a decision of this worker
 */
export function parseDecisionMessageId(worker: string, messageId: string): string | null {
  if (!messageId.startsWith(`${worker}:`)) return null;
  const start = worker.length + 1;
  const end = messageId.indexOf(':', start);
  if (end < 0) return null;
  const kindEnd = messageId.indexOf(':', end + 1);
  const kind = messageId.slice(end + 1, kindEnd < 0 ? undefined : kindEnd);
  return kind === 'decision' ? messageId.slice(start, end) : null;
}

/** `number`: the 1-based number of the check within the attempt. */
export const checkMessageId = (worker: string, attempt: string, number: number, check: string): string =>
  `${worker}:${attempt}:check:${number}:${check}`;

/** The id of `check.started`; see `checkMessageId`. */
export const checkStartedMessageId = (worker: string, attempt: string, number: number, check: string): string =>
  `${checkMessageId(worker, attempt, number, check)}:started`;

/** The id of a remote hook's answer to an `iteration.validated`. `seq`: the sequence number of that entry. */
export const hookMessageId = (task: string, seq: number, number: number, hook: string): string =>
  `${task}:${seq}:hook:${number}:${hook}`;

/**
 * Returns the same id for every replica that takes over from the silent owner, so that only the first entry is stored.
 */
export const acceptedMessageId = (worker: string, attempt: string, from: string | null): string =>
  `${worker}:${attempt}:accepted:${from ?? ''}`;

/** The fields that identify a deadline. */
type DeadlineIds = { readonly id: string; readonly kind: string; readonly attempt: string; readonly atMs: number };

/** The id of the timer of a deadline. Retries use `retriedMessageId` with the 1-based number of the try. */
export const timerMessageId = ({ id, kind, attempt, atMs }: DeadlineIds): string => `${id}:${kind}:${attempt}:${atMs}`;

/** `joinedMs`: when the replica joined. Each membership then ends once, whichever replica reports it. */
export const leftMessageId = (replica: string, joinedMs: number): string => `left:${replica}:${joinedMs}`;

export const policyMessageId = (replica: string, unique: string): string => `policy:${replica}:${unique}`;

export const rulesMessageId = (version: number): string => `rules:${version}`;

/** `delivery`: the name of the notice (`nextDelivery`). */
export const notifiedMessageId = (delivery: string): string => `${delivery}/notified`;

/**
 * Returns the id of the dead letter for the entry at `seq`. Agents may not publish to the stream of dead letters, so
 * the id cannot be taken by another message.
 */
export const deadLetterMessageId = (seq: number): string => `dead:${seq}`;
