/**
 * What must go out once: the `decision` entry of each attempt, and the answer to an inbox that an attempt named. It
 * waits here until the fold meets the decision entry. The attempt's owner sends it; who finds an owner gone sends in
 * its place, and the message id makes a repeat one entry.
 */
import type { Decision } from '../../machines/index.ts';
import { type Desk, encodeDecision, subject } from './context.ts';

type Letter = {
  readonly decision: Decision;
  readonly owner: string | null;
  readonly inbox: string | null;
  readonly sinceMs: number;
  sentMs: number;
};

export type Outbox = {
  readonly size: number;
  /** `everyone`: no effect was needed, so every replica may answer the inbox; the answers are equal. */
  put(decision: Decision, owner: string | null, inbox: string | null, everyone: boolean): void;
  /** The fold met the decision entry. */
  published(worker: string, attempt: string): void;
  find(worker: string, attempt: string): Decision | null;
  /** The log's head is reached: what has no entry yet goes out. */
  open(): void;
  /** Owners of letters that lie here for longer than `ageMs`. */
  overdueOwners(ageMs: number): Set<string | null>;
  sendFor(owner: string | null): void;
  /** Sends again what the log has not delivered. */
  resend(): void;
};

const resendMs = 2_000;
const keyOf = (worker: string, attempt: string | null) => `${worker}:${attempt}`;

export function createOutbox(desk: Desk): Outbox {
  const letters = new Map<string, Letter>();

  const answerInbox = ({ decision, inbox }: Letter) => {
    if (inbox === null || desk.bus.answer(inbox, encodeDecision(decision))) return;
    desk.logger.warn({ workerId: decision.worker, inbox }, 'answer withheld: the reply subject is no inbox');
  };
  // After the answers: whoever waits for one waits no longer than for the fold.
  const queue: Letter[] = [];
  const send = (letter: Letter) => {
    letter.sentMs = desk.clock();
    if (queue.push(letter) === 1) setImmediate(sendQueued);
  };
  const sendQueued = () => {
    for (const letter of queue.splice(0)) {
      const { worker, attempt } = letter.decision;
      // Whoever comes back after a silence folds the attempt and the decision that another has stored in one go.
      if (letters.get(keyOf(worker, attempt)) === letter) store(letter.decision);
    }
  };
  const store = (decision: Decision) => {
    const messageId = `${keyOf(decision.worker, decision.attempt)}:decision`;
    desk.log.send(subject(desk, `decision.${decision.worker}`), encodeDecision(decision), { messageId });
  };
  const isOurs = ({ owner }: Letter) => owner === null || owner === desk.replica;

  return {
    get size() {
      return letters.size;
    },
    put(decision, owner, inbox, everyone) {
      const letter: Letter = { decision, owner, inbox, sinceMs: desk.clock(), sentMs: 0 };
      letters.set(keyOf(decision.worker, decision.attempt), letter);
      if (!desk.atHead()) return;
      if (everyone || isOurs(letter)) answerInbox(letter);
      if (isOurs(letter)) send(letter);
    },
    published: (worker, attempt) => void letters.delete(keyOf(worker, attempt)),
    find: (worker, attempt) => letters.get(keyOf(worker, attempt))?.decision ?? null,
    open() {
      for (const letter of [...letters.values()].filter(isOurs)) {
        answerInbox(letter);
        send(letter);
      }
    },
    overdueOwners(ageMs) {
      const before = desk.clock() - ageMs;
      return new Set(
        [...letters.values()].filter((it) => it.sinceMs <= before && !isOurs(it)).map(({ owner }) => owner),
      );
    },
    sendFor(owner) {
      for (const letter of [...letters.values()].filter((it) => it.owner === owner)) {
        answerInbox(letter);
        send(letter);
      }
    },
    resend() {
      if (!desk.bus.isConnected()) return;
      const before = desk.clock() - resendMs;
      for (const letter of letters.values()) if (letter.sentMs > 0 && letter.sentMs < before) send(letter);
    },
  };
}
