/** Formats a log message as the JSON line that `stopgate replay` and `stopgate import` read (protocol.md §10). */
import { formatIsoTime, isTextTooDeep, readJson } from '../../../machines/index.ts';
import type { LogMessage } from './log-reader.ts';

export type LogLine = {
  readonly at: string;
  readonly subject: string;
  /** The parsed payload, or its text if it is not JSON or nests too deeply to be serialised again. */
  readonly data: unknown;
  readonly seq: number;
  /** The exact payload. Present only if serialising `data` would give different bytes. */
  readonly base64?: string | undefined;
};

export function toLogLine({ atMs, subject, data, seq }: Omit<LogMessage, 'header'>): LogLine {
  const { value, base64 } = readPayload(data);
  return { at: formatIsoTime(atMs), subject, data: value, seq, base64 };
}

/** Returns `toLogLine` as JSON, without serialising `data` twice. */
export function formatLogLine({ atMs, subject, data, seq }: Omit<LogMessage, 'header'>): string {
  const { json, base64 } = readPayload(data);
  const bytes = base64 === undefined ? '' : `,"base64":"${base64}"`;
  return `{"at":"${formatIsoTime(atMs)}","subject":${JSON.stringify(subject)},"data":${json},"seq":${seq}${bytes}}`;
}

const decoder = new TextDecoder();

function readPayload(data: Uint8Array): { value: unknown; json: string; base64: string | undefined } {
  const text = decoder.decode(data);
  const parsed = isTextTooDeep(text) ? null : readJson(text);
  const value = parsed?.ok ? parsed.value : text;
  const json = JSON.stringify(value);
  const isSame = Buffer.from(typeof value === 'string' ? value : json).equals(data);
  return { value, json, base64: isSame ? undefined : Buffer.from(data).toString('base64') };
}
