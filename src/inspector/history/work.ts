/** What the service and the history thread send each other. Types only. */
import type { ErrorCode, ErrorIssue } from '../../errors.ts';
import type { ConnectionOptions } from '../../nats/connection.ts';
import type { Topic } from '../messages.ts';
import type { Span } from '../statistics/buckets.ts';

/** How the thread reaches the log: as the service itself does. */
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

export type ToThread = { readonly id: number; readonly work: HistoryWork } | { readonly cancel: number };
/** `body`: of the reply, JSON as UTF-8, handed over without a copy. */
export type FromThread =
  | { readonly id: number; readonly progress: HistoryProgress }
  | { readonly id: number; readonly body: Uint8Array }
  | {
      readonly id: number;
      readonly error: { readonly code: ErrorCode; readonly message: string; readonly issues: readonly ErrorIssue[] };
    };
