/**
 * Repeated attempts (protocol.md §2). In the machines, each case has one mechanism:
 *
 * - A stored `stop.attempted` with an id of the worker's last 256 attempts: the list here. Nothing is judged, and the
 *   outcome `repeated` lets the host answer with the decision, which it finds by `decisionSeqOf`.
 * - The same for a machine that runs without a fleet: guard `isRepeat` of the chart, which knows the open attempt and the
 *   last decision only.
 * - A `decision` entry that differs from what the fold decided, or comes before it: `stored-decisions.ts`.
 *
 * An entry that is published again under its message id is not stored twice by NATS, and never comes here.
 *
 * The list has the attempts of a worker that the fold recognises, so that a repeat is not judged twice. For each it
 * keeps two numbers, a hash of its id and the place of its decision: the ids themselves took up to 38 KB a worker.
 *
 * The hash has 53 bits. A new id is mistaken for one of 256 others once in 3 x 10^13 attempts of a worker. An agent
 * that searches for such an id can only repeat one of its own attempts, for which it could use that attempt's id as
 * well.
 */
import { digestOf } from '../values/digest.ts';

/** Hash, then the sequence number of its `decision` entry (0: not there yet), of each attempt; the newest last. */
export type KnownAttempts = number[];

const attemptsMax = 256;

export const isKnownAttempt = (known: Readonly<KnownAttempts> | null, attempt: string): boolean =>
  indexOf(known, attempt) >= 0;

/** @returns `known`, changed in place, or a new one */
export function addAttempt(known: KnownAttempts | null, attempt: string): KnownAttempts {
  if (known === null) return [digestOf([attempt]), 0];
  if (known.length >= 2 * attemptsMax) known.splice(0, 2);
  known.push(digestOf([attempt]), 0);
  return known;
}

/** Notes that the decision of an attempt is in the log. It has no effect for an unknown attempt. */
export function noteDecisionSeq(known: KnownAttempts | null, attempt: string, seq: number): void {
  const index = indexOf(known, attempt);
  if (known !== null && index >= 0) known[index + 1] = seq;
}

/** Returns where its `decision` entry stands; null: not there yet, or not known any more. */
export function decisionSeqOf(known: Readonly<KnownAttempts> | null, attempt: string): number | null {
  const index = indexOf(known, attempt);
  return index < 0 ? null : known?.[index + 1] || null;
}

function indexOf(known: Readonly<KnownAttempts> | null, attempt: string): number {
  if (known === null) return -1;
  const hash = digestOf([attempt]);
  // The newest are asked for most.
  for (let index = known.length - 2; index >= 0; index -= 2) if (known[index] === hash) return index;
  return -1;
}
