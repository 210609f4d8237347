/** Checks of a real policy by a service: commands, files, repositories, groups and remote ones; and what the wire cannot do. */
import { execFile } from 'node:child_process';
import { mkdir, readdir, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Decision } from '../../../machines/index.ts';
import { type Deployment, deploy, type Folder, makeFolder } from '../../support/deployment.ts';

const sh = (source: string, more: object = {}) => ({ run: ['sh', '-c', source], cwd: '.', ...more });
const exits = (code: number) => sh(`exit ${code}`);
const checks = (...list: object[]) => ({ checks: list });

/** JSON is YAML too. */
const config = JSON.stringify({
  policies: {
    json: checks({ command: 'validate' }),
    tail: checks({ command: 'noisy' }),
    none: checks({ command: 'silent' }),
    allows: checks({ command: 'lost' }),
    blocks: checks({ command: 'lost', onError: 'block' }),
    escalates: checks({ command: 'lost', onError: 'escalate' }),
    late: checks({ command: 'slow', timeout: '200ms', onError: 'block' }),
    asks: checks({ command: 'who', name: 'asker' }),
    here: checks({ command: 'where' }),
    files: checks({ files: ['a.md', 'docs/b.md'] }),
    git: checks({ git: { clean: true, pushed: true }, onError: 'block' }),
    strictfiles: checks({ files: ['a.md'], onError: 'block' }),
    any: checks({ any: [{ command: 'one' }, { command: 'other' }] }),
    anyone: checks({ any: [{ command: 'one' }, { command: 'zero' }] }),
    all: checks({ all: [{ command: 'zero' }, { command: 'other' }, { command: 'never' }] }),
    errany: checks({ any: [{ command: 'lost' }, { command: 'one' }] }),
    when: checks({ command: 'one', when: { filesMatch: 'src/**' } }, { command: 'zero' }),
    remote: checks({ remote: 'scan', timeout: '20s', onError: 'block' }),
    order: checks({ plan: {} }, { command: 'never' }),
  },
  commands: {
    ...{ zero: exits(0), one: exits(1), other: exits(1), lost: exits(127) },
    validate: sh(`echo '{"missing":["b.json"],"line":7}'; echo noise >&2; exit 1`, { feedback: 'json' }),
    noisy: sh('echo 3 tests failed; echo in a.test.ts >&2; exit 1'),
    silent: sh('echo secret; exit 1', { feedback: 'none' }),
    slow: sh('exec sleep 30'),
    never: sh('touch never-ran; exit 1'),
    who: sh('echo "$STOPGATE_FLEET/$STOPGATE_WORKER/$STOPGATE_TASK/$STOPGATE_ATTEMPT/$STOPGATE_TOKEN"; exit 1'),
    where: { run: ['sh', '-c', 'pwd; exit 1'] },
  },
});

let at: Deployment;
let outside: Folder;
beforeAll(async () => {
  at = await deploy({ config, env: { STOPGATE_TOKEN: 'secret-of-http' } });
  outside = await makeFolder({ 'a.md': '' });
});
afterAll(async () => {
  await at.close();
  await outside.remove();
});

/** A worker of that name's policy tries to stop. */
const stop = async (
  policy: string,
  { worker = policy, cwd, ...fields }: { worker?: string; cwd?: string; [key: string]: unknown } = {},
) => {
  await at.client.publish(`worker.${worker}.worker.registered`, { policy, ...(cwd === undefined ? {} : { cwd }) });
  return (await at.client.ask(`decide.${worker}`, { attempt: 'a1', ...fields }, 10_000)).body;
};
const checked = ({ verdicts }: Decision) => verdicts.find(({ guard }) => guard === 'checks');

describe('a command', () => {
  test('gives its JSON to the feedback, and to the next prompt', async () => {
    const { feedback, nextPrompt, ...decision } = await stop('json');
    expect(decision).toMatchObject({ decision: 'block', reason: 'Command validate failed (exit 1)' });
    const details = { missing: ['b.json'], line: 7 };
    expect(feedback).toEqual([
      { check: 'validate', outcome: 'fail', message: 'Command validate failed (exit 1)', details },
    ]);
    expect(nextPrompt).toContain('Not done yet: Command validate failed (exit 1).');
    expect(JSON.parse(nextPrompt?.slice(nextPrompt.indexOf('{')) ?? '')).toEqual(details);
  });

  test('gives the end of its output, or none of it', async () => {
    expect((await stop('tail')).feedback).toMatchObject([{ check: 'noisy', details: '3 tests failed\nin a.test.ts' }]);
    const { feedback, nextPrompt } = await stop('none');
    expect(feedback).toMatchObject([{ check: 'silent', details: {} }]);
    expect(nextPrompt).not.toContain('secret');
  });

  test.each([
    ['allows', { decision: 'allow', action: 'continue', cause: 'unjudged', state: 'idle' }, 'error'],
    ['blocks', { decision: 'block', cause: 'incomplete', retry: { count: 1, max: 3 } }, 'block'],
    ['escalates', { decision: 'allow', action: 'escalate', cause: 'escalated', state: 'escalated' }, 'error'],
  ])('that cannot tell is in error, which %s where onError says so', async (policy, decision, verdict) => {
    const found = await stop(policy);
    expect(found).toMatchObject(decision);
    expect(checked(found)).toMatchObject({
      verdict,
      detail: 'Command lost could not be run (exit 127: not found)',
    });
    expect(found.feedback).toMatchObject([{ check: 'lost', outcome: 'error' }]);
  });

  test('that cannot tell and is let pass: a warning names the check and what makes it strict', async () => {
    await stop('allows', { worker: 'warned' });
    expect(at.log()).toContainEqual(
      expect.objectContaining({
        ...{ level: 'warn', msg: 'a check could not be judged', workerId: 'warned', cause: 'unjudged' },
        ...{ checks: ['lost'], detail: 'Command lost could not be run (exit 127: not found)' },
        hint: expect.stringContaining('onError: block'),
      }),
    );
  });

  test('that cannot tell is no yes for verify, and a worker that nobody knows is none either', async () => {
    const worker = 'verified';
    await at.client.publish(`worker.${worker}.worker.registered`, { policy: 'allows' });
    expect(await at.client.ask(`verify.${worker}`, {}, 10_000)).toMatchObject({
      code: '409',
      body: { error: { code: 'INCOMPLETE' }, decision: { decision: 'allow', cause: 'unjudged', dryRun: true } },
    });
    expect(await at.client.ask('verify.verifed')).toMatchObject({
      code: '404',
      body: { error: { code: 'NOT_FOUND', message: 'worker verifed is unknown' } },
    });
  });

  test('that takes too long is ended', async () => {
    const { decision, feedback } = await stop('late');
    expect(decision).toBe('block');
    expect(feedback).toMatchObject([{ check: 'slow', outcome: 'timeout', message: expect.stringMatching(/200ms/) }]);
  });

  test('is told who asks, and none of our secrets', async () => {
    await at.client.publish('worker.asks.task.claimed', { task: 'T-1' });
    const { feedback } = await stop('asks');
    expect(feedback).toMatchObject([{ check: 'asker', details: 'main/asks/T-1/a1/' }]);
  });

  test("runs in the worker's folder, inside the roots alone", async () => {
    const cwd = join(at.folder.path, 'work');
    await mkdir(cwd, { recursive: true });
    expect((await stop('here', { cwd })).feedback).toMatchObject([{ details: cwd }]);
    const lost = await stop('here', { worker: 'here-outside', cwd: outside.path });
    expect(checked(lost)).toMatchObject({
      verdict: 'error',
      detail: expect.stringContaining("is outside the runner's roots"),
    });
  });
});

describe('files', () => {
  test('are looked for in the folder of the worker', async () => {
    const cwd = join(at.folder.path, 'notes');
    await at.folder.write('notes/a.md', '');
    const blocked = await stop('files', { cwd });
    expect(blocked).toMatchObject({ decision: 'block', reason: 'Missing required files: docs/b.md' });
    await at.folder.write('notes/docs/b.md', '');
    expect((await at.client.ask('decide.files', { attempt: 'a2' })).body).toMatchObject({
      decision: 'allow',
      cause: 'complete',
    });
  });

  test('of a worker that named no folder are looked for beside the configuration', async () => {
    expect(await stop('strictfiles', { worker: 'of-nobody' })).toMatchObject({
      ...{ decision: 'block', reason: 'Missing required files: a.md' },
    });
  });

  test.each([
    ['outside the roots', () => outside.path, "is outside the runner's roots"],
    ['by a link out of the roots', () => join(at.folder.path, 'link'), "is outside the runner's roots"],
    [
      'by dots out of the roots',
      () => `${at.folder.path}/../${outside.path.split('/').at(-1)}`,
      "is outside the runner's roots",
    ],
    ['at no absolute place', () => '.', 'is not an absolute path'],
    ['that is not there', () => join(at.folder.path, 'nowhere'), 'does not exist'],
  ])('in a folder %s: the check is in error', async (what, cwdOf, words) => {
    if (what.includes('link')) await symlink(outside.path, join(at.folder.path, 'link'));
    const place = { cwd: cwdOf() };
    const worker = what.replaceAll(' ', '-');
    const lenient = await stop('files', { worker, ...place });
    expect(lenient).toMatchObject({ decision: 'allow', cause: 'unjudged', feedback: [{ outcome: 'error' }] });
    expect(checked(lenient)).toMatchObject({ verdict: 'error', detail: expect.stringContaining(words) });
    expect(await stop('strictfiles', { worker: `${worker}-2`, ...place })).toMatchObject({
      decision: 'block',
      reason: expect.stringContaining(words),
    });
  });
});

describe('git', () => {
  const who = ['-c', 'user.name=a', '-c', 'user.email=a@example.com'];
  const repository = async (name: string) => {
    const cwd = join(at.folder.path, name);
    await mkdir(cwd);
    const git = (...args: string[]) => promisify(execFile)('git', [...who, ...args], { cwd });
    await git('init', '-q');
    await git('commit', '-qm', 'first', '--allow-empty');
    return { cwd, git };
  };

  test('nothing is uncommitted, and nothing ahead of the upstream', async () => {
    const { cwd, git } = await repository('repository');
    await git('init', '-q', '--bare', join(at.folder.path, 'upstream'));
    await git('remote', 'add', 'origin', join(at.folder.path, 'upstream'));
    await git('push', '-q', '-u', 'origin', 'HEAD');
    await at.folder.write('repository/new.txt', '');
    const message = 'Uncommitted changes: new.txt';
    expect(await stop('git', { cwd })).toMatchObject({
      ...{ decision: 'block', cause: 'incomplete', reason: message },
      feedback: [{ check: 'git', outcome: 'fail', message }],
    });
    await git('add', '.');
    await git('commit', '-qm', 'second');
    const again = async (attempt: string) => (await at.client.ask('decide.git', { attempt }, 10_000)).body;
    expect(await again('a2')).toMatchObject({ decision: 'block', reason: '1 commit not pushed' });
    await git('push', '-q');
    expect(await again('a3')).toMatchObject({ decision: 'allow', cause: 'complete' });
  });

  test('that cannot tell is in error', async () => {
    const { cwd } = await repository('alone');
    expect(await stop('git', { worker: 'git-alone', cwd })).toMatchObject({
      decision: 'block',
      feedback: [{ check: 'git', outcome: 'error', message: expect.stringContaining('no upstream') }],
    });
  });
});

describe('groups and conditions', () => {
  test('any: all failures are told, one pass is enough, an error that is allowed is left out', async () => {
    expect(await stop('any')).toMatchObject({
      decision: 'block',
      reason: 'Command one failed (exit 1); or Command other failed (exit 1)',
    });
    expect(await stop('anyone')).toMatchObject({ decision: 'allow', cause: 'complete' });
    expect(await stop('errany')).toMatchObject({ decision: 'block', reason: 'Command one failed (exit 1)' });
  });

  test('all, and a list: the first failure decides, what comes after it is not run', async () => {
    expect(await stop('all')).toMatchObject({ decision: 'block', reason: 'Command other failed (exit 1)' });
    await at.client.publish('worker.order.plan.updated', { steps: [{ title: 'Write tests', status: 'pending' }] });
    expect(await stop('order')).toMatchObject({ decision: 'block', reason: '1 of 1 plan steps remain: Write tests' });
    expect(await readdir(at.folder.path)).not.toContain('never-ran');
  });

  test('when: a check that does not apply is skipped', async () => {
    expect(await stop('when', { files: ['docs/a.md'] })).toMatchObject({ decision: 'allow', cause: 'complete' });
    expect(await stop('when', { worker: 'when-2', files: ['src/deep/a.ts'] })).toMatchObject({ decision: 'block' });
  });

  test('remote: anybody may serve it, in either form; nobody, or nonsense, is an error', async () => {
    const replies = [
      '{"complete":false,"reason":"2 leaks","feedback":["a","b"]}',
      'nonsense',
      '{"action":"complete","reason":"clean"}',
    ];
    expect(await stop('remote', { worker: 'r0' })).toMatchObject({
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
    expect(await stop('remote', { worker: 'r1', toolCount: 4 })).toMatchObject({
      reason: '2 leaks',
      feedback: [{ check: 'scan', details: ['a', 'b'] }],
    });
    expect(await stop('remote', { worker: 'r2' })).toMatchObject({
      decision: 'block',
      feedback: [{ outcome: 'error', message: 'check scan replied with invalid JSON' }],
    });
    expect(await stop('remote', { worker: 'r3' })).toMatchObject({ decision: 'allow', cause: 'complete' });
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

test('a question that is too large for the bus is cut, says so, and is asked', async () => {
  const asked: Record<string, unknown>[] = [];
  const serving = at.client.nc.subscribe('stopgate.main.check.scan', {
    callback: (_error, message) => {
      asked.push(message.json());
      message.respond('{"complete":true,"reason":"fine"}');
    },
  });
  await at.client.nc.flush();
  // A worker's list is bounded, and yet twice as long as JSON.
  const long = '"'.repeat(1_000);
  for (let call = 0; call < 18; call += 1)
    await at.client.publish('worker.large.tool.used', {
      tool: 'Write',
      files: Array.from({ length: 30 }, (_, index) => `${call}-${index}-${long}`),
    });
  const output = '"'.repeat(25_000);
  expect(await stop('remote', { worker: 'large', output })).toMatchObject({ decision: 'allow', cause: 'complete' });
  serving.unsubscribe();
  expect(asked).toMatchObject([{ worker: 'large', attempt: 'a1', truncated: true }]);
});

test('nothing that comes over the wire is executed', async () => {
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
  // The second registration has no id for a policy and is refused, so the first one's command ran: in that folder, as it is.
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
