/** Groups, conditions and remote checks in the shipped service, and the limits of the wire. */
import { mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Deployment, deploy } from '../../support/deployment.ts';
import { checks, exits, sh, stop } from './policy-of-checks.ts';

const config = JSON.stringify({
  policies: {
    here: checks({ command: 'where' }),
    any: checks({ any: [{ command: 'one' }, { command: 'other' }] }),
    anyone: checks({ any: [{ command: 'one' }, { command: 'zero' }] }),
    all: checks({ all: [{ command: 'zero' }, { command: 'other' }, { command: 'never' }] }),
    errany: checks({ any: [{ command: 'lost' }, { command: 'one' }] }),
    when: checks({ command: 'one', when: { filesMatch: 'src/**' } }, { command: 'zero' }),
    remote: checks({ remote: 'scan', timeout: '20s', onError: 'block' }),
    order: checks({ plan: {} }, { command: 'never' }),
  },
  commands: {
    zero: exits(0),
    one: exits(1),
    other: exits(1),
    lost: exits(127),
    never: sh('touch never-ran; exit 1'),
    where: { run: ['sh', '-c', 'pwd; exit 1'] },
  },
});

let at: Deployment;
beforeAll(async () => {
  at = await deploy({ config });
});
afterAll(() => at.close());

describe('groups and conditions', () => {
  test('any: all failures are reported, one pass is enough, an allowed error is left out', async () => {
    expect(await stop(at, 'any')).toMatchObject({
      decision: 'block',
      reason: 'Command one failed (exit 1); or Command other failed (exit 1)',
    });
    expect(await stop(at, 'anyone')).toMatchObject({ decision: 'allow', cause: 'complete' });
    expect(await stop(at, 'errany')).toMatchObject({ decision: 'block', reason: 'Command one failed (exit 1)' });
  });

  test('all, and a list: the first failure decides, and later checks do not run', async () => {
    expect(await stop(at, 'all')).toMatchObject({ decision: 'block', reason: 'Command other failed (exit 1)' });
    await at.client.publish('worker.order.plan.updated', { steps: [{ title: 'Write tests', status: 'pending' }] });
    expect(await stop(at, 'order')).toMatchObject({
      decision: 'block',
      reason: '1 of 1 plan steps remain: Write tests',
    });
    expect(await readdir(at.folder.path)).not.toContain('never-ran');
  });

  test('when: a check that does not apply is skipped', async () => {
    expect(await stop(at, 'when', { files: ['docs/a.md'] })).toMatchObject({ decision: 'allow', cause: 'complete' });
    expect(await stop(at, 'when', { worker: 'when-2', files: ['src/deep/a.ts'] })).toMatchObject({ decision: 'block' });
  });

  test('remote: any process may serve it, in either form; no server, or nonsense, is an error', async () => {
    const replies = [
      '{"complete":false,"reason":"2 leaks","feedback":["a","b"]}',
      'nonsense',
      '{"action":"complete","reason":"clean"}',
    ];
    expect(await stop(at, 'remote', { worker: 'r0' })).toMatchObject({
      decision: 'block',
      reason: 'nobody serves stopgate.main.check.scan',
    });
    const asked: Record<string, unknown>[] = [];
    const serving = at.client.nc.subscribe('stopgate.main.check.scan', {
      queue: 'stopgate-check',
      callback: (_error, message) => {
        message.respond(replies[asked.length] ?? '');
        asked.push(message.json());
      },
    });
    await at.client.nc.flush();
    expect(await stop(at, 'remote', { worker: 'r1', toolCount: 4 })).toMatchObject({
      reason: '2 leaks',
      feedback: [{ check: 'scan', details: ['a', 'b'] }],
    });
    expect(await stop(at, 'remote', { worker: 'r2' })).toMatchObject({
      decision: 'block',
      feedback: [{ outcome: 'error', message: 'check scan replied with invalid JSON' }],
    });
    expect(await stop(at, 'remote', { worker: 'r3' })).toMatchObject({ decision: 'allow', cause: 'complete' });
    serving.unsubscribe();
    expect(asked[0]).toMatchObject({
      worker: 'r1',
      attempt: 'a1',
      toolCount: 4,
      retryCount: 0,
      filesModified: [],
      plan: [],
    });
  });
});

test('a check request that is too large for NATS is shortened, marked as truncated, and sent', async () => {
  const asked: Record<string, unknown>[] = [];
  const serving = at.client.nc.subscribe('stopgate.main.check.scan', {
    callback: (_error, message) => {
      asked.push(message.json());
      message.respond('{"complete":true,"reason":"fine"}');
    },
  });
  await at.client.nc.flush();
  // A worker's list is bounded, but twice as long as JSON.
  const long = '"'.repeat(1_000);
  for (let call = 0; call < 18; call += 1)
    await at.client.publish('worker.large.tool.used', {
      tool: 'Write',
      files: Array.from({ length: 30 }, (_, index) => `${call}-${index}-${long}`),
    });
  const output = '"'.repeat(25_000);
  expect(await stop(at, 'remote', { worker: 'large', output })).toMatchObject({ decision: 'allow', cause: 'complete' });
  serving.unsubscribe();
  expect(asked).toMatchObject([{ worker: 'large', attempt: 'a1', truncated: true }]);
});

test('nothing from the wire is executed', async () => {
  const evil = '$(touch pwned); `touch pwned` | touch pwned #';
  const cwd = join(at.folder.path, 'a;touch pwned;$(touch pwned)');
  await mkdir(cwd);
  const { client } = at;
  await client.publish('worker.evil.worker.registered', {
    policy: 'here',
    agent: evil,
    cwd,
    labels: { runner: evil, [evil]: evil },
  });
  await client.publish('worker.evil.tool.used', { tool: evil, files: [evil, `${cwd}/x`], call: evil });
  await client.publish('worker.evil.plan.updated', { steps: [{ title: evil, status: evil }] });
  await client.publish('worker.evil.worker.registered', { policy: evil });
  const extra = {
    commands: { where: { run: ['touch', 'pwned'] } },
    checks: [{ command: evil }],
    command: evil,
    run: [evil],
  };
  const { body } = await client.ask('decide.evil', {
    output: evil,
    stopReason: evil,
    files: [evil],
    validation: [{ rule: evil, passed: true }],
    ...extra,
  });
  // The second registration has no id for a policy and is refused, so the first one's command ran: in that folder, as
  // it is.
  expect(body).toMatchObject({ policy: { name: 'here' }, feedback: [{ check: 'where', details: cwd }] });
  expect(await client.stored('STOPGATE-DEAD_main', 'stopgate.main.dead.worker.evil')).toMatchObject([
    { code: 'BAD_ID' },
  ]);

  await client.publish('worker.evil2.worker.registered', { policy: 'validate', cwd });
  expect((await client.ask('decide.evil2', extra)).body).toMatchObject({
    policy: { name: 'default' },
    cause: 'no-policy',
  });
  await client.publish('worker.evil2.policy.set', { policies: { default: { checks: [{ command: 'never' }] } } });
  expect((await client.ask('decide.evil2', {})).body).toMatchObject({
    policy: { name: 'default' },
    cause: 'no-policy',
  });
  const everything = await readdir(at.folder.path, { recursive: true });
  expect(everything.filter((name) => /(^|\/)pwned$|never-ran/.test(name))).toEqual([]);
});
