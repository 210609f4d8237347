/**
 * Pending remote checks are asked again until their timeout, and shown, but not stored (protocol.md §8). A check is
 * asked again after a second at the earliest, so the tests run concurrently, each with a separate check and worker.
 */
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Decision, WorkerView } from '../../../machines/index.ts';
import type { Replica } from '../../../src/app/replica.ts';
import { type Client, openClient } from '../../support/client.ts';
import type { NatsServer } from '../../support/nats-server.ts';
import { startReplica } from '../../support/replica.ts';
import { openNats } from '../../support/shared-server.ts';

const badReplies = [
  ['{', 'replied with invalid JSON'],
  ['{"pending":true,"retryAfterMs":"soon"}', 'replied in an unknown form'],
  ['{"pending":"yes"}', 'replied in an unknown form'],
] as const;

const remote = (name: string, more: object = {}) => ({ checks: [{ remote: name, timeout: '20s', ...more }] });
const policies = {
  policies: {
    again: remote('again'),
    shown: remote('shown'),
    away: remote('away'),
    brief: remote('brief', { timeout: '2s' }),
    silent: remote('silent', { timeout: '1s', onError: 'block' }),
    handed: remote('handed', { timeout: '6s' }),
    ...Object.fromEntries(badReplies.map((_, index) => [`bad-${index}`, remote(`bad-${index}`)])),
  },
};

let server: NatsServer;
let client: Client;
let replica: Replica;
const startAlso = (name: string, fleet = 'main') => startReplica({ nats: server.url, name, fleet, policies });

beforeAll(async () => {
  server = await openNats();
  client = await openClient(server.url);
  replica = await startAlso('r1');
});
afterAll(async () => {
  await replica.close();
  await client.close();
  await server.stop();
});

/** Answers the nth request with the nth reply, and all later ones with the last. */
async function serve(
  name: string,
  replies: readonly (object | string)[],
  { nc } = client,
  fleet = 'main',
): Promise<{ asked: () => number; close(): void }> {
  let asked = 0;
  const subscription = nc.subscribe(`stopgate.${fleet}.check.${name}`, {
    queue: 'stopgate-check',
    callback: (_error, message) => {
      const reply = replies[Math.min(asked, replies.length - 1)] ?? '';
      asked += 1;
      message.respond(typeof reply === 'string' ? reply : JSON.stringify(reply));
    },
  });
  await nc.flush();
  return { asked: () => asked, close: () => subscription.unsubscribe() };
}
/** The worker with that name tries to stop, under the policy with that name. */
async function stop(name: string): Promise<Decision> {
  await client.publish(`worker.${name}.worker.registered`, { policy: name });
  return replica.service.decide(name, { attempt: 'a1' });
}
const pending = (reason?: string, retryAfterMs = 1_000) => ({ pending: true, reason, retryAfterMs });
const view = async (worker: string, { ask } = client) =>
  (await ask(`get.worker.${worker}`)).body as unknown as WorkerView;
const ownEntriesOf = (worker: string) => client.stored('STOPGATE_main', `stopgate.main.own.worker.${worker}.>`);

test.concurrent('a pending check is asked again, and the log has only its result', async ({ expect }) => {
  const failed = { complete: false, reason: 'build 7 failed' };
  const ci = await serve('again', [pending('build 7 runs'), pending('build 7 runs'), failed]);
  expect(await stop('again')).toMatchObject({ decision: 'block', reason: 'build 7 failed' });
  expect(ci.asked()).toBe(3);
  expect(await ownEntriesOf('again')).toHaveLength(1);
});

test.concurrent('every replica shows what a pending check waits for, until it has a result', async ({
  expect,
  onTestFinished,
}) => {
  const other = await startAlso('r2');
  onTestFinished(() => other.close());
  await serve('shown', [pending('build 8 runs', 1_000), pending('build 8 runs', 600_000)]);
  const deciding = stop('shown');
  for (const { service } of [replica, other])
    await expect
      .poll(async () => (await service.get('worker', 'shown', {})) as WorkerView)
      .toMatchObject({
        state: 'validating',
        attempt: {
          waitsFor: 'check shown',
          pending: { check: 'shown', reason: 'build 8 runs', askedAgainAt: expect.stringMatching(/^20.*Z$/) },
        },
        standing: {
          waits: [
            {
              kind: 'check',
              whom: 'check shown',
              text: expect.stringMatching(/^build 8 runs; it is asked again at 20/),
            },
          ],
        },
      });
  await client.publish('worker.shown.session.ended');
  expect(await deciding).toMatchObject({ cause: 'retired' });
  expect(await view('shown')).toMatchObject({ attempt: null });
});

test.concurrent.each([
  { policy: 'brief', reply: pending('build 9 runs'), message: 'still pending: build 9 runs', cause: 'unjudged' },
  { policy: 'silent', reply: { pending: true }, message: 'still pending', cause: 'incomplete' },
])('still pending at its timeout, under $policy: $message', async ({ policy, reply, message, cause }) => {
  await serve(policy, [reply]);
  expect(await stop(policy)).toMatchObject({ cause, feedback: [{ check: policy, outcome: 'timeout', message }] });
  expect(await ownEntriesOf(policy)).toHaveLength(1);
});

test.concurrent('a check whose server is away for a moment stays pending', async ({ expect }) => {
  const first = await serve('away', [pending('build 10 runs')]);
  const deciding = stop('away');
  await expect.poll(first.asked).toBe(1);
  first.close();
  await expect.poll(async () => (await view('away')).attempt?.pending?.reason).toBe('build 10 runs');
  const asked = (await view('away')).attempt?.pending?.askedAgainAt;
  await expect.poll(async () => (await view('away')).attempt?.pending?.askedAgainAt).not.toBe(asked);
  await serve('away', [{ complete: true }]);
  expect(await deciding).toMatchObject({ cause: 'complete' });
});

test.concurrent('a replica that takes the attempt over asks again, with the same deadline', async ({
  expect,
  onTestFinished,
}) => {
  const own = await openClient(server.url, 'handed');
  onTestFinished(() => own.close());
  const first = await startAlso('ra', 'handed');
  const ci = await serve('handed', [pending('build 11 runs', 600_000)], own, 'handed');
  await own.publish('worker.w6.worker.registered', { policy: 'handed' });
  await own.publish('worker.w6.stop.attempted', { attempt: 'a1' });
  await expect.poll(async () => (await view('w6', own)).attempt?.pending?.reason).toBe('build 11 runs');
  const until = (await view('w6', own)).attempt?.until;
  const second = await startAlso('rb', 'handed');
  onTestFinished(() => second.close());
  await first.close();
  await expect.poll(ci.asked).toBe(2);
  const taken = (await second.service.get('worker', 'w6', {})) as WorkerView;
  expect(taken.attempt).toMatchObject({ owner: 'rb', until });
  await expect
    .poll(async () => ((await view('w6', own)).lastDecision as Decision | null)?.feedback)
    .toMatchObject([{ outcome: 'timeout', message: 'still pending: build 11 runs' }]);
});

test.each(badReplies.map(([reply, message], index) => ({ reply, message, name: `bad-${index}` })))(
  '$reply is an error',
  async ({ reply, message, name }) => {
    await serve(name, [reply]);
    const feedback = [{ outcome: 'error', message: `check ${name} ${message}` }];
    expect(await stop(name)).toMatchObject({ cause: 'unjudged', feedback });
  },
);
