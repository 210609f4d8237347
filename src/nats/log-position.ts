/** A place in a log, with enough about the entry there to tell later whether it is still the same. */
import { createHash } from 'node:crypto';
import type { LogMessage } from './log-reader.ts';

export type LogPosition = {
  /** Of the stream, from 1. */
  readonly seq: number;
  readonly subject: string;
  /** When the server stored it, in milliseconds since 1970. */
  readonly atMs: number;
  /** SHA-256, in hex, of the message id, a line feed and the payload. */
  readonly digest: string;
};

export function positionOf({ seq, subject, atMs, data, header }: LogMessage): LogPosition {
  const digest = createHash('sha256')
    .update(`${header('Nats-Msg-Id') ?? ''}\n`)
    .update(data)
    .digest('hex');
  return { seq, subject, atMs, digest };
}
