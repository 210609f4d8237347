/** What the outside was told: acknowledged entries and answers, to be held against the log at the end. */
import type { Decision } from '../../machines/index.ts';
import type { StoredMessage } from './nats/store.ts';

export type Acknowledged = { readonly seq: number; readonly subject: string; readonly payload: string };
export type Answer = { readonly decision: Decision; readonly via: string; readonly atMs: number };
export type Asked = {
  readonly worker: string;
  readonly attempt: string;
  readonly answers: Answer[];
  /** Its caller has given up. */
  gaveUp: boolean;
};

/** What a worker was told by `claim-next`. */
export type Claimed = { readonly worker: string; readonly request: string; readonly task: string };

export type Ledger = {
  readonly acknowledged: Acknowledged[];
  readonly asked: Map<string, Asked>;
  readonly claimed: Claimed[];
  /** What the store lost, by its place and its content: gone for good unless somebody stores it again. */
  readonly lost: StoredMessage[];
  /** The refused entries whose dead letter the store lost: only a replica that starts after them may write it again. */
  readonly lostLetters: Set<number>;
  onLost(messages: readonly StoredMessage[]): void;
};

export function createLedger(): Ledger {
  const lost: StoredMessage[] = [];
  return {
    acknowledged: [],
    asked: new Map(),
    claimed: [],
    lost,
    lostLetters: new Set(),
    onLost: (messages) => void lost.push(...messages),
  };
}
