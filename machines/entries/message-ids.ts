/**
 * The message ids (`Nats-Msg-Id`) of the entries that clients and replicas store. Each id is derived from what its
 * entry is about, so that a repeat is the same entry. If an id must be read again, the function beside the one that
 * made it parses it.
 *
 * Names that an agent chooses never contain a colon or `~` (`idPattern`), so ids of different kinds differ.
 *
 * Nothing here is a secret: agents can choose any message id for their entries, and an agent that uses one of these
 * first keeps the replica's entry out of the log. So what a replica stores is either proven by the fold or stored again
 * under a `retriedMessageId`, whose `unique` part is unpredictable.
 */

/** The attempt of that name. Also the key under which a replica waits for its decision. */
export const attemptMessageId = (worker: string, attempt: string): string => `${worker}:${attempt}`;

/** An attempt that its caller did not name: `unique` makes it differ from all others. */
export const unnamedAttemptMessageId = (worker: string, unique: string): string => `${worker}:~${unique}`;

/** Tells whether the id is one of this worker's attempts, and not another's. */
export const isAttemptMessageIdOf = (worker: string, messageId: string): boolean => messageId.startsWith(`${worker}:`);

/** A claim by the request `claim-next`. `tries`: after others were first, 1-based. */
export const claimNextMessageId = (worker: string, request: string, tries: number): string =>
  `${worker}:claim:${request}:${tries}`;

/** An `iteration.validated` that a caller waits for: the next one is judged again. */
export const evaluationMessageId = (task: string, unique: string): string => `${task}:~${unique}`;

export const isEvaluationMessageIdOf = (task: string, messageId: string): boolean => messageId.startsWith(`${task}:~`);

/** Another entry has the id: the same once more. `unique`: cannot be guessed. */
export const retriedMessageId = (messageId: string, unique: string): string => `${messageId}:${unique}`;

export const decisionMessageId = (worker: string, attempt: string | null): string => `${worker}:${attempt}:decision`;

/**
 * Parses the message id of a decision, also of a retried one. @returns the attempt; null: the id is none of a decision
 * of this worker
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

/** `number`: which question of the attempt it answers, 1-based. */
export const checkMessageId = (worker: string, attempt: string, number: number, check: string): string =>
  `${worker}:${attempt}:check:${number}:${check}`;

/** The check has its place; see `checkMessageId`. */
export const checkStartedMessageId = (worker: string, attempt: string, number: number, check: string): string =>
  `${checkMessageId(worker, attempt, number, check)}:started`;

/** The answer of a remote hook to an `iteration.validated`; `seq`: that entry's place in the log. */
export const hookMessageId = (task: string, seq: number, number: number, hook: string): string =>
  `${task}:${seq}:hook:${number}:${hook}`;

/**
 * Returns the same id for every replica that takes over from the silent owner, so that only the first entry is stored.
 */
export const acceptedMessageId = (worker: string, attempt: string, from: string | null): string =>
  `${worker}:${attempt}:accepted:${from ?? ''}`;

/** The fields by which one deadline differs from all others. */
type DeadlineIds = { readonly id: string; readonly kind: string; readonly attempt: string; readonly atMs: number };

/** A timer of that deadline. Each try has an id of its own: `retriedMessageId` with its number, 1-based. */
export const timerMessageId = ({ id, kind, attempt, atMs }: DeadlineIds): string => `${id}:${kind}:${attempt}:${atMs}`;

/** `joinedMs`: when it joined, so that each membership ends once, whoever says so. */
export const leftMessageId = (replica: string, joinedMs: number): string => `left:${replica}:${joinedMs}`;

export const policyMessageId = (replica: string, unique: string): string => `policy:${replica}:${unique}`;

export const rulesMessageId = (version: number): string => `rules:${version}`;

/** `delivery`: the notice's own name. */
export const notifiedMessageId = (delivery: string): string => `${delivery}/notified`;

/**
 * Returns the id of the dead letter of the entry at `seq`. Its stream takes nothing but dead letters, which agents may
 * not publish.
 */
export const deadLetterMessageId = (seq: number): string => `dead:${seq}`;
