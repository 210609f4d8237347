/** Ranges of a log are read completely, in order, at the reader's pace. Also finds the newest matching messages. */
import { jetstreamManager } from '@nats-io/jetstream';
import type { Msg, NatsConnection } from '@nats-io/nats-core';
import { connect } from '@nats-io/transport-node';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { openLogRange, readNewest } from '../../../src/nats/log/log-range.ts';
import type { NatsServer } from '../../support/nats-server.ts';
import { openNats } from '../../support/shared-server.ts';

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

/** Creates a stream with one message per subject. */
async function fill(at: NatsConnection, stream: string, subjects: readonly string[]): Promise<void> {
  const manager = await jetstreamManager(at);
  await manager.streams.add({ name: stream, subjects: [`${stream}.>`] });
  for (const [index, subject] of subjects.entries()) at.publish(`${stream}.${subject}`, `{"index":${index}}`);
  await at.flush();
  const messages = async () => (await manager.streams.info(stream)).state.messages;
  await expect.poll(messages).toBe(subjects.length);
}
const many = (count: number, subject: string) => Array.from({ length: count }, () => subject);

/** A connection on which the message at `seq` is delivered twice, with two consumer sequences. */
function repeating(at: NatsConnection, seq: number): NatsConnection {
  const subscribe: NatsConnection['subscribe'] = (subject, options) => {
    let repeated = 0;
    const renumbered = (message: Msg): Msg => {
      const tokens = (message.reply ?? '').split('.');
      const reply = tokens.with(6, String(Number(tokens[6]) + repeated)).join('.');
      return new Proxy(message, { get: (target, key) => (key === 'reply' ? reply : Reflect.get(target, key, target)) });
    };
    const callback: NonNullable<typeof options>['callback'] = (error, message) => {
      if (!message.reply?.startsWith('$JS.ACK.')) return options?.callback?.(error, message);
      options?.callback?.(error, renumbered(message));
      if (message.reply.split('.')[5] !== String(seq)) return;
      repeated += 1;
      options?.callback?.(error, renumbered(message));
    };
    return at.subscribe(subject, { ...options, callback });
  };
  return new Proxy(at, {
    get(target, key) {
      if (key === 'subscribe') return subscribe;
      const value: unknown = Reflect.get(target, key, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

describe('a range', () => {
  test('contains the log up to its end at the time of opening, in order', async () => {
    await fill(nc, 'whole', many(2_500, 'a'));
    const { count, batches } = await openLogRange(nc, 'whole', { fromSeq: 11 });
    await nc.request('whole.a', '{}');
    const seqs: number[] = [];
    for await (const batch of batches) seqs.push(...batch.map(({ seq }) => seq));
    expect(seqs).toEqual(Array.from({ length: 2_490 }, (_, index) => index + 11));
    expect(count).toBe(2_490);
  });

  test("has the server's timestamps, to the millisecond", async () => {
    await fill(nc, 'times', many(50, 'a'));
    const manager = await jetstreamManager(nc);
    for await (const batch of (await openLogRange(nc, 'times')).batches) {
      for (const { seq, atMs } of batch) {
        const stored = await manager.streams.getMessage('times', { seq });
        expect(new Date(atMs).toISOString().slice(0, 23)).toBe(stored?.timestamp.slice(0, 23));
      }
    }
  });

  test('has no batches if it is empty', async () => {
    await fill(nc, 'empty', []);
    const { count, batches } = await openLogRange(nc, 'empty');
    for await (const batch of batches) expect.unreachable(String(batch.length));
    expect(count).toBe(0);
  });

  test('leaves no consumer behind if the reader stops early', async () => {
    await fill(nc, 'left', many(3_000, 'a'));
    for await (const _ of (await openLogRange(nc, 'left')).batches) break;
    const manager = await jetstreamManager(nc);
    await expect.poll(async () => (await manager.streams.info('left')).state.consumer_count).toBe(0);
  });

  test('ends with an error if the server goes away', async () => {
    const own = await openNats();
    onTestFinished(() => own.stop());
    const at = await connect({ servers: own.url, maxReconnectAttempts: 0 });
    await fill(at, 'cut', many(3_000, 'a'));
    const read = async () => {
      for await (const _ of (await openLogRange(at, 'cut')).batches) {
        await own.kill();
        await at.closed();
      }
    };
    await expect(read()).rejects.toThrow('the connection to NATS was lost');
  });

  test('ends with an error if a message is repeated, because the last one would be missing', async () => {
    await fill(nc, 'twice', many(5, 'a'));
    const seqs: number[] = [];
    const read = async () => {
      for await (const batch of (await openLogRange(repeating(nc, 3), 'twice')).batches)
        seqs.push(...batch.map(({ seq }) => seq));
    };
    await expect(read()).rejects.toThrow('entry 3 arrived after entry 3');
    expect(seqs).toEqual([]);
  });

  test('of a missing stream is an error', async () => {
    await expect(openLogRange(nc, 'nothing')).rejects.toMatchObject({ code: 'actor.unknown' });
    await expect(readNewest(nc, 'nothing', 'a', 1)).rejects.toMatchObject({ code: 'actor.unknown' });
  });
});

describe('the newest matching messages', () => {
  test.each([
    { name: 'ends', subjects: [...many(5_000, 'b'), ...many(30, 'a')] },
    { name: 'begins', subjects: [...many(30, 'a'), ...many(30_000, 'b')] },
    { name: 'crowds', subjects: [...many(4_000, 'a'), ...many(9_000, 'b')] },
    { name: 'sparse', subjects: Array.from({ length: 20_000 }, (_, index) => (index % 700 === 0 ? 'a' : 'b')) },
    { name: 'few', subjects: ['a', ...many(3_000, 'b'), 'a', 'b'] },
    { name: 'none', subjects: many(300, 'b') },
    { name: 'nothing-at-all', subjects: [] },
  ])('are found if the log $name', async ({ name, subjects }) => {
    await fill(nc, name, subjects);
    const expected = subjects.flatMap((subject, index) => (subject === 'a' ? [index + 1] : [])).slice(-20);
    const found = await readNewest(nc, name, `${name}.a`, 20);
    expect(found.map(({ seq }) => seq)).toEqual(expected);
  });

  test('are empty before the first sequence', async () => {
    await fill(nc, 'bounded', many(5, 'a'));
    expect(await readNewest(nc, 'bounded', 'bounded.a', 20, 1)).toEqual([]);
    expect(await readNewest(nc, 'bounded', 'bounded.a', 20, 0)).toEqual([]);
  });

  test('are found without reading the whole log', async () => {
    await fill(nc, 'large', [...many(20_000, 'a'), ...many(40_000, 'b')]);
    const before = nc.stats().inMsgs;
    expect(await readNewest(nc, 'large', 'large.a', 20)).toHaveLength(20);
    expect(nc.stats().inMsgs - before).toBeLessThan(2_000);
  });
});
