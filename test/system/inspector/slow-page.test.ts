/** A stalled page costs the service at most one message of the whole fleet, and catches up later. */
import { pino } from 'pino';
import { afterEach, expect, test, vi } from 'vitest';
import { createFleet, foldEntry, readEntry, viewWorker } from '../../../machines/index.ts';
import { createObservers } from '../../../src/host/fold/observers.ts';
import { createLive } from '../../../src/inspector/live/live.ts';
import type { LiveClient } from '../../../src/inspector/live/page.ts';
import type { Focus } from '../../../src/inspector/messages.ts';
import type { LogMessage } from '../../../src/nats/log/log-reader.ts';

const logger = pino({ level: 'silent' });
afterEach(() => vi.useRealTimers());

test('gets nothing while it does not read, then one message with all changes', async () => {
  vi.useFakeTimers();
  const fleet = createFleet('main');
  let seq = 0;
  const use = (worker: string) => {
    seq += 1;
    const entry = readEntry(`stopgate.main.worker.${worker}.tool.used`, '{"tool":"Bash"}', 15);
    if (entry === null || !('data' in entry)) throw new Error('no entry');
    foldEntry(fleet, { seq, atMs: seq, entry });
  };
  const live = createLive({
    fleet,
    logNow: () => seq,
    foldedSeq: () => seq,
    headSeq: async () => seq,
    viewWorker: (worker) => viewWorker(fleet, worker, seq),
    outage: () => null,
    observe: createObservers(fleet, logger).add,
    logger,
  });
  const page = (isReady: () => boolean) => {
    const sent: { event: string; data: { workers?: unknown[] }; bytes: number }[] = [];
    const client: LiveClient = {
      send: (event, data) => void sent.push({ event, data: JSON.parse(data), bytes: data.length }),
      isReady,
    };
    return { client, sent };
  };
  for (let index = 0; index < 5_000; index += 1) use(`w${index}`);
  let reads = true;
  const [slow, quick] = [page(() => reads), page(() => true)];
  live.join(slow.client, [], null);
  live.join(quick.client, [], null);
  await vi.advanceTimersByTimeAsync(100);
  reads = false;
  for (let turn = 0; turn < 200; turn += 1) {
    for (let index = 0; index < 500; index += 1) use(`w${(turn * 500 + index) % 5_000}`);
    await vi.advanceTimersByTimeAsync(100);
  }
  expect(slow.sent.map(({ event }) => event)).toEqual(['full']);
  expect(quick.sent.length).toBe(201);
  reads = true;
  await vi.advanceTimersByTimeAsync(100);
  expect(slow.sent).toHaveLength(2);
  expect(slow.sent[1]).toMatchObject({ event: 'delta' });
  expect(slow.sent[1]?.data.workers).toHaveLength(5_000);
  for (const { bytes } of slow.sent) expect(bytes).toBeLessThan(1024 * 1024);
  live.close();
});

test('entries are not kept for a page that does not read, only counted', async () => {
  vi.useFakeTimers();
  const fleet = createFleet('main');
  const observers = createObservers(fleet, logger);
  let seq = 0;
  const live = createLive({
    fleet,
    logNow: () => seq,
    foldedSeq: () => seq,
    headSeq: async () => seq,
    viewWorker: (worker) => viewWorker(fleet, worker, seq),
    outage: () => null,
    observe: observers.add,
    logger,
  });
  const prompt = () => {
    seq += 1;
    const data = new TextEncoder().encode(JSON.stringify({ text: 'x'.repeat(60_000) }));
    observers.folded({ seq, atMs: seq, subject: 'stopgate.main.worker.ana.prompt.submitted', data } as LogMessage);
  };
  let reads = true;
  const sent: { event: string; data: Focus }[] = [];
  const client = {
    send: (event: string, data: string) => void sent.push({ event, data: JSON.parse(data) }),
    isReady: () => reads,
  };
  live.join(client, [{ entity: 'worker', id: 'ana' }], null);
  await vi.advanceTimersByTimeAsync(200);
  prompt();
  reads = false;
  for (let index = 0; index < 50; index += 1) prompt();
  reads = true;
  await vi.advanceTimersByTimeAsync(200);
  expect(sent.at(-1)).toMatchObject({ event: 'worker', data: { entries: [], omitted: 51 } });
  live.close();
});
