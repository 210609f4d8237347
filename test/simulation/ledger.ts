/** Records acknowledged entries and replies, to compare them with the log at the end. */
import type { Decision } from '../../machines/index.ts';
import type { StoredMessage } from './nats/store.ts';

export type Acknowledged = { readonly seq: number; readonly subject: string; readonly payload: string };
export type Answer = { readonly decision: Decision; readonly via: string; readonly atMs: number };
export type Asked = {
  readonly worker: string;
  readonly attempt: string;
  readonly answers: Answer[];
  /** The caller has given up. */
  gaveUp: boolean;
};

/** A reply of `claim-next`. */
export type Claimed = { readonly worker: string; readonly request: string; readonly task: string };

export type Ledger = {
  readonly acknowledged: Acknowledged[];
  readonly asked: Map<string, Asked>;
  readonly claimed: Claimed[];
  /** Entries lost by the store, by sequence and content. They are gone unless somebody stores them again. */
  readonly lost: StoredMessage[];
  /** Refused entries whose dead letter the store lost: only a replica that starts later may write it again. */
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
