/** A message of the log as a line, in the form that `stopgate replay` reads. */
import { formatIsoTime, isTextTooDeep, readJson } from '../../machines/index.ts';
import type { LogMessage } from './log-reader.ts';

/** `data` is the text itself where it is not a JSON object, or nests too deep to be written as JSON again. */
export type LogLine = { readonly at: string; readonly subject: string; readonly data: unknown; readonly seq: number };

export function toLogLine({ atMs, subject, data, seq }: Omit<LogMessage, 'header'>): LogLine {
  const text = new TextDecoder().decode(data);
  const parsed = isTextTooDeep(text) ? null : readJson(text);
  return { at: formatIsoTime(atMs), subject, data: parsed?.ok ? parsed.value : text, seq };
}
