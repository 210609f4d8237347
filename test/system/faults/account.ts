/** Compares the log with the replies that workers received. */
import type { Decision } from '../../../machines/index.ts';
import type { LogMessage } from '../../../src/nats/log/log-reader.ts';
import type { Load } from './load.ts';

export type Account = {
  /** Number of acknowledged entries and received decisions. */
  readonly acknowledged: number;
  /** How many of them are missing in the log. */
  readonly lost: number;
  /** Attempts with two different decisions, with a reply that differs from the log, or that were counted twice. */
  readonly double: number;
  /** Attempts in the log without a decision. */
  readonly undecided: number;
};

/** Each block counts once, so the fourth stop is allowed. */
const pattern = ['incomplete', 'incomplete', 'incomplete', 'capped'];

export function account({ told, acknowledged }: Load, log: readonly LogMessage[]): Account {
  const bySeq = new Map(log.map((message) => [message.seq, message]));
  const decoder = new TextDecoder();
  const read = <Body>(message: LogMessage) => JSON.parse(decoder.decode(message.data)) as Body;
  const decisions = new Map<string, Set<string>>();
  const causes = new Map<string, string>();
  const attempted = new Set<string>();
  for (const message of log) {
    if (message.subject.startsWith('stopgate.main.decision.')) {
      const { attempt, decision, cause } = read<Decision>(message);
      decisions.set(attempt ?? '', (decisions.get(attempt ?? '') ?? new Set()).add(`${decision} ${cause}`));
      causes.set(attempt ?? '', cause);
    } else if (message.subject.endsWith('.stop.attempted')) attempted.add(read<{ attempt: string }>(message).attempt);
  }
  const lostEntries = acknowledged.filter(({ seq, subject }) => bySeq.get(seq)?.subject !== subject);
  const lostAnswers = told.filter(({ attempt }) => !decisions.has(attempt));
  const contradicted = told.filter(({ attempt, cause }) => causes.has(attempt) && causes.get(attempt) !== cause);
  const counts = new Map<string, number>();
  const miscounted = told.filter(({ worker, cause }) => {
    const number = counts.get(worker) ?? 0;
    counts.set(worker, number + 1);
    return cause !== pattern[number % pattern.length];
  });
  return {
    acknowledged: acknowledged.length + told.length,
    lost: lostEntries.length + lostAnswers.length,
    double: [...decisions.values()].filter(({ size }) => size > 1).length + contradicted.length + miscounted.length,
    undecided: [...attempted].filter((attempt) => !decisions.has(attempt)).length,
  };
}
