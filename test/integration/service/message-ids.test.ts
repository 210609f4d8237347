/**
 * Agents choose their message ids freely, and a stream drops the second entry with the same id. Here an agent uses each
 * id of the service before the service does (docs/protocol.md §2).
 */
import { headers } from '@nats-io/nats-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  acceptedMessageId,
  attemptMessageId,
  checkMessageId,
  checkStartedMessageId,
  decisionMessageId,
  retriedMessageId,
  timerMessageId,
} from '../../../machines/index.ts';
import type { Replica } from '../../../src/app/replica.ts';
import { type Client, openClient } from '../../support/client.ts';
import type { NatsServer } from '../../support/nats-server.ts';
import { startReplica } from '../../support/replica.ts';
import { openNats } from '../../support/shared-server.ts';

const holdMs = 1_000;
let server: NatsServer;
let client: Client;
let replica: Replica;

beforeAll(async () => {
  server = await openNats();
  client = await openClient(server.url);
  const policies = {
    default: {},
    checked: { checks: [{ remote: 'strict', timeout: '10s' }] },
    held: { persistence: { hold: holdMs } },
  };
  replica = await startReplica({ nats: server.url, policies: { policies } });
  client.nc.subscribe('stopgate.main.check.strict', {
    callback: (_error, message) => void message.respond('{"complete":false,"reason":"no"}'),
  });
});
afterAll(async () => {
  await replica.close();
  await client.close();
  await server.stop();
});

const steal = (messageId: string) => client.publish('worker.thief.heartbeat.sent', {}, messageId);
const storedOf = (tail: string) => client.stored('STOPGATE_main', `stopgate.main.${tail}`);

test('of a decision: it is still published, once', async () => {
  await steal(decisionMessageId('w1', 'a1'));
  expect((await client.ask('decide.w1', { attempt: 'a1' })).body).toMatchObject({ cause: 'no-policy' });
  await expect.poll(() => storedOf('decision.w1')).toMatchObject([{ attempt: 'a1' }]);
  // A repeated request finds it there.
  expect((await client.ask('decide.w1', { attempt: 'a1' })).body).toMatchObject({ attempt: 'a1', cause: 'no-policy' });
});

test('of an attempt: it is stored and decided', async () => {
  await steal(attemptMessageId('w2', 'a1'));
  expect((await client.ask('decide.w2', { attempt: 'a1' })).body).toMatchObject({ attempt: 'a1', cause: 'no-policy' });
});

test('of a check: its answer is stored', async () => {
  await client.publish('worker.w3.worker.registered', { policy: 'checked' });
  await steal(checkStartedMessageId('w3', 'a1', 1, 'strict'));
  await steal(checkMessageId('w3', 'a1', 1, 'strict'));
  await steal(`${checkMessageId('w3', 'a1', 1, 'strict')}:again`);
  expect((await client.ask('decide.w3', { attempt: 'a1' })).body).toMatchObject({ cause: 'incomplete', reason: 'no' });
});

test('of a timer: a hold ends, although the ids of 100 tries are taken', async () => {
  await client.publish('worker.w4.worker.registered', { policy: 'held' });
  const asked = client.ask('decide.w4', { attempt: 'a1' });
  await expect.poll(() => storedOf('worker.w4.stop.attempted')).toHaveLength(1);
  const entry = await client.manager.streams.getMessage('STOPGATE_main', {
    last_by_subj: 'stopgate.main.worker.w4.stop.attempted',
  });
  const atMs = (entry?.time.getTime() ?? 0) + holdMs;
  const deadline = { id: 'w4', kind: 'attempt', attempt: 'a1', atMs };
  for (let tries = 1; tries <= 100; tries += 1) await steal(retriedMessageId(timerMessageId(deadline), `${tries}`));
  expect((await asked).body).toMatchObject({ attempt: 'a1', cause: 'idle' });
});

test('of a takeover: attempts that a replica left open are decided', async () => {
  await client.publish('worker.w5.worker.registered', { policy: 'checked' });
  await client.publish('own.fleet.main.replica.joined', { replica: 'ghost' });
  await steal(acceptedMessageId('w5', 'a1', 'ghost'));
  const h = headers();
  h.set('Stopgate-Replica', 'ghost');
  client.nc.publish('stopgate.main.worker.w5.stop.attempted', '{"attempt":"a1"}', { headers: h });
  await expect.poll(() => storedOf('decision.w5')).toMatchObject([{ cause: 'incomplete' }]);
});

test('of an entry that an edge of the service stores for an agent', async () => {
  const entry = {
    entity: 'worker',
    id: 'w6',
    type: 'worker.registered',
    data: {},
    messageId: 'w6:registered',
  } as const;
  await steal(entry.messageId);
  const { seq } = await replica.service.publish(entry);
  expect((await client.manager.streams.getMessage('STOPGATE_main', { seq }))?.subject).toBe(
    'stopgate.main.worker.w6.worker.registered',
  );
  // A repeat is still one entry, whatever its id.
  await client.publish('worker.w7.worker.registered', {}, 'w7:registered');
  await replica.service.publish({ ...entry, id: 'w7', messageId: 'w7:registered' });
  expect(await storedOf('worker.w7.>')).toHaveLength(1);
});
