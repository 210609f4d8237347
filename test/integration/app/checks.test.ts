/** Checks in the shipped service: commands, files and repositories. */
import { execFile } from 'node:child_process';
import { mkdir, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Decision } from '../../../machines/index.ts';
import { type Deployment, deploy, type Folder, makeFolder } from '../../support/deployment.ts';
import { checks, exits, sh, stop } from './policy-of-checks.ts';

const config = JSON.stringify({
  policies: {
    json: checks({ command: 'validate' }),
    tail: checks({ command: 'noisy' }),
    none: checks({ command: 'silent' }),
    allows: checks({ command: 'lost' }),
    blocks: checks({ command: 'lost', onError: 'block' }),
    escalates: checks({ command: 'lost', onError: 'escalate' }),
    late: checks({ command: 'slow', timeout: '200ms', onError: 'block' }),
    patient: checks({ command: 'quick', timeout: '30d', onError: 'block' }),
    far: checks({ remote: 'far', timeout: '30d', onError: 'block' }),
    asks: checks({ command: 'who', name: 'asker' }),
    here: checks({ command: 'where' }),
    files: checks({ files: ['a.md', 'docs/b.md'] }),
    git: checks({ git: { clean: true, pushed: true }, onError: 'block' }),
    strictfiles: checks({ files: ['a.md'], onError: 'block' }),
  },
  commands: {
    lost: exits(127),
    validate: sh(`echo '{"missing":["b.json"],"line":7}'; echo noise >&2; exit 1`, { feedback: 'json' }),
    noisy: sh('echo 3 tests failed; echo in a.test.ts >&2; exit 1'),
    silent: sh('echo secret; exit 1', { feedback: 'none' }),
    slow: sh('exec sleep 30'),
    quick: sh('sleep 0.1'),
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

const checked = ({ verdicts }: Decision) => verdicts.find(({ guard }) => guard === 'checks');

describe('a command', () => {
  test('adds its JSON to the feedback and to the next prompt', async () => {
    const { feedback, nextPrompt, ...decision } = await stop(at, 'json');
    expect(decision).toMatchObject({ decision: 'block', reason: 'Command validate failed (exit 1)' });
    const details = { missing: ['b.json'], line: 7 };
    expect(feedback).toEqual([
      { check: 'validate', outcome: 'fail', message: 'Command validate failed (exit 1)', details },
    ]);
    expect(nextPrompt).toContain('Not done yet: Command validate failed (exit 1).');
    expect(JSON.parse(nextPrompt?.slice(nextPrompt.indexOf('{')) ?? '')).toEqual(details);
  });

  test('adds the end of its output, or nothing', async () => {
    expect((await stop(at, 'tail')).feedback).toMatchObject([
      { check: 'noisy', details: '3 tests failed\nin a.test.ts' },
    ]);
    const { feedback, nextPrompt } = await stop(at, 'none');
    expect(feedback).toMatchObject([{ check: 'silent', details: {} }]);
    expect(nextPrompt).not.toContain('secret');
  });

  test.each([
    ['allows', { decision: 'allow', action: 'continue', cause: 'unjudged', state: 'idle' }, 'error'],
    ['blocks', { decision: 'block', cause: 'incomplete', retry: { count: 1, max: 3 } }, 'block'],
    ['escalates', { decision: 'allow', action: 'escalate', cause: 'escalated', state: 'escalated' }, 'error'],
  ])('that cannot run is in error, which %s if onError says so', async (policy, decision, verdict) => {
    const found = await stop(at, policy);
    expect(found).toMatchObject(decision);
    expect(checked(found)).toMatchObject({
      verdict,
      detail: 'Command lost could not be run (exit 127: not found)',
    });
    expect(found.feedback).toMatchObject([{ check: 'lost', outcome: 'error' }]);
  });

  test('that cannot run and is allowed: a warning names the check and the setting that would block', async () => {
    await stop(at, 'allows', { worker: 'warned' });
    expect(at.log()).toContainEqual(
      expect.objectContaining({
        level: 'warn',
        msg: 'a check could not be judged',
        workerId: 'warned',
        cause: 'unjudged',
        checks: ['lost'],
        detail: 'Command lost could not be run (exit 127: not found)',
        hint: expect.stringContaining('onError: block'),
      }),
    );
  });

  test('that cannot run does not count as complete for verify, and neither does an unknown worker', async () => {
    const worker = 'verified';
    await at.client.publish(`worker.${worker}.worker.registered`, { policy: 'allows' });
    expect(await at.client.ask(`verify.${worker}`, {})).toMatchObject({
      code: '409',
      body: { error: { code: 'INCOMPLETE' }, decision: { decision: 'allow', cause: 'unjudged', dryRun: true } },
    });
    expect(await at.client.ask('verify.verifed')).toMatchObject({
      code: '404',
      body: { error: { code: 'NOT_FOUND', message: 'worker verifed is unknown' } },
    });
  });

  /** Root cause: a Node timer longer than 2^31 - 1 ms fires at once, so both timed out after 1 ms. */
  test('may have a timeout of a month, on the runner or elsewhere', async () => {
    expect(await stop(at, 'patient')).toMatchObject({ decision: 'allow', cause: 'complete' });
    const { nc } = at.client;
    const server = nc.subscribe('stopgate.main.check.far', {
      callback: (_error, message) =>
        void at.client.ask('get.worker.far').then(() => message.respond('{"complete":true}')),
    });
    expect(await stop(at, 'far')).toMatchObject({ decision: 'allow', cause: 'complete' });
    server.unsubscribe();
  });

  test('that takes too long is killed', async () => {
    const { decision, feedback } = await stop(at, 'late');
    expect(decision).toBe('block');
    expect(feedback).toMatchObject([{ check: 'slow', outcome: 'timeout', message: expect.stringMatching(/200ms/) }]);
  });

  test('gets the ids in its environment, and none of our secrets', async () => {
    await at.client.publish('worker.asks.task.claimed', { task: 'T-1' });
    const { feedback } = await stop(at, 'asks');
    expect(feedback).toMatchObject([{ check: 'asker', details: 'main/asks/T-1/a1/' }]);
  });

  test("runs in the worker's folder, inside the roots only", async () => {
    const cwd = join(at.folder.path, 'work');
    await mkdir(cwd, { recursive: true });
    expect((await stop(at, 'here', { cwd })).feedback).toMatchObject([{ details: cwd }]);
    const lost = await stop(at, 'here', { worker: 'here-outside', cwd: outside.path });
    expect(checked(lost)).toMatchObject({
      verdict: 'error',
      detail: expect.stringContaining("is outside the runner's roots"),
    });
  });
});

describe('files', () => {
  test('are searched in the folder of the worker', async () => {
    const cwd = join(at.folder.path, 'notes');
    await at.folder.write('notes/a.md', '');
    const blocked = await stop(at, 'files', { cwd });
    expect(blocked).toMatchObject({ decision: 'block', reason: 'Missing required files: docs/b.md' });
    await at.folder.write('notes/docs/b.md', '');
    expect((await at.client.ask('decide.files', { attempt: 'a2' })).body).toMatchObject({
      decision: 'allow',
      cause: 'complete',
    });
  });

  test('of a worker without a folder are searched next to the configuration', async () => {
    expect(await stop(at, 'strictfiles', { worker: 'of-nobody' })).toMatchObject({
      decision: 'block',
      reason: 'Missing required files: a.md',
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
    const lenient = await stop(at, 'files', { worker, ...place });
    expect(lenient).toMatchObject({ decision: 'allow', cause: 'unjudged', feedback: [{ outcome: 'error' }] });
    expect(checked(lenient)).toMatchObject({ verdict: 'error', detail: expect.stringContaining(words) });
    expect(await stop(at, 'strictfiles', { worker: `${worker}-2`, ...place })).toMatchObject({
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

  test('passes if nothing is uncommitted and nothing is ahead of the upstream', async () => {
    const { cwd, git } = await repository('repository');
    await git('init', '-q', '--bare', join(at.folder.path, 'upstream'));
    await git('remote', 'add', 'origin', join(at.folder.path, 'upstream'));
    await git('push', '-q', '-u', 'origin', 'HEAD');
    await at.folder.write('repository/new.txt', '');
    const message = 'Uncommitted changes: new.txt';
    expect(await stop(at, 'git', { cwd })).toMatchObject({
      decision: 'block',
      cause: 'incomplete',
      reason: message,
      feedback: [{ check: 'git', outcome: 'fail', message }],
    });
    await git('add', '.');
    await git('commit', '-qm', 'second');
    const again = async (attempt: string) => (await at.client.ask('decide.git', { attempt })).body;
    expect(await again('a2')).toMatchObject({ decision: 'block', reason: '1 commit not pushed' });
    await git('push', '-q');
    expect(await again('a3')).toMatchObject({ decision: 'allow', cause: 'complete' });
  });

  test('treats a branch without an upstream as not pushed', async () => {
    const { cwd } = await repository('alone');
    expect(await stop(at, 'git', { worker: 'git-alone', cwd })).toMatchObject({
      decision: 'block',
      feedback: [{ check: 'git', outcome: 'fail', message: expect.stringContaining('has no upstream') }],
    });
  });
});
