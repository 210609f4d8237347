/** The work before an attempt, as read from the log. */
import { expect, test } from 'vitest';
import { readAttempts } from '../../../src/inspector/attempts.ts';
import type { LogMessage } from '../../../src/nats/log/log-reader.ts';

type LogEntry = readonly [type: string, data: object];

/** A log of worker `w1`, an entry a second. */
function logOf(entries: readonly LogEntry[]) {
  const messages = entries.map(([type, data], index) => ({
    seq: index + 1,
    atMs: 1_000 * (index + 1),
    subject: `stopgate.main.worker.w1.${type}`,
    data: new TextEncoder().encode(JSON.stringify(data)),
    header: () => undefined,
  })) as unknown as LogMessage[];
  const newest = async (subject: string, count: number) =>
    messages.filter((message) => matches(subject, message.subject)).slice(-count);
  return { newest };
}
const matches = (filter: string, subject: string) =>
  filter.endsWith('>') ? subject.startsWith(filter.slice(0, -1)) : subject === filter;

const begunIn = async (...entries: readonly LogEntry[]) =>
  (await readAttempts(logOf(entries), 'main', 'w1', { before: null, limit: 5 }))[0]?.work?.begun;

test('another task came in between only if it is another', async () => {
  const claimed = (task: string) => ['task.claimed', { task }] as const;
  const stop = (attempt: string) => ['stop.attempted', { attempt }] as const;
  const released = ['task.released', { task: 'T-1' }] as const;
  expect(await begunIn(claimed('T-1'), stop('a1'), released, claimed('T-2'), stop('a2'))).toBe('task');
  expect(await begunIn(claimed('T-1'), stop('a1'), released, claimed('T-1'), stop('a2'))).toBeNull();
  expect(await begunIn(stop('a1'), claimed('T-1'), stop('a2'))).toBe('task');
});
