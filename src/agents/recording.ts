/**
 * Reads an agent's own session files as the hook calls that the agent would have made. A backtest passes these calls to
 * the agent's adapter. Reading is pure: no clock and no I/O.
 */
import type { UsageReport } from '../../machines/index.ts';

export type RecordedFields = Readonly<Record<string, unknown>>;

/** `atMs` is null if the line has no time. */
export type RecordedStep = {
  readonly atMs: number | null;
  /**
   * Names the turn. A fork or a resumed session begins with a copy of the earlier session, and a copied turn keeps its
   * name. Null before the first turn.
   */
  readonly turn: string | null;
} & (
  | {
      readonly kind: 'call';
      /** A hook call as the agent would have sent it. */
      readonly body: RecordedFields;
      /** Becomes the id of a stop. */
      readonly key: string;
    }
  /**
   * The tokens of one request to the model, or the cost of a process. `worker` is the session, as in the agent's
   * telemetry.
   */
  | { readonly kind: 'usage'; readonly worker: string; readonly report: UsageReport }
);

/** The session that a file belongs to. `child` is its sub-agent, or null if the file is the session's own. */
export type RecordedSession = { readonly session: string; readonly child: string | null };

export type RecordReader = {
  /** Reads one line. Lines must come in the file's order. */
  read(line: RecordedFields): readonly RecordedStep[];
  /** Returns what is known only at the end of the file. */
  end(): readonly RecordedStep[];
};

export type Recording = {
  /** The name of the agent. */
  readonly agent: string;
  /** True for a line that cannot matter and need not be parsed. Most lines are like that. */
  readonly canSkip: (line: string) => boolean;
  /** Returns null if this line does not name the session. */
  readonly identify: (line: RecordedFields) => RecordedSession | null;
  readonly open: (session: RecordedSession) => RecordReader;
};

export const fieldsOf = (value: unknown): RecordedFields =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as RecordedFields) : {};

export const textOf = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);

export const listOf = (value: unknown): readonly RecordedFields[] => (Array.isArray(value) ? value.map(fieldsOf) : []);

/** Returns null if the text is not a time. */
export function timeOf(value: unknown): number | null {
  const atMs = typeof value === 'string' ? Date.parse(value) : Number.NaN;
  return Number.isNaN(atMs) ? null : atMs;
}

export const countOf = (value: unknown): number =>
  typeof value === 'number' && Number.isFinite(value) && value > 0 ? value : 0;
