/** The position of the last folded entry identifies it among all others with its sequence number. */
import { expect, test } from 'vitest';
import { createFoldProgress } from '../../../src/host/fold/fold-progress.ts';
import type { LogMessage } from '../../../src/nats/log/log-reader.ts';

const message = (seq: number, text: string, messageId?: string): LogMessage => ({
  seq,
  atMs: 1_000 + seq,
  subject: 'stopgate.main.worker.w1.heartbeat.sent',
  data: new TextEncoder().encode(text),
  header: (name) => (name === 'Nats-Msg-Id' ? messageId : undefined),
});
const positionAfter = (...messages: LogMessage[]) => {
  const progress = createFoldProgress();
  for (const each of messages) progress.advance(each);
  return progress.position();
};

test('the position is that of the last folded entry, and no other entry there has its digest', () => {
  const position = positionAfter(message(1, '{}'), message(2, '{"a":1}', 'id'));
  expect(position).toMatchObject({ seq: 2, atMs: 1_002, subject: 'stopgate.main.worker.w1.heartbeat.sent' });
  expect(positionAfter(message(2, '{"a":1}', 'id'))).toEqual(position);
  expect(positionAfter(message(2, '{"a":2}', 'id'))?.digest).not.toBe(position?.digest);
});

test('before the first entry there is no position; a fold that continues a snapshot starts at its position', () => {
  expect(createFoldProgress().position()).toBeNull();
  const start = positionAfter(message(7, '{}'));
  const progress = createFoldProgress(start);
  expect([progress.seq, progress.position()]).toEqual([7, start]);
});

test('once nothing more is folded nobody waits, neither earlier nor later callers', async () => {
  const progress = createFoldProgress();
  const before = progress.until(1);
  progress.release();
  await Promise.all([before, progress.until(2)]);
});
