/** The files of recorded sessions, and their lines. */
import { fieldsOf, type RecordedFields, type RecordedSession, type Recording } from '../agents/recording.ts';
import { tryJson } from '../text/json-text.ts';

/** `fromMs` is the time of the first line that has one. */
export type SessionFile = {
  readonly path: string;
  readonly identity: RecordedSession;
  readonly fromMs: number | null;
};

/** A session and its sub-agents. */
export type SessionFiles = {
  readonly agent: string;
  readonly recording: Recording;
  readonly session: string;
  /** The session's own file, or the first of its sub-agents' files if that is missing. */
  readonly file: string;
  readonly main: readonly SessionFile[];
  readonly children: readonly SessionFile[];
};

/** Yields the lines of a file in chunks. A line that is too long is null. @throws AppError if it cannot be read */
export type ReadLines = (path: string) => AsyncIterable<readonly (string | null)[]>;

/** Parses a line. Returns null for a damaged line, and undefined for an empty or skipped one. */
export function parseLine(line: string | null, canSkip: Recording['canSkip']): RecordedFields | null | undefined {
  if (line === null) return null;
  if (line.trim() === '' || canSkip(line)) return undefined;
  const value = tryJson(line);
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? fieldsOf(value) : null;
}
