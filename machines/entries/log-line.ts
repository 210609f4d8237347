/**
 * Reads a log, from the lines of a file or the messages of a stream, into entries that can be folded. Each fleet in it
 * has its own sequence numbers and its own clock, which never moves backwards.
 */
import { decodeUtf8, fromBase64 } from '../values/encoding.ts';
import { jsonDepthMax, payloadBytesMax } from '../values/limits.ts';
import { utf8Length } from '../values/text.ts';
import { parseIsoTime } from '../values/time.ts';
import type { Entry, StoredEntry } from './index.ts';
import { isTextTooDeep, memberText } from './json.ts';
import { readEntry, readFields } from './read-entry.ts';
import type { Refusal } from './refusal.ts';
import { createSubjectReader, type readSubject } from './subject.ts';

/** One message of a live log. `bytes`: the stored size of `text`. */
export type StoredText = {
  readonly seq: number;
  readonly atMs: number;
  readonly subject: string;
  readonly text: string;
  readonly bytes: number;
};

export type LogEntry = { readonly fleet: string; readonly stored: StoredEntry };

type LogLines = {
  /** Returns a string if the line is invalid (the reason), null if it is valid but not an entry. */
  readonly readLine: (line: string) => LogEntry | string | null;
  readonly readMessage: (message: StoredText) => LogEntry | string | null;
  /** The first line read, by fleet. */
  readonly firstLines: ReadonlyMap<string, FirstLine>;
};

/** `seq`: the entry's sequence number, or 1 if the line has none. */
export type FirstLine = { readonly seq: number; readonly subject: string };

export function createLogLines(): LogLines {
  const readAddress = createSubjectReader();
  const seqs = new Map<string, number>();
  const firstLines = new Map<string, FirstLine>();
  const lastMs = new Map<string, number>();
  const toLogEntry = (subject: string, seq: number, atMs: number, entry: Entry | Refusal): LogEntry | string => {
    if (!('data' in entry)) return `${subject}: ${entry.message}`;
    const { fleet } = entry;
    const clockMs = Math.max(atMs, lastMs.get(fleet) ?? atMs);
    lastMs.set(fleet, clockMs);
    return { fleet, stored: { seq, atMs: clockMs, entry } };
  };
  return {
    readLine(text) {
      if (text.trim() === '') return null;
      const line = parseLogLine(text);
      if (typeof line === 'string') return line;
      const { subject, at, seq: given } = line;
      const atMs = typeof at === 'string' ? parseIsoTime(at) : null;
      if (atMs === null) return describeBadTime(at);
      if (subject === null) return '"subject" is missing';
      const name = subject.split('.')[1] ?? '';
      const seq = Math.max(given ?? 0, (seqs.get(name) ?? 0) + 1);
      if (!seqs.has(name)) firstLines.set(name, { seq, subject });
      seqs.set(name, seq);
      const entry = readLineEntry(line, subject, text, readAddress);
      return entry === null ? null : toLogEntry(subject, seq, atMs, entry);
    },
    readMessage({ seq, atMs, subject, text, bytes }) {
      const entry = readEntry(subject, text, bytes, readAddress);
      return entry === null ? null : toLogEntry(subject, seq, atMs, entry);
    },
    firstLines,
  };
}

/** A parsed line. `subject` and `seq` are null if the line has none. */
export type LogLine = {
  readonly at: unknown;
  readonly subject: string | null;
  readonly data: unknown;
  readonly seq: number | null;
  /** The payload's bytes if they differ from `data` written as JSON; otherwise null. */
  readonly bytes: Uint8Array | null;
};

/** Returns a string (the reason) if the line is invalid. */
export function parseLogLine(text: string): LogLine | string {
  let line: unknown;
  try {
    line = JSON.parse(text);
  } catch (error) {
    return `is not JSON: ${(error as Error).message}`;
  }
  if (typeof line !== 'object' || line === null || Array.isArray(line)) return 'is not a JSON object';
  const { at, subject, data = {}, seq, base64 } = line as Record<string, unknown>;
  const bytes = typeof base64 === 'string' ? fromBase64(base64) : null;
  if (base64 !== undefined && bytes === null) return '"base64" is not base64';
  const isSeq = typeof seq === 'number' && Number.isSafeInteger(seq) && seq > 0;
  return { at, subject: typeof subject === 'string' ? subject : null, data, seq: isSeq ? seq : null, bytes };
}

/**
 * Returns the payload of a line as it was or will be stored.
 * @param text the line
 */
export function payloadOf({ bytes, data }: LogLine, text: string): string | Uint8Array {
  if (bytes !== null) return bytes;
  // Exports write a payload that is not a JSON object as a string.
  return typeof data === 'string' ? data : (memberText(text, 'data') ?? '');
}

/** Reads the payload exactly as a replica reads it from the log, with the same refusals. */
function readLineEntry(
  line: LogLine,
  subject: string,
  text: string,
  readAddress: typeof readSubject,
): Entry | Refusal | null {
  const address = readAddress(subject);
  if (address === null || 'code' in address) return address;
  const { data, bytes } = line;
  const isObject = typeof data === 'object' && data !== null && !Array.isArray(data);
  // A UTF-16 unit takes at most three bytes, so nearly every line is small enough without counting, and is parsed once.
  const isSmall = text.length * 3 <= payloadBytesMax && !isTextTooDeep(text, jsonDepthMax);
  if (bytes === null && isObject && isSmall) return readFields(address, data);
  const payload = payloadOf(line, text);
  return typeof payload === 'string'
    ? readEntry(subject, payload, utf8Length(payload), readAddress)
    : readEntry(subject, decodeUtf8(payload), payload.length, readAddress);
}

function describeBadTime(at: unknown): string {
  const given = typeof at === 'string' ? JSON.stringify(at) : at === undefined ? 'missing' : `a ${typeof at}`;
  return `"at" is not a time in ISO 8601 (UTC): ${given}`;
}
