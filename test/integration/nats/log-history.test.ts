/** A range of the log is read completely or with an error, even if the node that serves it lags behind. */
import { jetstreamManager } from '@nats-io/jetstream';
import type { Msg, NatsConnection } from '@nats-io/nats-core';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openConnection } from '../../../src/nats/connection.ts';
import { type HistoryRange, readHistory } from '../../../src/nats/log/log-history.ts';
import type { NatsServer } from '../../support/nats-server.ts';
import { openNats } from '../../support/shared-server.ts';

const stream = 'STOPGATE_main';
let server: NatsServer;
let nc: NatsConnection;

beforeEach(async () => {
  server = await openNats();
  nc = await openConnection({ url: server.url, name: 'test', patient: false });
  const { streams } = await jetstreamManager(nc);
  await streams.add({ name: stream, subjects: ['log.>'] });
  for (let seq = 1; seq <= 10; seq += 1) await nc.request(`log.${seq}`, '{}');
});
afterEach(async () => {
  await nc.close();
  await server.stop();
});

/** A node that has only the entries up to `lastSeq(created)`. `created` counts its consumers from 1. */
function servedByNodeWith(lastSeq: (created: number) => number): NatsConnection {
  let created = 0;
  const request: NatsConnection['request'] = async (subject, payload, options) => {
    const message = await nc.request(subject, payload, options);
    if (!subject.startsWith('$JS.API.CONSUMER.CREATE.')) return message;
    created += 1;
    const answer = message.json<{ config: { opt_start_seq: number } }>();
    const has = Math.max(0, Math.min(10, lastSeq(created)) - answer.config.opt_start_seq + 1);
    const data = new TextEncoder().encode(JSON.stringify({ ...answer, num_pending: has }));
    const changed: Partial<Msg> = { data, json: <T>() => JSON.parse(new TextDecoder().decode(data)) as T };
    return new Proxy(message, { get: (at, key) => Reflect.get(key in changed ? changed : at, key) });
  };
  return new Proxy(nc, {
    get(target, key) {
      if (key === 'request') return request;
      const value: unknown = Reflect.get(target, key, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

async function read(from: NatsConnection, range: Partial<HistoryRange> = {}): Promise<number[]> {
  const seqs: number[] = [];
  await readHistory(from, stream, { fromSeq: 1, toSeq: 10, ...range }, ({ seq }) => void seqs.push(seq), 5);
  return seqs;
}
const upTo = (last: number) => Array.from({ length: last }, (_, at) => at + 1);

test('missing entries are requested again until the node has caught up', async () => {
  expect(await read(servedByNodeWith((created) => 4 * created))).toEqual(upTo(10));
});

test('a node that stays behind causes an error and is not taken for the end of the log', async () => {
  const reading = read(servedByNodeWith(() => 7));
  await expect(reading).rejects.toThrow('lacks entry 8 of STOPGATE_main, which the leader has; try again');
});

test('a node that stays behind is not taken for the end of a filtered log', async () => {
  const even = { subject: 'log.*.even' };
  for (let seq = 11; seq <= 20; seq += 1) await nc.request(seq % 2 === 0 ? `log.${seq}.even` : `log.${seq}`, '{}');
  expect(await read(nc, { ...even, toSeq: 17 })).toEqual([12, 14, 16]);
  expect(await read(nc, { subject: 'log.*.none', toSeq: 17 })).toEqual([]);
  const lagging = servedByNodeWith(() => 0);
  await expect(read(lagging, { ...even, toSeq: 17 })).rejects.toThrow('lacks entry 12 of STOPGATE_main');
  expect(await read(lagging, { ...even, toSeq: 11 })).toEqual([]);
});

test('a log that ends earlier, or lacks its last entry, is read to its end', async () => {
  expect(await read(nc, { toSeq: 99 })).toEqual(upTo(10));
  const { streams } = await jetstreamManager(nc);
  await streams.deleteMessage(stream, 10);
  expect(await read(nc)).toEqual(upTo(9));
  await streams.purge(stream);
  expect(await read(nc)).toEqual([]);
});

test('a missing entry in between is skipped', async () => {
  const { streams } = await jetstreamManager(nc);
  await streams.deleteMessage(stream, 5);
  expect(await read(nc, { toSeq: 5 })).toEqual(upTo(4));
  expect(await read(nc, { fromSeq: 5 })).toEqual([6, 7, 8, 9, 10]);
});
