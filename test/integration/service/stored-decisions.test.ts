/** A stored decision is final, whatever this release would decide (protocol.md §15). */
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Replica } from '../../../src/app/replica.ts';
import { type Client, openClient } from '../../support/client.ts';
import type { NatsServer } from '../../support/nats-server.ts';
import { startReplica } from '../../support/replica.ts';
import { openNats } from '../../support/shared-server.ts';

let server: NatsServer;
let client: Client;
let replica: Replica | null = null;

beforeEach(async () => {
  server = await openNats();
  client = await openClient(server.url);
});
afterEach(async () => {
  await stop();
  await client.close();
  await server.stop();
});

async function stop(): Promise<void> {
  await replica?.close();
  replica = null;
}
const worker = async () => (await client.ask('get.worker.w1')).body as Record<string, unknown>;
const decisions = () => client.stored('STOPGATE_main', 'stopgate.main.decision.w1');

/** A log of a release that has decided `w1:a1` differently. `more` has additional fields of its decision. */
async function writeLog(more: object): Promise<{ made: object; stored: object }> {
  replica = await startReplica({ nats: server.url });
  const made = (await client.ask('decide.w0', { attempt: 'a1' })).body;
  await stop();
  const claimed = await client.publish('worker.w1.task.claimed', { task: 'T-1' });
  const { seq } = await client.publish('worker.w1.stop.attempted', { attempt: 'a1' });
  expect(seq).toBe(claimed.seq + 1);
  const stored = { ...made, worker: 'w1', task: 'T-1', seq, replica: 'old', ...more };
  await client.publish('decision.w1', stored, 'w1:a1:decision');
  return { made, stored };
}

const blocked = {
  decision: 'block',
  action: 'continue',
  cause: 'incomplete',
  reason: 'Not yet',
  state: 'blocked',
  retry: { count: 1, max: 3 },
};

test('the worker has the state and counts of its stored decision, and a repeat gets that decision', async () => {
  const { stored } = await writeLog(blocked);
  replica = await startReplica({ nats: server.url });
  expect(await worker()).toMatchObject({
    state: 'blocked',
    retry: { count: 1 },
    lastDecision: { attempt: 'a1', decision: 'block', reason: 'Not yet' },
  });
  expect((await client.ask('decide.w1', { attempt: 'a1' })).body).toEqual(stored);
  expect(await decisions()).toEqual([stored]);
  // The next one counts on from there.
  expect((await client.ask('decide.w1', { attempt: 'a2' })).body).toMatchObject({ decision: 'allow' });
});

test('an attempt that would still be open is finished, and its check does not run', async () => {
  const { stored } = await writeLog({});
  await client.publish('own.fleet.main.policy.set', { policies: { default: { checks: [{ remote: 'review' }] } } });
  const { seq } = await client.publish('worker.w1.stop.attempted', { attempt: 'a2' });
  await client.publish('decision.w1', { ...stored, attempt: 'a2', seq }, 'w1:a2:decision');
  replica = await startReplica({ nats: server.url });
  expect(await worker()).toMatchObject({ state: 'stopped', attempt: null, lastDecision: { attempt: 'a2' } });
  expect((await client.ask('get.task.T-1')).body).toMatchObject({ state: 'stopped' });
  expect(await decisions()).toHaveLength(2);
});

test('an entry for another attempt, on another subject, or without the form of a decision changes nothing', async () => {
  await writeLog({ ...blocked, seq: 1 });
  await client.publish('decision.w1', { ...blocked, worker: 'w1', attempt: 'a1', seq: 8 }, 'other');
  replica = await startReplica({ nats: server.url });
  expect(await worker()).toMatchObject({ state: 'stopped', lastDecision: { decision: 'allow' } });
});
