/** The NATS server fails: requests get 503 in time, nothing acknowledged is lost, and the service recovers. */
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

/** Sends a request like the service's own HTTP edge, whose client is still connected when NATS is not. */
const decideInside = (worker: string, attempt: string): Promise<string> =>
  replica.service.decide(worker, { attempt }).then(
    ({ decision }) => decision,
    (error: { code: string }) => error.code,
  );

test('nats-server killed and restarted: 503 in between, then the service continues', async () => {
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
  // The client of a2 gave up. Its attempt was stored when the log was back, and counts once.
  const decided = (await client.stored('STOPGATE_main', 'stopgate.main.decision.w1')).map((it) => it.attempt);
  expect(new Set(decided).size).toBe(decided.length);
  expect((await client.ask('decide.w1', { attempt: 'a1' })).body).toMatchObject({ attempt: 'a1', retry: { count: 1 } });
});

test('a full store: 503 at once, reads still work, and nothing is lost', async () => {
  await open({ config: 'jetstream { max_file_store: 4MB }' });
  await client.publish('worker.w1.plan.updated', { steps: [{ title: 'Write tests', status: 'pending' }] });
  const stored = await fill(100);
  expect(stored).toBeGreaterThan(10);
  const answer = await client.ask('decide.w1', { attempt: 'a1', output: 'x'.repeat(50_000) });
  expect(answer).toMatchObject({ code: '503', body: { error: { code: 'UNAVAILABLE' } } });
  expect((await client.ask('get.worker.w2')).body).toMatchObject({ worker: 'w2', toolCount: stored });
  expect((await client.ask('probe.w1')).body).toMatchObject({ decision: 'block' });
});

test('a store that becomes read-only: 503, and reads work if the server still replies', async () => {
  await open({ unprivileged: true });
  await client.publish('worker.w1.plan.updated', { steps: [{ title: 'Write tests', status: 'pending' }] });
  execFileSync('chown', ['-R', String(process.getuid?.() ?? 0), server.storeDir]);
  execFileSync('chmod', ['-R', 'a-w,a+rX', server.storeDir]);
  // Open files stay writable: the fault appears when the server creates the next block file.
  const stored = await fill(400);
  expect(stored).toBeLessThan(400);
  const answer = await client.ask('decide.w1', { attempt: 'a1' });
  expect(answer).toMatchObject({ code: '503', body: { error: { code: 'UNAVAILABLE' } } });
  // Some servers stop replying after a failed write.
  const { body } = await client.ask('get.worker.w2');
  if (body.error === undefined) expect(body).toMatchObject({ worker: 'w2', toolCount: stored });
  else expect(body.error.code).toBe('UNAVAILABLE');
  execFileSync('chmod', ['-R', 'u+w', server.storeDir]);
});

/** Publishes entries of 60 KB until one is refused. @returns the number stored */
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
