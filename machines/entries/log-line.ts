/**
 * Reads a log, from the lines of a file or the messages of a stream, into entries that can be folded. Each fleet in it
 * has its own sequence numbers and its own clock, which never moves backwards.
 */
import { describeGrant } from '../policy/budget.ts';
import { isDone } from '../policy/plan.ts';
import { decodeUtf8, fromBase64 } from '../values/digest.ts';
import { jsonDepthMax, payloadBytesMax } from '../values/limits.ts';
import { readFields as readToolInput } from '../values/questions.ts';
import { utf8Length } from '../values/text.ts';
import { formatDuration, parseIsoTime } from '../values/time.ts';
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
    const countsAsMs = Math.max(atMs, lastMs.get(fleet) ?? atMs);
    lastMs.set(fleet, countsAsMs);
    return { fleet, stored: { seq, atMs: countsAsMs, entry } };
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

/** Returns the payload of a line as it was or will be stored. @param text the line */
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

// Short descriptions of entries, for the command line and the inspector.

/** Frequent entries of the service that say nothing about a worker or task. */
export const isHousekeeping = (type: string): boolean => type === 'replica.joined' || type === 'timer.fired';

type Fields = Readonly<Record<string, unknown>>;
export const isFields = (data: unknown): data is Fields => typeof data === 'object' && data !== null;

/** The fields to show for each type, in order. Types without a row show all their fields. */
const shownFields: Readonly<Partial<Record<Entry['type'], readonly string[]>>> = {
  'worker.registered': ['agent', 'profile', 'policy', 'queue'],
  'heartbeat.sent': [],
  'prompt.submitted': ['by', 'text'],
  'tool.started': ['tool'],
  'step.updated': ['step', 'status', 'title'],
  'task.claimed': ['task'],
  'task.completed': ['task', 'result'],
  'task.failed': ['task', 'reason'],
  'task.released': ['task'],
  'background.started': ['kind', 'id', 'command'],
  'background.finished': ['kind', 'id'],
  'input.requested': ['kind', 'tool', 'detail', 'message'],
  'input.received': ['kind', 'message'],
  'limit.reached': ['scope', 'until'],
  'limit.cleared': ['scope'],
  'stop.attempted': ['attempt', 'stopReason', 'output'],
  'session.ended': ['reason'],
  'task.created': ['title', 'queue', 'priority'],
  'task.cancelled': ['reason'],
  'hook.registered': ['hook', 'type', 'name'],
  'hook.enabled': ['hook'],
  'hook.disabled': ['hook'],
  'hook.unregistered': ['hook'],
  'iteration.started': ['iteration', 'maxIterations'],
  'iteration.completed': ['iteration', 'promise'],
  'checkpoint.saved': ['checkpoint', 'phase', 'step'],
  'attempt.accepted': ['attempt', 'replica'],
  'check.started': ['check'],
  'check.finished': ['check', 'outcome', 'reason'],
  'timer.fired': ['timer'],
  'escalation.resolved': ['verdict', 'by', 'grant', 'prompt'],
  'escalation.acknowledged': ['by'],
  'escalation.notified': ['count', 'delivery'],
  'input.answered': ['verdict', 'by', 'message'],
  'worker.retired': ['by'],
  'replica.joined': ['replica'],
  'replica.left': ['replica'],
  'rules.set': ['version'],
};
// A Map, because the sender chooses the type: looking up `constructor` must find nothing.
const fieldsByType: ReadonlyMap<string, readonly string[]> = new Map(Object.entries(shownFields));

/**
 * Describes the fields of an entry; '' if the type alone says it all. The text may contain control characters.
 * @param separator goes between fields; a terminal shows two spaces as a gap, a web page as one space
 */
export function describeEntry(type: string, data: unknown, separator = '  '): string {
  if (!isFields(data)) return `not a JSON object: ${String(data)}`;
  if (type === 'tool.used') return describeTool(data);
  if (type === 'worker.moved') return `to ${toText(data.cwd)}`;
  if (type === 'worker.paused') return `by ${toText(data.by)}, ${describeLength(data.forMs)}`;
  if (type === 'worker.unpaused') return `by ${toText(data.by)}`;
  if (type === 'usage.reported') return describeUsage(data, separator);
  if (type === 'plan.updated' && Array.isArray(data.steps)) {
    const done = data.steps.filter((step) => isDone({ title: '', status: '', ...(step as object) }));
    return `${done.length} of ${data.steps.length} steps done`;
  }
  if (type === 'policy.set') return `policies ${Object.keys((data.policies ?? {}) as object).join(', ') || 'none'}`;
  const names = fieldsByType.get(type);
  if (names === undefined) return Object.keys(data).length === 0 ? '' : JSON.stringify(data);
  return names
    .filter((name) => data[name] !== undefined && data[name] !== null)
    .map((name) => describeField(name, data[name]))
    .join(separator);
}

function describeField(name: string, value: unknown): string {
  if (name === 'detail') return describeInput(value);
  return (name === 'grant' ? describeGrant(value) : null) ?? toText(value);
}

/** Shows a tool's input without the JSON punctuation. */
function describeInput(detail: unknown): string {
  const fields = typeof detail === 'string' ? readToolInput(detail) : null;
  if (fields === null) return toText(detail);
  return Object.entries(fields)
    .map(([name, value]) => `${name}: ${toText(value)}`)
    .join(', ');
}

function describeTool({ tool, ok, files }: Fields): string {
  const outcome = ok === undefined ? '' : ok === true ? ' (ok)' : ' (failed)';
  const changed = Array.isArray(files) && files.length > 0 ? `, files ${files.join(' ')}` : '';
  return `${toText(tool)}${outcome}${changed}`;
}

/** Describes how long a pause holds. The entry may have been refused, so `forMs` can be anything. */
const describeLength = (forMs: unknown): string =>
  forMs === undefined
    ? 'until the session ends'
    : `for ${typeof forMs === 'number' && forMs >= 0 ? formatDuration(forMs) : toText(forMs)}`;

/** Names each amount: `m-1  input 400  usd 0.5`. */
function describeUsage({ model, ...amounts }: Fields, separator: string): string {
  const named = ['input', 'output', 'cacheRead', 'cacheWrite', 'usd']
    .filter((name) => typeof amounts[name] === 'number' && amounts[name] !== 0)
    .map((name) => `${name} ${amountText(amounts[name] as number)}`);
  return [...(model === undefined ? [] : [toText(model)]), ...named].join(separator);
}

/** An agent may report the difference of two sums: `0.0006000000000000001`. Sums are in billionths of a dollar. */
const amountText = (amount: number): string => {
  const text = amount.toFixed(9);
  return text.includes('e') ? text : text.replace(/\.?0+$/, '');
};

const toText = (value: unknown): string => (typeof value === 'string' ? value : (JSON.stringify(value) ?? ''));
