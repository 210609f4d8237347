/** What is remembered of the entry folded last: it tells that entry from any other in its place. */
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

test('the position is that of the entry folded last, and no other entry there has its digest', () => {
  const position = positionAfter(message(1, '{}'), message(2, '{"a":1}', 'id'));
  expect(position).toMatchObject({ seq: 2, atMs: 1_002, subject: 'stopgate.main.worker.w1.heartbeat.sent' });
  expect(positionAfter(message(2, '{"a":1}', 'id'))).toEqual(position);
  expect(positionAfter(message(2, '{"a":2}', 'id'))?.digest).not.toBe(position?.digest);
});

test('before the first entry there is none; a fold that continues a state begins at its position', () => {
  expect(createFoldProgress().position()).toBeNull();
  const start = positionAfter(message(7, '{}'));
  const progress = createFoldProgress(start);
  expect([progress.seq, progress.position()]).toEqual([7, start]);
});

test('once nothing more is folded nobody waits: neither who waited before, nor who comes later', async () => {
  const progress = createFoldProgress();
  const before = progress.until(1);
  progress.release();
  await Promise.all([before, progress.until(2)]);
});
