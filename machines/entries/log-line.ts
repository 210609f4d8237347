/**
 * Reads a log, as lines of a file or messages of a stream, into entries that can be folded. Each fleet in it has its
 * own count and its own clock, which never goes back.
 */

import { parseIsoTime } from '../values/iso-time.ts';
import { payloadBytesMax } from '../values/limits.ts';
import { utf8Length } from '../values/text.ts';
import type { Entry, StoredEntry } from './index.ts';
import { isTooDeep, tooDeepMessage } from './json.ts';
import { readEntry, readFields, tooLargeMessage } from './read-entry.ts';
import type { Refusal } from './refusal.ts';
import { readSubject } from './subject.ts';

/** One message of a live log. `bytes`: the size of `text` as it was stored. */
export type StoredText = {
  readonly seq: number;
  readonly atMs: number;
  readonly subject: string;
  readonly text: string;
  readonly bytes: number;
};

export type LogEntry = { readonly fleet: string; readonly stored: StoredEntry };

export type LogLines = {
  /** A string: why the line is bad. Null: it is no entry, but nothing is wrong with it. */
  readonly readLine: (line: string) => LogEntry | string | null;
  readonly readMessage: (message: StoredText) => LogEntry | string | null;
};

export function createLogLines(): LogLines {
  const seqs = new Map<string, number>();
  const lastMs = new Map<string, number>();
  const place = (subject: string, seq: number, atMs: number, entry: Entry | Refusal): LogEntry | string => {
    if (!('data' in entry)) return `${subject}: ${entry.message}`;
    const { fleet } = entry;
    const countsAsMs = Math.max(atMs, lastMs.get(fleet) ?? atMs);
    lastMs.set(fleet, countsAsMs);
    return { fleet, stored: { seq, atMs: countsAsMs, entry } };
  };
  return {
    readLine(line) {
      if (line.trim() === '') return null;
      const parsed = parseLine(line);
      if (typeof parsed === 'string') return parsed;
      const { subject, atMs, fields } = parsed;
      const name = subject.split('.')[1] ?? '';
      const seq = Math.max(parsed.seq ?? 0, (seqs.get(name) ?? 0) + 1);
      seqs.set(name, seq);
      const address = readSubject(subject);
      if (address === null) return null;
      if ('code' in address) return address.message;
      return place(subject, seq, atMs, readFields(address, fields));
    },
    readMessage({ seq, atMs, subject, text, bytes }) {
      const entry = readEntry(subject, text, bytes);
      return entry === null ? null : place(subject, seq, atMs, entry);
    },
  };
}

type Line = { readonly subject: string; readonly atMs: number; readonly fields: unknown; readonly seq: number | null };

function parseLine(text: string): Line | string {
  let line: unknown;
  try {
    line = JSON.parse(text);
  } catch (error) {
    return `is not JSON: ${(error as Error).message}`;
  }
  if (typeof line !== 'object' || line === null || Array.isArray(line)) return 'is not a JSON object';
  const { at, subject, data = {}, seq } = line as Record<string, unknown>;
  const atMs = typeof at === 'string' ? parseIsoTime(at) : null;
  if (atMs === null) {
    const given = typeof at === 'string' ? JSON.stringify(at) : at === undefined ? 'missing' : `a ${typeof at}`;
    return `"at" is not a time in ISO 8601 (UTC): ${given}`;
  }
  if (typeof subject !== 'string') return '"subject" is missing';
  if (isTooDeep(data)) return `${subject}: ${tooDeepMessage}`;
  // A character is at most three bytes, so that most lines need no counting.
  if (text.length * 3 > payloadBytesMax) {
    const bytes = utf8Length(JSON.stringify(data));
    if (bytes > payloadBytesMax) return `${subject}: ${tooLargeMessage(bytes)}`;
  }
  return {
    subject,
    atMs,
    fields: data,
    seq: typeof seq === 'number' && Number.isSafeInteger(seq) && seq > 0 ? seq : null,
  };
}
