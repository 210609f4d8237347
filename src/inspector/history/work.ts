/** What the service and the history process send each other. Types only. */
import type { ErrorCode, ErrorIssue } from '../../errors.ts';
import type { ConnectionOptions } from '../../nats/connection.ts';
import type { Topic } from '../messages.ts';
import type { Span } from '../statistics/buckets.ts';

/** How the process reaches the log: as the service itself does. The first message to it. */
export type HistorySource = Pick<ConnectionOptions, 'url' | 'credsFile' | 'inboxPrefix'> & { readonly fleet: string };

/**
 * `topic` null: all actors. `last`: how many attempts to compare; `sinceMs`: all from this time on instead. `width`:
 * entries a bucket, a power of two.
 */
export type HistoryWork =
  | { readonly kind: 'past'; readonly seq: number; readonly topic: Topic | null }
  | { readonly kind: 'outline'; readonly fromSeq: number; readonly toSeq: number; readonly width: number }
  | { readonly kind: 'statistics'; readonly span: Span }
  | { readonly kind: 'whatIf'; readonly policy: string; readonly last: number; readonly sinceMs: number | null };

/** Entries folded of those to fold. */
export type HistoryProgress = { readonly done: number; readonly total: number };

export type HistoryRequest = { readonly id: number; readonly work: HistoryWork };
export type ToProcess = HistoryRequest | { readonly cancel: number };
/** `body`: of the reply, JSON as UTF-8. `log`: a line of JSON for the log of the service. */
export type FromProcess =
  | { readonly log: string }
  | { readonly id: number; readonly progress: HistoryProgress }
  | { readonly id: number; readonly body: Uint8Array }
  | {
      readonly id: number;
      readonly error: { readonly code: ErrorCode; readonly message: string; readonly issues: readonly ErrorIssue[] };
    };
