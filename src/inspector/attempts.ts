/** A worker's latest attempts with their decisions, check results and the work done before each. */
import { type Decision, readEntry, readJson, topicOf } from '../../machines/index.ts';
import { createUsageSources } from '../../machines/replay/usage-sources.ts';
import { addUsed, unused, usdOf, useOf } from '../../machines/values/usage.ts';
import { isByPerson } from '../../machines/worker/changes.ts';
import type { EventLog } from '../nats/log/event-log.ts';
import type { LogMessage } from '../nats/log/log-reader.ts';
import type { AttemptRecord, AttemptWork } from './messages.ts';

/** Check results read per attempt, the newest first. A policy rarely has more checks. */
const checksEach = 8;
/** How many of the worker's own entries are read to summarize its work: a few hours' worth. */
const workMax = 1_000;
const decoder = new TextDecoder();

/**
 * Reads the newest `limit` attempts before entry `before`, newest first. `before` null reads from the end of the log.
 */
export async function readAttempts(
  log: Pick<EventLog, 'newest'>,
  fleet: string,
  worker: string,
  { before, limit }: { readonly before: number | null; readonly limit: number },
): Promise<AttemptRecord[]> {
  const newest = (tail: string, count: number) => log.newest(`stopgate.${fleet}.${tail}`, count, before);
  const [attempted, decided, checked, own] = await Promise.all([
    // One extra attempt, where the work of the oldest one starts.
    newest(`worker.${worker}.stop.attempted`, limit + 1),
    newest(`decision.${worker}`, limit),
    newest(`own.worker.${worker}.check.finished`, limit * checksEach),
    newest(`worker.${worker}.>`, workMax),
  ]);
  const decisions = new Map(
    decided.map((message) => [String(fieldsOf(message).attempt), fieldsOf(message) as unknown as Decision]),
  );
  const checks = groupByAttempt(checked);
  const readFrom = own.length < workMax ? 0 : (own[0]?.seq ?? 0);
  const counted = countedReports(own);
  const attempts = attempted.map((message, index): AttemptRecord => {
    const { attempt: given, output, stopReason } = fieldsOf(message);
    const attempt = typeof given === 'string' ? given : `seq-${message.seq}`;
    return {
      attempt,
      seq: message.seq,
      atMs: message.atMs,
      output: textOf(output),
      stopReason: textOf(stopReason),
      decision: decisions.get(attempt) ?? null,
      checks: (checks.get(attempt) ?? []).map(({ check, outcome, reason, feedback, tookMs }) => ({
        check: String(check),
        outcome: String(outcome),
        reason: textOf(reason),
        feedback: feedback ?? null,
        tookMs: typeof tookMs === 'number' ? tookMs : null,
      })),
      work: workBetween(attempted[index - 1], message, { own, counted, readFrom }),
    };
  });
  return attempts.slice(-limit).reverse();
}

/** Sequences of the usage reports that count: only the source that reports first does (protocol.md §3). */
function countedReports(own: readonly LogMessage[]): ReadonlySet<number> {
  const sources = createUsageSources();
  const counted = new Set<number>();
  for (const message of own) {
    const { id, type } = topicOf(message.subject);
    sources.note(id, type);
    if (type !== 'usage.reported') continue;
    const { source } = fieldsOf(message);
    if (sources.counts(id, typeof source === 'string' ? source : undefined)) counted.add(message.seq);
  }
  return counted;
}

/** Returns null if the work began before the entries that were read. */
function workBetween(
  older: LogMessage | undefined,
  newer: LogMessage,
  { own, counted, readFrom }: OwnEntries,
): AttemptWork | null {
  const fromSeq = older?.seq ?? 0;
  if (fromSeq < readFrom) return null;
  const done = own.filter(({ seq }) => seq > fromSeq && seq < newer.seq);
  let [tools, used, begun] = [0, unused, null as AttemptWork['begun']];
  const held = lastClaimed(own.filter(({ seq }) => seq <= fromSeq));
  const files = new Set<string>();
  for (const { seq, subject, data } of done) {
    const entry = readEntry(subject, decoder.decode(data), data.length);
    // Refused entries had no effect.
    if (entry === null || !('data' in entry)) continue;
    if (entry.type === 'usage.reported') used = counted.has(seq) ? addUsed(used, useOf(entry.data)) : used;
    // A task that was released, or lost at an escalation, may be claimed again.
    else if (entry.type === 'task.claimed') begun = entry.data.task === held ? begun : 'task';
    else if (entry.type === 'prompt.submitted' && isByPerson(entry.data)) begun ??= 'prompt';
    else if (entry.type === 'tool.used') {
      tools += 1;
      for (const file of entry.data.files ?? []) files.add(file);
    }
  }
  return {
    tools,
    files: files.size,
    usd: usdOf(used.nanoUsd),
    tokens: used.tokens,
    ms: newer.atMs - ((older ?? done[0])?.atMs ?? newer.atMs),
    begun: older === undefined ? null : begun,
  };
}

/** The task that the worker claimed last, or null. */
function lastClaimed(own: readonly LogMessage[]): string | null {
  const claim = own.findLast(({ subject }) => topicOf(subject).type === 'task.claimed');
  return claim === undefined ? null : textOf(fieldsOf(claim).task);
}

type OwnEntries = {
  /** The worker's entries from sequence `readFrom` on. */
  readonly own: readonly LogMessage[];
  /** Sequences of the usage reports that count. */
  readonly counted: ReadonlySet<number>;
  readonly readFrom: number;
};

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
