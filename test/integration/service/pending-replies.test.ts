/** Remote checks that cannot tell yet: asked again until their timeout, shown, and stored nowhere (protocol.md §8). */
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import type { Decision, WorkerView } from '../../../machines/index.ts';
import { type Client, openClient } from '../../support/client.ts';
import type { NatsServer } from '../../support/nats-server.ts';
import { startReplica } from '../../support/replica.ts';
import { openNats } from '../../support/shared-server.ts';

let server: NatsServer;
let client: Client;
const open: { close(): Promise<void> }[] = [];
const closeAll = async () => {
  for (const each of open.splice(0).reverse()) await each.close();
};

beforeAll(async () => {
  server = await openNats();
  client = await openClient(server.url);
});
afterEach(closeAll);
afterAll(async () => {
  await client.close();
  await server.stop();
});

const policies = {
  policies: {
    default: { checks: [{ remote: 'ci', timeout: '20s' }] },
    handed: { checks: [{ remote: 'ci', timeout: '8s' }] },
    brief: { checks: [{ remote: 'ci', timeout: '2s' }] },
    silent: { checks: [{ remote: 'ci', timeout: '1s', onError: 'block' }] },
  },
};
const start = async (name: string) => {
  const replica = await startReplica({ nats: server.url, name, policies });
  open.push(replica);
  return replica;
};
/** Answers the nth request with the nth reply, and all later ones with the last. */
async function serve(...replies: (object | string)[]): Promise<{ asked: () => number }> {
  let asked = 0;
  const subscription = client.nc.subscribe('stopgate.main.check.ci', {
    queue: 'stopgate-check',
    callback: (_error, message) => {
      const reply = replies[Math.min(asked, replies.length - 1)] ?? '';
      asked += 1;
      message.respond(typeof reply === 'string' ? reply : JSON.stringify(reply));
    },
  });
  open.push({ close: async () => subscription.unsubscribe() });
  await client.nc.flush();
  return { asked: () => asked };
}
const pending = (reason?: string, retryAfterMs = 1_000) => ({ pending: true, reason, retryAfterMs });
const view = async (worker: string) => (await client.ask(`get.worker.${worker}`)).body as unknown as WorkerView;
const ownEntriesOf = (worker: string) => client.stored('STOPGATE_main', `stopgate.main.own.worker.${worker}.>`);

test('a check that cannot tell yet is asked again, and the log has its answer alone', async () => {
  const { service } = await start('r1');
  const ci = await serve(pending('build 7 runs'), pending('build 7 runs'), {
    complete: false,
    reason: 'build 7 failed',
  });
  expect(await service.decide('w1', { attempt: 'a1' })).toMatchObject({ decision: 'block', reason: 'build 7 failed' });
  expect(ci.asked()).toBe(3);
  expect(await ownEntriesOf('w1')).toHaveLength(1);
});

test('what it waits for is shown by every replica, until it has answered', async () => {
  const [one, other] = [await start('r1'), await start('r2')];
  await serve(pending('build 8 runs', 1_000), pending('build 8 runs', 600_000));
  const deciding = one.service.decide('w2', { attempt: 'a1' });
  for (const { service } of [one, other])
    await expect
      .poll(async () => (await service.get('worker', 'w2', {})) as WorkerView)
      .toMatchObject({
        state: 'validating',
        attempt: {
          waitsFor: 'check ci',
          pending: { check: 'ci', reason: 'build 8 runs', askedAgainAt: expect.stringMatching(/^20.*Z$/) },
        },
        standing: {
          waits: [
            { kind: 'check', whom: 'check ci', text: expect.stringMatching(/^build 8 runs; it is asked again at 20/) },
          ],
        },
      });
  await client.publish('worker.w2.session.ended');
  expect(await deciding).toMatchObject({ cause: 'retired' });
  expect(await view('w2')).toMatchObject({ attempt: null });
});

test.each([
  { policy: 'brief', reply: pending('build 9 runs'), message: 'still pending: build 9 runs', cause: 'unjudged' },
  { policy: 'silent', reply: { pending: true }, message: 'still pending', cause: 'incomplete' },
])('at the end of its time under $policy it is a timeout: $message', async ({ policy, reply, message, cause }) => {
  const { service } = await start('r1');
  await serve(reply);
  const worker = `w-${policy}`;
  await client.publish(`worker.${worker}.worker.registered`, { policy });
  const decision = (await service.decide(worker, { attempt: 'a1' })) as Decision;
  expect(decision).toMatchObject({ cause, feedback: [{ check: 'ci', outcome: 'timeout', message }] });
  expect(await ownEntriesOf(worker)).toHaveLength(1);
});

test('a server that is away for a moment does not end it', async () => {
  const { service } = await start('r1');
  const first = await serve(pending('build 10 runs'));
  const deciding = service.decide('w4', { attempt: 'a1' });
  await expect.poll(first.asked).toBe(1);
  await open.pop()?.close();
  await expect.poll(async () => (await view('w4')).attempt?.pending?.reason).toBe('build 10 runs');
  const asked = (await view('w4')).attempt?.pending?.askedAgainAt;
  await expect.poll(async () => (await view('w4')).attempt?.pending?.askedAgainAt).not.toBe(asked);
  await serve({ complete: true });
  expect(await deciding).toMatchObject({ cause: 'complete' });
});

test.each([
  ['{', 'check ci replied with invalid JSON'],
  ['{"pending":true,"retryAfterMs":"soon"}', 'check ci replied in an unknown form'],
  ['{"pending":"yes"}', 'check ci replied in an unknown form'],
])('%s is an error', async (reply, message) => {
  const { service } = await start('r1');
  await serve(reply);
  const decision = (await service.decide(`w5-${reply.length}`, { attempt: 'a1' })) as Decision;
  expect(decision).toMatchObject({ cause: 'unjudged', feedback: [{ outcome: 'error', message }] });
});

test('a replica that takes the attempt over asks again, and keeps to the time that runs', async () => {
  const first = await start('r1');
  const ci = await serve(pending('build 11 runs', 600_000));
  await client.publish('worker.w6.worker.registered', { policy: 'handed' });
  await client.publish('worker.w6.stop.attempted', { attempt: 'a1' });
  await expect.poll(async () => (await view('w6')).attempt?.pending?.reason).toBe('build 11 runs');
  const until = (await view('w6')).attempt?.until;
  const second = await start('r2');
  await first.close();
  await expect.poll(ci.asked).toBe(2);
  const taken = (await second.service.get('worker', 'w6', {})) as WorkerView;
  expect(taken.attempt).toMatchObject({ owner: 'r2', until });
  await expect
    .poll(async () => ((await view('w6')).lastDecision as Decision | null)?.feedback)
    .toMatchObject([{ outcome: 'timeout', message: 'still pending: build 11 runs' }]);
});
