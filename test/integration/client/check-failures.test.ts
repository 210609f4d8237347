/** Checks in code that fail: each failure has its own message, never passes, and changes nothing else. */
import { expect, onTestFinished, test } from 'vitest';
import { TaskCompletionResult } from '../../../src/client/index.ts';
import { useCheckScene } from './check-scene.ts';

const checks = useCheckScene(['gone', 'slow', 'nonsense', 'twice', 'throws']);

/** With `onError: block` the stop is blocked with the message; by default it is allowed, and the reason says so. */
async function expectError(name: string, message: string): Promise<void> {
  expect(await checks.decideUnder(`${name}-strict`)).toMatchObject({
    decision: 'block',
    cause: 'incomplete',
    reason: message,
  });
  const allowed = await checks.decideUnder(name);
  expect(allowed).toMatchObject({
    decision: 'allow',
    cause: 'unjudged',
    reason: `Allowed, though a check could not be judged: ${message}`,
  });
  expect(allowed.verdicts.find((it) => it.guard === 'checks')).toMatchObject({ verdict: 'error' });
}

test('nobody serves it', () => expectError('gone', 'nobody serves stopgate.main.check.gone'));

test('a throw, a rejection, and a rejection without an Error', async () => {
  for (const [fault, message] of [
    [() => Promise.reject(new Error('scanner crashed\n at line 3')), 'scanner crashed at line 3'],
    [
      () => {
        throw new Error('boom – ünïcode');
      },
      'boom – ünïcode',
    ],
    [() => Promise.reject('a string'), 'a string'],
    [() => Promise.reject(new TypeError()), 'TypeError'],
  ] as const) {
    const served = await checks.client.serveCheck('throws', fault);
    await expectError('throws', message);
    await served.close();
  }
});

test.each([
  ['nothing', undefined],
  ['a text', 'done'],
  ['an unknown action', { action: 'explode', reason: '' }],
  ['an action without a reason', { action: 'continue' }],
  ['a `complete` that is not a boolean', { complete: 'yes', reason: '' }],
])('it returns %s', async (_what, result) => {
  const served = await checks.client.serveCheck('nonsense', () => result as never);
  const decision = await checks.decideUnder('nonsense-strict');
  expect(decision).toMatchObject({
    decision: 'block',
    reason: expect.stringContaining('did not return a result'),
  });
  await served.close();
});

test('a result that is larger than a message may be, of which its author is warned', async () => {
  const warnings: string[] = [];
  const hear = ({ message }: Error) => void warnings.push(message);
  process.on('warning', hear);
  onTestFinished(() => void process.off('warning', hear));
  const served = await checks.client.serveCheck('nonsense', () => ({ complete: true, reason: 'x'.repeat(2_000_000) }));
  const problem = /the result has 2000029 bytes, and the NATS server accepts at most 1048576: return a shorter one/;
  expect((await checks.decideUnder('nonsense-strict')).reason).toMatch(problem);
  expect(warnings).toEqual([expect.stringMatching(problem)]);
  await served.close();
});

test('a result that cannot be written as JSON', async () => {
  const served = await checks.client.serveCheck('nonsense', () => ({ complete: false, reason: '', feedback: 1n }));
  expect((await checks.decideUnder('nonsense-strict')).reason).toContain('BigInt');
  await served.close();
});

test.each([
  ['invalid JSON', 'ok', 'check nonsense replied with invalid JSON'],
  ['another form', '{"ok":true}', 'check nonsense replied in an unknown form'],
])('another server replies %s', async (_what, reply, message) => {
  const subscription = checks.plain.nc.subscribe('stopgate.main.check.nonsense', {
    callback: (_error, request) => void request.respond(reply),
  });
  await checks.plain.nc.flush();
  await expectError('nonsense', message);
  subscription.unsubscribe();
  await checks.plain.nc.flush();
});

test('a reply that comes too late changes nothing', async () => {
  const lateAnswers: (() => void)[] = [];
  const signals: AbortSignal[] = [];
  const served = await checks.client.serveCheck('slow', async (_context, signal) => {
    signals.push(signal);
    await new Promise<void>((resolve) => lateAnswers.push(resolve));
    return { complete: false, reason: 'too late' };
  });
  const decision = await checks.decideUnder('slow-strict');
  expect(decision).toMatchObject({ decision: 'block', reason: expect.stringMatching(/slow.* within 400 ?ms/) });
  const before = await checks.client.getWorker(decision.worker);
  for (const answer of lateAnswers) answer();
  await served.close();
  const after = await checks.client.getWorker(decision.worker);
  expect({ ...after, idle: before.idle }).toEqual(before);
  expect(await checks.client.decide(decision.worker, { attempt: 'a1' })).toEqual(decision);
  expect(signals[0]?.aborted).toBe(false); // it has no timeout of its own
});

test('its own timeout ends it first', async () => {
  let aborted = false;
  const served = await checks.client.serveCheck(
    'slow',
    (_context, signal) =>
      new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => {
          aborted = true;
          reject(new Error('aborted'));
        });
      }),
    { timeoutMs: 50 },
  );
  await expectError('slow', 'no result within 50 ms');
  expect(aborted).toBe(true);
  await served.close();
});

test('a second reply is ignored', async () => {
  const subscription = checks.plain.nc.subscribe('stopgate.main.check.twice', {
    callback: (_error, message) => {
      message.respond('{"complete":false,"reason":"first"}');
      message.respond('{"complete":true,"reason":"second"}');
    },
  });
  await checks.plain.nc.flush();
  const decision = await checks.decideUnder('twice-strict');
  expect(decision).toMatchObject({ decision: 'block', reason: 'first' });
  expect(await checks.client.getWorker(decision.worker)).toMatchObject({ state: 'blocked', retry: { count: 1 } });
  expect(
    await checks.plain.stored('STOPGATE_main', `stopgate.main.own.worker.${decision.worker}.check.finished`),
  ).toHaveLength(1);
  subscription.unsubscribe();
});

test('a malformed request gets an error reply', async () => {
  const served = await checks.client.serveCheck('nonsense', () => TaskCompletionResult.ok());
  for (const request of ['{', '[]', '{"plan":"none"}']) {
    const reply = await checks.plain.nc.request('stopgate.main.check.nonsense', request, { timeout: 5_000 });
    expect(reply.headers?.get('Nats-Service-Error')).toMatch(/^this is not a check request: /);
    expect(reply.json()).toMatchObject({ error: { code: 'CHECK_FAILED' } });
  }
  await served.close();
});
