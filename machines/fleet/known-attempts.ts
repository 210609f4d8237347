/**
 * Recognises repeated attempts, so that none is judged twice (protocol.md §2). Each case has one mechanism:
 *
 * - A stored `stop.attempted` repeats one of the worker's last 256 attempts: the list in this file. The outcome
 *   `repeated` lets the host answer with the earlier decision, which it finds by `decisionSeqOf`.
 * - A machine that runs without a fleet: guard `isRepeat` of the chart, which knows only the open attempt and the last
 *   decision.
 * - A `decision` entry that differs from the fold's decision, or arrives before it: `stored-decisions.ts`.
 *
 * NATS drops an entry that is published again under the same message id, so it never reaches the fold.
 *
 * For each attempt the list keeps two numbers: a hash of its id, and the sequence number of its decision. Keeping the
 * ids took up to 38 KB per worker. The hash has 53 bits: a new id collides with one of 256 others once in 3 x 10^13
 * attempts of a worker. An agent that searches for a collision can only repeat one of its own attempts, which it could
 * also do with that attempt's id.
 */
import { digestOf } from '../values/digest.ts';

/**
 * For each attempt, newest last: its hash, then the sequence number of its `decision` entry, or 0 before it is stored.
 */
export type KnownAttempts = number[];

const attemptsMax = 256;

export const isKnownAttempt = (known: Readonly<KnownAttempts> | null, attempt: string): boolean =>
  indexOf(known, attempt) >= 0;

/** @returns `known`, changed in place, or a new list if it was null */
export function addAttempt(known: KnownAttempts | null, attempt: string): KnownAttempts {
  if (known === null) return [digestOf([attempt]), 0];
  if (known.length >= 2 * attemptsMax) known.splice(0, 2);
  known.push(digestOf([attempt]), 0);
  return known;
}

/** Records the sequence number of an attempt's decision. Ignores unknown attempts. */
export function noteDecisionSeq(known: KnownAttempts | null, attempt: string, seq: number): void {
  const index = indexOf(known, attempt);
  if (known !== null && index >= 0) known[index + 1] = seq;
}

/** Returns the sequence number of the attempt's `decision` entry; null if not stored yet, or no longer known. */
export function decisionSeqOf(known: Readonly<KnownAttempts> | null, attempt: string): number | null {
  const index = indexOf(known, attempt);
  return index < 0 ? null : known?.[index + 1] || null;
}

function indexOf(known: Readonly<KnownAttempts> | null, attempt: string): number {
  if (known === null) return -1;
  const hash = digestOf([attempt]);
  // Most queries are about the newest attempts.
  for (let index = known.length - 2; index >= 0; index -= 2) if (known[index] === hash) return index;
  return -1;
}
