/** A service that is told nonsense by one agent or check goes on for all the others. */
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

// A throw in the fold closed the reader of the connection for good: neither an answer nor an end, also after a restart.
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

// The decision listed all of it, was larger than a message may be, and its sending ended the process.
test('endless background work still gives a decision that fits', async () => {
  for (let count = 0; count < 100; count += 1)
    await client.publish('worker.busy.background.started', { id: `${count}${'x'.repeat(1_000)}` });
  expect((await client.ask('decide.busy', { attempt: 'a' })).body).toMatchObject({ cause: 'waiting' });
  await expect.poll(async () => (await client.stored('STOPGATE_main', 'stopgate.main.decision.busy')).length).toBe(1);
});

// One clock for all checks of a probe: after the first timeout every later answer was thrown away.
test('verify hears the check after one that timed out', async () => {
  await client.publish('worker.slow.worker.registered', { policy: 'slow' });
  const { code, body } = await client.ask('verify.slow');
  expect(code).toBe('409');
  expect(body).toMatchObject({ decision: { cause: 'incomplete', reason: 'no' } });
});

// Its entry was over the log's limit, so it was refused and the attempt waited for its timeout.
test('a check that replies with an endless next prompt is heard', async () => {
  await client.publish('worker.wordy.worker.registered', { policy: 'wordy' });
  expect((await client.ask('decide.wordy')).body).toMatchObject({ cause: 'incomplete', reason: 'no' });
});

// JSON.stringify threw where nobody caught it, and that ended the process.
test('a check that replies too deep is in error', async () => {
  await client.publish('worker.deep.worker.registered', { policy: 'deep' });
  expect((await client.ask('decide.deep')).body.feedback).toMatchObject([{ check: 'deep', outcome: 'error' }]);
});

test('a request that is nested too deep is a bad request', async () => {
  const { code } = await client.ask('decide.w1', `{"x":${'['.repeat(30_000)}${']'.repeat(30_000)}}`);
  expect(code).toBe('400');
});

// An attempt that took the id which a later one without an id gets made that one a repeat: it was never judged.
test('an id of the form that attempts without one get is refused, unless it repeats one', async () => {
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

// The waiter of `w6:a` was moved to whatever attempt carried that message id, of whichever worker.
test("an entry under another worker's message id takes nobody's answer", async () => {
  const h = headers();
  h.set('Nats-Msg-Id', 'w6:a');
  // In this order on one connection the request is open before the foreign entry is folded.
  const asked = client.nc.request('stopgate.main.decide.w6', '{"attempt":"a"}', { timeout: 30_000 });
  client.nc.publish('stopgate.main.worker.thief.stop.attempted', '{"attempt":"b"}', { headers: h });
  expect((await asked).json()).toMatchObject({ worker: 'w6', attempt: 'a' });
});

test("an agent that takes a check's message id beforehand does not keep the answer out", async () => {
  await client.publish('worker.w9.worker.registered', { policy: 'wordy' });
  await client.publish('worker.w9.heartbeat.sent', {}, 'w9:a1:check:1:wordy');
  const { body } = await client.ask('decide.w9', { attempt: 'a1' });
  expect(body).toMatchObject({ decision: 'block', reason: 'no' });
});
