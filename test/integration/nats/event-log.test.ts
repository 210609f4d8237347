/** A log is found or created, also where the server loses what it was asked. */
import { type NatsConnection, TimeoutError } from '@nats-io/nats-core';
import { connect } from '@nats-io/transport-node';
import { pino } from 'pino';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openEventLog } from '../../../src/nats/event-log.ts';
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

const log = pino({ level: 'silent' });
const open = (connection: NatsConnection, fleet: string) =>
  openEventLog({
    ...{ nc: connection, fleet, replicas: 1, acceptEmptyLog: false, log },
    findCoveredTo: () => Promise.resolve(0),
  });

/** The connection, but of each request the first `count` are carried out, and their answers are lost. */
function withoutAnswers(subject: string, count: number) {
  const timeoutsMs: number[] = [];
  const request: NatsConnection['request'] = async (asked, payload, options) => {
    const reply = await nc.request(asked, payload, options);
    if (!asked.startsWith(subject)) return reply;
    timeoutsMs.push(options?.timeout ?? 0);
    if (timeoutsMs.length <= count) throw new TimeoutError();
    return reply;
  };
  return { connection: Object.create(nc, { request: { value: request } }) as NatsConnection, timeoutsMs };
}

test.each(['INFO', 'STREAM.NAMES', 'STREAM.INFO', 'STREAM.CREATE'])(
  'a start whose $JS.API.%s is lost asks again, and waits longer each time',
  async (request) => {
    const fleet = `lost-${request.toLowerCase().replace('.', '-')}`;
    const { connection, timeoutsMs } = withoutAnswers(`$JS.API.${request}`, 2);
    await expect(open(connection, fleet)).resolves.toMatchObject({ deadSeq: 0 });
    expect(timeoutsMs.slice(0, 2)).toEqual([4_000, 8_000]);
  },
);

test('a start that gets no answer at all ends with log.unavailable', async () => {
  const { connection, timeoutsMs } = withoutAnswers('$JS.API.STREAM.NAMES', Number.POSITIVE_INFINITY);
  await expect(open(connection, 'silent')).rejects.toMatchObject({ code: 'log.unavailable' });
  expect(timeoutsMs).toEqual([4_000, 8_000, 16_000, 32_000]);
});
