/** The log reader delivers a stream in order, reports gaps, and has at most one window in flight. */
import { jetstreamManager } from '@nats-io/jetstream';
import { createInbox, headers, type Msg, type NatsConnection } from '@nats-io/nats-core';
import { connect } from '@nats-io/transport-node';
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { openLogReader } from '../../../src/nats/log/log-reader.ts';
import { addPullConsumer, createWindows, windowBytesMax, windowBytesMin } from '../../../src/nats/log/log-window.ts';
import type { NatsServer } from '../../support/nats-server.ts';
import { openNats } from '../../support/shared-server.ts';
import { openTcpProxy } from '../../support/tcp-proxy.ts';

let server: NatsServer;
let nc: NatsConnection;
beforeAll(async () => {
  server = await openNats();
  nc = await connect({ servers: server.url });
});
afterAll(async () => {
  await nc.close();
  await server.stop();
});

test.each([
  { answer: 'retry', expected: [1, 2] },
  { answer: 'go', expected: [1, 2, 5, 6] },
] as const)(
  'a gap is reported, and "$answer" decides whether the reader continues after it',
  async ({ answer, expected }) => {
    const manager = await jetstreamManager(nc);
    const stream = `gap-${answer}`;
    await manager.streams.add({ name: stream, subjects: [`${stream}.>`] });
    for (let count = 0; count < 6; count += 1) await nc.request(`${stream}.a`, '{}');
    for (const seq of [3, 4]) await manager.streams.deleteMessage(stream, seq);
    const seqs: number[] = [];
    const gaps: number[][] = [];
    const reader = openLogReader(nc, {
      stream,
      fromSeq: 1,
      onMessage: ({ seq }) => void seqs.push(seq),
      async onGap(fromSeq, toSeq) {
        gaps.push([fromSeq, toSeq]);
        return answer;
      },
    });
    await expect.poll(() => [gaps.length > 0, seqs]).toEqual([true, expected]);
    reader.close();
    expect(gaps[0]).toEqual([3, 5]);
  },
);

test('entries keep the consumer; after 3 s of silence there is a new one', async () => {
  await fill(nc, 'alive', []);
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'performance'] });
  onTestFinished(() => void vi.useRealTimers());
  const seqs: number[] = [];
  let interrupted = 0;
  const reading = openLogReader(nc, {
    stream: 'alive',
    fromSeq: 1,
    onMessage: ({ seq }) => void seqs.push(seq),
    onInterrupted() {
      interrupted += 1;
    },
  });
  onTestFinished(() => reading.close());
  await nc.request('alive.a', '{}');
  await expect.poll(() => seqs).toEqual([1]);
  vi.advanceTimersByTime(2_900);
  await nc.request('alive.a', '{}');
  await expect.poll(() => seqs).toEqual([1, 2]);
  vi.advanceTimersByTime(2_900);
  expect(interrupted).toBe(0);
  vi.advanceTimersByTime(2_000);
  expect(interrupted).toBe(1);
});

/** Closes the connection with the test. */
async function openOwn(config: string) {
  const own = await openNats({ config });
  const proxy = await openTcpProxy(own.port);
  const writer = await connect({ servers: own.url });
  const reader = await connect({ servers: `127.0.0.1:${proxy.port}`, pingInterval: 600_000 });
  onTestFinished(async () => {
    await Promise.all([writer.close(), reader.close()]);
    await proxy.close();
    await own.stop();
  });
  const count = async (name: 'slow_consumers') =>
    ((await (await fetch(`${own.monitor}/varz`)).json()) as Record<typeof name, number>)[name];
  return { proxy, writer, reader, slowConsumers: () => count('slow_consumers') };
}

async function fill(at: NatsConnection, stream: string, payloads: readonly Uint8Array[]) {
  const manager = await jetstreamManager(at);
  await manager.streams.add({ name: stream, subjects: [`${stream}.>`] });
  for (const payload of payloads) at.publish(`${stream}.a`, payload);
  await at.flush();
  await expect.poll(async () => (await manager.streams.info(stream)).state.messages).toBe(payloads.length);
  return manager;
}
const bytes = (length: number) => new Uint8Array(length).fill(120);

test('a busy reader has one window in flight, and the server keeps its connection', async () => {
  const { proxy, writer, reader, slowConsumers } = await openOwn('max_pending: 8MB');
  const manager = await fill(writer, 'standstill', Array(640).fill(bytes(60_000)));
  const seqs: number[] = [];
  const reading = openLogReader(reader, {
    stream: 'standstill',
    fromSeq: 1,
    onMessage({ seq }) {
      seqs.push(seq);
      if (seq === 1) proxy.cut({ toServer: false, toClient: true });
    },
  });
  await expect.poll(() => seqs.length).toBeGreaterThan(0);
  // The server has sent the whole window and waits for the reader.
  await expect
    .poll(async () => {
      const consumers = await manager.consumers.list('standstill').next();
      return consumers.map(({ num_waiting, delivered }) => [num_waiting, delivered.stream_seq > 0]);
    })
    .toEqual([[0, true]]);
  const [consumer] = await manager.consumers.list('standstill').next();
  expect((consumer?.delivered.stream_seq as number) * 60_000).toBeLessThan(3 * windowBytesMax);
  proxy.heal();
  await expect.poll(() => seqs.length).toBe(640);
  expect(seqs).toEqual(Array.from({ length: 640 }, (_, index) => index + 1));
  expect(await slowConsumers()).toBe(0);
  reading.close();
  await expect.poll(async () => (await manager.streams.info('standstill')).state.consumer_count).toBe(0);
});

test('many readers on a connection share the bytes in flight', async () => {
  await fill(nc, 'shared', []);
  const asked: number[] = [];
  const listening = nc.subscribe('$JS.API.CONSUMER.MSG.NEXT.shared.*', {
    callback: (_error, message) => void asked.push(message.json<{ max_bytes: number }>().max_bytes),
  });
  const options = { stream: 'shared', fromSeq: 1, onMessage: () => {} };
  const readers = Array.from({ length: 20 }, () => openLogReader(nc, options));
  await expect.poll(() => asked).toHaveLength(20);
  expect(asked).toEqual(Array(20).fill(windowBytesMin));
  for (const reader of readers) reader.close();
  asked.length = 0;
  const alone = openLogReader(nc, options);
  await expect.poll(() => asked).toEqual([windowBytesMax]);
  alone.close();
  listening.unsubscribe();
});

describe('a window', () => {
  test('that entries fill to the byte ends with the last of them', async () => {
    const manager = await fill(nc, 'exact', Array(30).fill(bytes(100)));
    /** Entries whose sequences, and so reply subjects, have two digits. */
    const read = async (wanted: number, max: number) => {
      const { name } = await addPullConsumer(manager, 'exact', 10);
      const inbox = createInbox();
      const windows = createWindows(nc, 'exact', name, inbox);
      const found: { message: Msg; last: boolean | string }[] = [];
      const subscription = nc.subscribe(`${inbox}.*`, {
        callback: (_error, message) => {
          const last = message.reply ? windows.onEntry(message) : windows.read(message);
          found.push({ message, last });
        },
      });
      windows.open({ count: 100, bytes: max });
      await expect.poll(() => found.length).toBeGreaterThanOrEqual(wanted);
      await nc.flush();
      subscription.unsubscribe();
      return found;
    };
    const sizes = (await read(21, 1_000_000)).map(({ message }) => (message as Msg & { size(): number }).size());
    const ofThree = sizes.slice(0, 3).reduce((sum, size) => sum + size);
    expect((await read(3, ofThree)).map(({ last }) => last)).toEqual([false, false, true]);
    expect((await read(3, ofThree - 1)).map(({ last }) => last)).toEqual([false, false, 'full']);
  });

  test('that is too small for an entry is followed by one for that entry alone', async () => {
    const { writer, reader } = await openOwn('max_payload: 4MB');
    await fill(writer, 'huge', [bytes(10), bytes(3_000_000), bytes(20), bytes(2_000_000), bytes(30)]);
    const lengths: number[] = [];
    const onMessage = ({ data }: { data: Uint8Array }) => void lengths.push(data.length);
    const reading = openLogReader(reader, { stream: 'huge', fromSeq: 1, onMessage });
    await expect.poll(() => lengths).toEqual([10, 3_000_000, 20, 2_000_000, 30]);
    reading.close();
  });
});

test.each([
  [100, 'Idle Heartbeat'],
  [408, 'Request Timeout'],
  [409, 'Message Size Exceeds MaxBytes'],
  [409, 'Consumer Deleted'],
  [503, 'No Responders'],
])('an entry with the headers of a status message (%i %s) is an entry', async (code, description) => {
  const stream = `headers-${code}-${description.length}`;
  await fill(nc, stream, []);
  const h = headers(code, description);
  h.set('Nats-Last-Consumer', '77');
  for (const payload of ['', '{}']) await nc.publish(`${stream}.a`, payload, { headers: h });
  await nc.request(`${stream}.a`, 'the end');
  const texts: string[] = [];
  const interrupted: string[] = [];
  const reading = openLogReader(nc, {
    stream,
    fromSeq: 1,
    onInterrupted: () => void interrupted.push('interrupted'),
    onMessage: ({ data }) => void texts.push(new TextDecoder().decode(data)),
  });
  await expect.poll(() => texts).toEqual(['', '{}', 'the end']);
  expect(interrupted).toEqual([]);
  reading.close();
});
