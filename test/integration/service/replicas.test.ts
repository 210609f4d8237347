/** Two replicas on one log, and restarts: one decision per attempt, on any replica (protocol.md §5). */
import { headers } from '@nats-io/nats-core';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import type { Decision } from '../../../machines/index.ts';
import { AppError } from '../../../src/errors.ts';
import { type Client, openClient } from '../../support/client.ts';
import type { NatsServer } from '../../support/nats-server.ts';
import { startReplica } from '../../support/replica.ts';
import { openNats } from '../../support/shared-server.ts';

let server: NatsServer;
let client: Client;
const open: { close(): Promise<void> }[] = [];

beforeAll(async () => {
  server = await openNats();
  client = await openClient(server.url);
});
afterEach(async () => {
  for (const replica of open.splice(0)) await replica.close();
});
afterAll(async () => {
  await client.close();
  await server.stop();
});

const start = async (name: string, options: Parameters<typeof startReplica>[0] | object = {}) => {
  const replica = await startReplica({ nats: server.url, name, ...options });
  open.push(replica);
  return replica;
};
/** The decision without its replica and duration. */
const essence = ({ replica: _, tookMs: __, verdicts, ...decision }: Decision) => ({
  ...decision,
  verdicts: verdicts.map(({ tookMs: ___, ...verdict }) => verdict),
});
const slow = async () => {
  await new Promise((done) => setTimeout(done, 150));
  return { outcome: 'fail', reason: 'red', tookMs: 150 } as const;
};
const checked = { policies: { default: { checks: [{ command: 'tests' }] } } };

test('both get the same attempt at once: one decision, counted once', async () => {
  const a = await start('ra', { policies: checked, runCheck: slow });
  const b = await start('rb', { policies: checked, runCheck: slow });
  const asked = await Promise.all([a, b, a, b].map(({ service }) => service.decide('w1', { attempt: 'a1' })));
  for (const decision of asked) expect(essence(decision)).toEqual(essence(asked[0] as Decision));
  expect(asked[0]).toMatchObject({ decision: 'block', reason: 'red', retry: { count: 1, max: 3 } });
  await expect.poll(() => client.stored('STOPGATE_main', 'stopgate.main.decision.w1')).toHaveLength(1);
  expect(await client.stored('STOPGATE_main', 'stopgate.main.own.worker.w1.check.finished')).toHaveLength(1);
});

test('an attempt that a client publishes is decided by one of them, once', async () => {
  await start('ra', { policies: checked, runCheck: slow });
  await start('rb', { policies: checked, runCheck: slow });
  const decisions = client.nc.subscribe('stopgate.main.decision.w2', { max: 1 });
  await client.publish('worker.w2.stop.attempted', { attempt: 'a1' });
  for await (const message of decisions) expect(message.json()).toMatchObject({ attempt: 'a1', reason: 'red' });
  await client.ask('get.worker.w2');
  expect(await client.stored('STOPGATE_main', 'stopgate.main.own.worker.w2.check.finished')).toHaveLength(1);
});

test('after a restart a repeated attempt gets the same answer, and nothing is sent again', async () => {
  const first = await start('ra');
  const answered = await first.service.decide('w3', { attempt: 'a1' });
  await first.service.decide('w3', { attempt: 'a2' });
  await expect.poll(() => client.stored('STOPGATE_main', 'stopgate.main.decision.w3')).toHaveLength(2);
  await first.close();
  open.length = 0;
  const decisions: string[] = [];
  const listening = client.nc.subscribe('stopgate.main.decision.>', {
    callback: (_error, message) => void decisions.push(message.subject),
  });
  const again = await start('rb');
  expect(essence(await again.service.decide('w3', { attempt: 'a1' }))).toEqual(essence(answered));
  listening.unsubscribe();
  expect(decisions).toEqual([]);
});

test('an attempt that was stored while nobody served is decided at the start, and its inbox is answered', async () => {
  const inbox = '_INBOX.while.away';
  const answers = client.nc.subscribe(inbox, { max: 1 });
  const h = headers();
  h.set('Stopgate-Reply', inbox);
  client.nc.publish('stopgate.main.worker.w4.stop.attempted', '{"attempt":"a1"}', { headers: h });
  await client.nc.flush();
  await start('ra');
  for await (const message of answers) expect(message.json()).toMatchObject({ worker: 'w4', decision: 'allow' });
});

test('an answer to a subject that is not an inbox is withheld, but the attempt is decided', async () => {
  await start('ra');
  const stolen: string[] = [];
  client.nc.subscribe('elsewhere', { callback: () => void stolen.push('heard') });
  const decisions = client.nc.subscribe('stopgate.main.decision.w5', { max: 1 });
  const h = headers();
  h.set('Stopgate-Reply', 'elsewhere');
  client.nc.publish('stopgate.main.worker.w5.stop.attempted', '{"attempt":"a1"}', { headers: h });
  for await (const message of decisions) expect(message.json()).toMatchObject({ attempt: 'a1' });
  await client.nc.flush();
  expect(stolen).toEqual([]);
});

test('two services with different policies: both warn, and the last in the log is in force', async () => {
  const a = await start('ra', { policies: { policies: { default: { retries: 1 } } } });
  const b = await start('rb', { policies: { policies: { default: { retries: 2 } } } });
  await expect.poll(() => [a.counts.conflicts > 0, b.counts.conflicts > 0]).toEqual([true, true]);
  expect((await a.service.probe('w8', {})).retry.max).toBe(2);
  b.setPolicies({ policies: { default: { retries: 5 } } });
  await expect.poll(async () => (await a.service.probe('w8', {})).retry.max).toBe(5);
});

// Root cause: 10,000 waiting attempts of invented workers caused all other attempts to be refused.
test('a flood of waiting invented workers keeps no other worker out', async () => {
  const held = {
    policies: { default: { persistence: { idle: '10m', hold: '30s', queue: 'busy' } }, free: {} },
    assign: [{ worker: 'neighbour', policy: 'free' }],
  };
  await start('ra', { policies: held, openRequestsMax: 20 });
  const isWaiting = (worker: string) =>
    expect.poll(async () => (await client.ask(`get.worker.${worker}`)).body.state).toBe('validating');
  const crowd = Array.from({ length: 20 }, (_, index) =>
    client.ask(`decide.invented-${index}`, { attempt: 'a1' }, 60_000),
  );
  for (const index of crowd.keys()) await isWaiting(`invented-${index}`);
  expect(await client.ask('decide.neighbour')).toMatchObject({ code: '', body: { decision: 'allow' } });
  // The first attempt was evicted with a reason, and is still decided as soon as possible.
  expect(await crowd[0]).toMatchObject({
    code: '503',
    body: { error: { code: 'UNAVAILABLE', message: expect.stringContaining('20 requests are open, the maximum') } },
  });
  const again = client.ask('decide.invented-0', { attempt: 'a1' }, 60_000);
  await expect.poll(async () => (await client.ask('decide.invented-1', { attempt: 'a2' })).code).toBe('503');
  await client.publish('task.T-11.task.created', { queue: 'busy' });
  for (const answer of await Promise.all([...crowd.slice(1), again]))
    expect(answer).toMatchObject({ code: '', body: { cause: 'pending-tasks' } });
});

/**
 * Root cause: a close set the phase `closing`, in which effects are sent, even if the head was never reached. This is
 * the last test, since a replica that starts after it decides all these attempts.
 */
test('a start that is aborted while it folds neither answers nor stores anything', async () => {
  const inbox = '_INBOX.old.attempts';
  const answers: string[] = [];
  client.nc.subscribe(inbox, { callback: (_error, { data }) => void answers.push(String(data)) });
  const h = headers();
  h.set('Stopgate-Reply', inbox);
  const first = await start('ra', { policies: { policies: {} } });
  await first.close();
  open.length = 0;
  // More than one read of the socket, so that much of it is still in flight when the start is aborted.
  for (let count = 0; count < 2_000; count += 1)
    client.nc.publish(`stopgate.main.worker.old-${count}.stop.attempted`, '{"attempt":"a1"}', { headers: h });
  await client.nc.flush();
  let end = (_why: AppError) => {};
  const interrupted = new Promise<never>((_done, reject) => {
    end = reject;
  });
  const onFolded = (subject: string) => {
    if (subject.includes('.old-0.')) end(new AppError('service.busy', 'the service is closing'));
  };
  const starting = startReplica({ nats: server.url, name: 'rb', interrupted, onFolded });
  await expect(starting).rejects.toThrow('the service is closing');
  await client.nc.flush();
  expect(answers).toHaveLength(0);
  expect(await client.stored('STOPGATE_main', 'stopgate.main.decision.old-1999')).toEqual([]);
});
