/** The NATS server fails: 503 within the deadline, nothing acknowledged is lost, and after it everything goes on. */
import { execFileSync } from 'node:child_process';
import { afterEach, expect, test } from 'vitest';
import type { Replica } from '../../../src/app/replica.ts';
import { type Client, openClient } from '../../support/client.ts';
import type { NatsServer, NatsServerOptions } from '../../support/nats-server.ts';
import { startReplica } from '../../support/replica.ts';
import { openNats } from '../../support/shared-server.ts';

let server: NatsServer;
let client: Client;
let replica: Replica;

const open = async (options: NatsServerOptions = {}) => {
  server = await openNats(options);
  client = await openClient(server.url);
  replica = await startReplica({ nats: server.url, policies: { policies: { default: { checks: [{ plan: {} }] } } } });
};
afterEach(async () => {
  await replica.close();
  await client.close();
  await server.stop();
});

/** As an edge inside the service asks, whose client is not cut off with NATS. */
const decideInside = (worker: string, attempt: string): Promise<string> =>
  replica.service.decide(worker, { attempt }).then(
    ({ decision }) => decision,
    (error: { code: string }) => error.code,
  );

test('nats-server killed and back: 503 in the gap, then it goes on where it stood', async () => {
  await open();
  await client.publish('worker.w1.plan.updated', { steps: [{ title: 'Write tests', status: 'pending' }] });
  expect((await client.ask('decide.w1', { attempt: 'a1' })).body.retry.count).toBe(1);
  const { seq } = await client.publish('worker.w1.heartbeat.sent');

  await server.kill('SIGKILL');
  expect(await decideInside('w1', 'a2')).toBe('log.unavailable');
  await expect.poll(() => replica.service.status()).toMatchObject({ ready: false });
  await server.restart();

  await expect
    .poll(() =>
      client.ask('decide.w1', { attempt: 'a3' }, 2_000).then(
        ({ body }) => body.decision,
        () => null,
      ),
    )
    .toBe('block');
  await expect.poll(() => replica.service.status()).toMatchObject({ ready: true });
  expect((await client.manager.streams.getMessage('STOPGATE_main', { seq }))?.subject).toBe(
    'stopgate.main.worker.w1.heartbeat.sent',
  );
  // The client of a2 gave up; its attempt was stored once the log was back, and counts once.
  const decided = (await client.stored('STOPGATE_main', 'stopgate.main.decision.w1')).map((it) => it.attempt);
  expect(new Set(decided).size).toBe(decided.length);
  expect((await client.ask('decide.w1', { attempt: 'a1' })).body).toMatchObject({ attempt: 'a1', retry: { count: 1 } });
});

test('a full store: 503 at once, reads go on, and nothing is lost', async () => {
  await open({ config: 'jetstream { max_file_store: 4MB }' });
  await client.publish('worker.w1.plan.updated', { steps: [{ title: 'Write tests', status: 'pending' }] });
  const stored = await fill(100);
  expect(stored).toBeGreaterThan(10);
  const answer = await client.ask('decide.w1', { attempt: 'a1', output: 'x'.repeat(50_000) });
  expect(answer).toMatchObject({ code: '503', body: { error: { code: 'UNAVAILABLE' } } });
  expect((await client.ask('get.worker.w2')).body).toMatchObject({ worker: 'w2', toolCount: stored });
  expect((await client.ask('probe.w1')).body).toMatchObject({ decision: 'block' });
});

test('a store that has become read-only: 503, and reads go on where the server answers them', async () => {
  await open({ unprivileged: true });
  await client.publish('worker.w1.plan.updated', { steps: [{ title: 'Write tests', status: 'pending' }] });
  execFileSync('chown', ['-R', String(process.getuid?.() ?? 0), server.storeDir]);
  execFileSync('chmod', ['-R', 'a-w,a+rX', server.storeDir]);
  // What is open stays writable: the fault shows where the next block of the store would be made.
  const stored = await fill(400);
  expect(stored).toBeLessThan(400);
  const answer = await client.ask('decide.w1', { attempt: 'a1' });
  expect(answer).toMatchObject({ code: '503', body: { error: { code: 'UNAVAILABLE' } } });
  // Servers of today answer nothing more once they could not write.
  const { body } = await client.ask('get.worker.w2');
  if (body.error === undefined) expect(body).toMatchObject({ worker: 'w2', toolCount: stored });
  else expect(body.error.code).toBe('UNAVAILABLE');
  execFileSync('chmod', ['-R', 'u+w', server.storeDir]);
});

/** Entries of 60 KB until one is refused; how many were stored. */
async function fill(max: number): Promise<number> {
  const filler = { tool: 'Bash', call: 'x'.repeat(60_000) };
  for (let stored = 0; stored < max; stored += 1) {
    const ok = await client.publish('worker.w2.tool.used', filler).then(
      () => true,
      () => false,
    );
    if (!ok) return stored;
  }
  return max;
}
