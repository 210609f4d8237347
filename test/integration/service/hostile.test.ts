/** Nonsense from one agent or check does not affect the others. */
import { headers } from '@nats-io/nats-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Replica } from '../../../src/app/replica.ts';
import { type Client, openClient } from '../../support/client.ts';
import type { NatsServer } from '../../support/nats-server.ts';
import { startReplica } from '../../support/replica.ts';
import { openNats } from '../../support/shared-server.ts';

let server: NatsServer;
let client: Client;
let replica: Replica;

beforeAll(async () => {
  server = await openNats();
  client = await openClient(server.url);
  const policies = {
    default: {},
    slow: { checks: [{ remote: 'mute', timeout: '200ms' }, { remote: 'strict' }] },
    wordy: { checks: [{ remote: 'wordy', timeout: '4s' }] },
    deep: { checks: [{ remote: 'deep', timeout: '4s', onError: 'block' }] },
  };
  replica = await startReplica({ nats: server.url, policies: { policies } });
  const answers = {
    mute: null,
    strict: '{"complete":false,"reason":"no"}',
    wordy: JSON.stringify({ action: 'continue', reason: 'no', nextPrompt: 'x'.repeat(70_000) }),
    deep: `{"complete":false,"feedback":${'['.repeat(30_000)}${']'.repeat(30_000)}}`,
  };
  for (const [name, answer] of Object.entries(answers)) {
    client.nc.subscribe(`stopgate.main.check.${name}`, {
      callback: (_error, message) => void (answer !== null && message.respond(answer)),
    });
  }
});
afterAll(async () => {
  await replica.close();
  await client.close();
  await server.stop();
});

// Root cause: a throw in the fold closed the connection's reader forever, without an answer or an exit, also after a
// restart.
test.each([
  ['a subject whose entity is a name that every object has', 'own.constructor.x.a.b', '{}'],
  [
    'hooks nested past the stack',
    'task.T.hook.registered',
    `${'{"type":"all","of":['.repeat(2_500)}{"type":"tdd"}${']}'.repeat(2_500)}`,
  ],
])('%s is a dead letter, and the next worker is answered', async (_what, tail, payload) => {
  await client.publish(tail, payload);
  expect((await client.ask('decide.next')).code).toBe('');
});

// Root cause: the decision listed everything and exceeded the size of a message; sending it ended the process.
test('endless background work still gets a decision that fits into a message', async () => {
  for (let count = 0; count < 100; count += 1)
    await client.publish('worker.busy.background.started', { id: `${count}${'x'.repeat(1_000)}` });
  expect((await client.ask('decide.busy', { attempt: 'a' })).body).toMatchObject({ cause: 'waiting' });
  await expect.poll(async () => (await client.stored('STOPGATE_main', 'stopgate.main.decision.busy')).length).toBe(1);
});

// Root cause: all checks of a probe shared one timer, so after the first timeout every later answer was dropped.
test('verify uses the result of a check after one that timed out', async () => {
  await client.publish('worker.slow.worker.registered', { policy: 'slow' });
  const { code, body } = await client.ask('verify.slow');
  expect(code).toBe('409');
  expect(body).toMatchObject({ decision: { cause: 'incomplete', reason: 'no' } });
});

// Root cause: its entry was over the log's limit and refused, so the attempt waited for its timeout.
test('a check that replies with an endless next prompt counts', async () => {
  await client.publish('worker.wordy.worker.registered', { policy: 'wordy' });
  expect((await client.ask('decide.wordy')).body).toMatchObject({ cause: 'incomplete', reason: 'no' });
});

// Root cause: an uncaught error of JSON.stringify ended the process.
test('a check whose reply nests too deeply is in error', async () => {
  await client.publish('worker.deep.worker.registered', { policy: 'deep' });
  expect((await client.ask('decide.deep')).body.feedback).toMatchObject([{ check: 'deep', outcome: 'error' }]);
});

test('a request that nests too deeply is a bad request', async () => {
  const { code } = await client.ask('decide.w1', `{"x":${'['.repeat(30_000)}${']'.repeat(30_000)}}`);
  expect(code).toBe('400');
});

// Root cause: an attempt could use the id that a later one without an id would get, which then was never judged.
test('an attempt id of the form seq-<n> is refused, unless it repeats such an attempt', async () => {
  const first = (await client.ask('decide.w5')).body;
  expect((await client.ask('decide.w5', { attempt: first.attempt })).body).toEqual(first);
  const attempt = `seq-${(first.seq ?? 0) + 3}`;
  const refusal = `attempt ${attempt}: ids of this form are made for attempts without an id; choose another one`;
  const asked = await client.ask('decide.w5', { attempt });
  expect(asked).toMatchObject({ code: '400', body: { error: { message: expect.stringContaining(refusal) } } });
  for (let count = 0; count < 8; count += 1)
    await client.publish('worker.w5.stop.attempted', { attempt: `seq-${(first.seq ?? 0) + count + 2}` });
  const next = (await client.ask('decide.w5')).body;
  expect(next.attempt).toBe(`seq-${next.seq}`);
  const view = (await client.ask('get.worker.w5')).body as unknown as { refused: object[] };
  expect(view.refused.at(-1)).toMatchObject({ type: 'stop.attempted', reason: expect.stringContaining('ids of this') });
});

// Root cause: the waiter of `w6:a` moved to any attempt with that message id, of any worker.
test("an entry with another worker's message id does not take its answer", async () => {
  const h = headers();
  h.set('Nats-Msg-Id', 'w6:a');
  // In this order on one connection the request is open before the foreign entry is folded.
  const asked = client.nc.request('stopgate.main.decide.w6', '{"attempt":"a"}', { timeout: 30_000 });
  client.nc.publish('stopgate.main.worker.thief.stop.attempted', '{"attempt":"b"}', { headers: h });
  expect((await asked).json()).toMatchObject({ worker: 'w6', attempt: 'a' });
});

test("an agent that uses a check's message id first does not suppress its answer", async () => {
  await client.publish('worker.w9.worker.registered', { policy: 'wordy' });
  await client.publish('worker.w9.heartbeat.sent', {}, 'w9:a1:check:1:wordy');
  const { body } = await client.ask('decide.w9', { attempt: 'a1' });
  expect(body).toMatchObject({ decision: 'block', reason: 'no' });
});
