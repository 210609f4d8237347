/** The last attempts of a worker, each with its answer and its checks, for comparison. */
import { type Decision, readJson } from '../../machines/index.ts';
import type { EventLog } from '../nats/log/event-log.ts';
import type { LogMessage } from '../nats/log/log-reader.ts';
import type { AttemptRecord } from './messages.ts';

/** The number of checks that are read for each attempt. A policy rarely has more; older ones are left out. */
const checksEach = 8;
const decoder = new TextDecoder();

/** Reads the newest `limit` attempts before entry `before` (null: before the end), newest first. */
export async function readAttempts(
  log: Pick<EventLog, 'newest'>,
  fleet: string,
  worker: string,
  { before, limit }: { readonly before: number | null; readonly limit: number },
): Promise<AttemptRecord[]> {
  const newest = (tail: string, count: number) => log.newest(`stopgate.${fleet}.${tail}`, count, before);
  const [attempted, decided, checked] = await Promise.all([
    newest(`worker.${worker}.stop.attempted`, limit),
    newest(`decision.${worker}`, limit),
    newest(`own.worker.${worker}.check.finished`, limit * checksEach),
  ]);
  const decisions = new Map(decided.map((it) => [String(fieldsOf(it).attempt), fieldsOf(it) as unknown as Decision]));
  const checks = groupByAttempt(checked);
  const attempts = attempted.map((message): AttemptRecord => {
    const { attempt: given, output, stopReason } = fieldsOf(message);
    const attempt = typeof given === 'string' ? given : `seq-${message.seq}`;
    return {
      ...{ attempt, seq: message.seq, atMs: message.atMs, output: textOf(output), stopReason: textOf(stopReason) },
      decision: decisions.get(attempt) ?? null,
      checks: (checks.get(attempt) ?? []).map(({ check, outcome, reason, feedback, tookMs }) => ({
        ...{ check: String(check), outcome: String(outcome), reason: textOf(reason) },
        ...{ feedback: feedback ?? null, tookMs: typeof tookMs === 'number' ? tookMs : null },
      })),
    };
  });
  return attempts.reverse();
}

type Fields = Readonly<Record<string, unknown>>;

function fieldsOf({ data }: LogMessage): Fields {
  const read = readJson(decoder.decode(data));
  return read.ok ? (read.value as Fields) : {};
}

const textOf = (value: unknown): string | null => (typeof value === 'string' ? value : null);

function groupByAttempt(messages: readonly LogMessage[]): Map<string, Fields[]> {
  const groups = new Map<string, Fields[]>();
  for (const message of messages) {
    const fields = fieldsOf(message);
    const attempt = String(fields.attempt);
    groups.set(attempt, [...(groups.get(attempt) ?? []), fields]);
  }
  return groups;
}
