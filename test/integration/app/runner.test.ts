/**
 * The shipped `stopgate runner`: checks of the service’s policies, run in another folder with its own configuration.
 */

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { headers } from '@nats-io/nats-core';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { Decision } from '../../../machines/index.ts';
import { runCommand } from '../../support/command.ts';
import { type Deployment, deploy, type Folder, linesOf, makeFolder } from '../../support/deployment.ts';
import { endService, type Service, startService } from '../../support/service.ts';
import { ask } from '../http/request.ts';

const sh = (source: string, more: object = {}) => ({ run: ['sh', '-c', source], ...more });
const on = (runner: object, ...checks: object[]) => ({
  ...runner,
  retries: null,
  checks: checks.map((check) => ({ timeout: '20s', onError: 'block', ...check })),
});
const box = { runner: 'box' };

/** The service has commands with the same names, which must not run. */
const config = JSON.stringify({
  policies: {
    passes: on(box, { command: 'passes' }),
    fails: on(box, { command: 'fails' }),
    files: on(box, { files: ['a.md', 'docs/b.md'] }),
    unknown: on(box, { command: 'unknown' }),
    who: on(box, { command: 'who' }),
    lasting: on(box, { command: 'lasting', timeout: '4s' }),
    late: on(box, { command: 'late', timeout: '2s' }),
    brief: on(box, { command: 'brief' }),
    gone: on({ runner: 'nobody' }, { command: 'passes' }),
    fake: on({ runner: 'fake' }, { command: 'passes' }),
    silent: on({ runner: 'silent' }, { command: 'passes', timeout: '2s' }),
    lenient: { runner: 'nobody', checks: [{ command: 'passes' }] },
    labelled: on({ runners: ['box', 'other'] }, { command: 'fails' }),
  },
  commands: {
    passes: sh('exit 1', { cwd: '.' }),
    fails: sh('exit 0', { cwd: '.' }),
    unknown: sh('exit 0', { cwd: '.' }),
  },
});

const runnerConfig = JSON.stringify({
  roots: ['work'],
  commands: {
    passes: sh('exit 0'),
    fails: sh('echo "2 tests failed in $PWD"; exit 1'),
    who: sh('echo "$STOPGATE_FLEET/$STOPGATE_WORKER/$STOPGATE_ATTEMPT/$STOPGATE_CREDS"; exit 1'),
    lasting: sh('[ -e done ] && exit 0; echo $$ > started; exec sleep 30'),
    late: sh('echo begun; exec sleep 30'),
    brief: sh('exec sleep 30', { timeout: '300ms' }),
  },
});

let at: Deployment;
let workspace: Folder;
let cwd: string;
const runners: Service[] = [];
const startRunner = async (name: string, folder = workspace.path) => {
  const runner = await startService(['runner', '--name', name, '--nats', at.server.url], folder);
  runners.push(runner);
  return runner;
};

beforeAll(async () => {
  at = await deploy({ config, nats: {} });
  workspace = await makeFolder({ 'stopgate.yaml': runnerConfig, 'work/a.md': '' });
  cwd = join(workspace.path, 'work');
});
afterEach(async () => {
  for (const runner of runners.splice(0)) await endService(runner);
});
afterAll(async () => {
  await at.close();
  await workspace.remove();
});

let workers = 0;
/** A worker under that policy, in the runner's workspace, tries to stop. */
const stop = async (policy: string, registered: object = {}) => {
  workers += 1;
  const worker = `w${workers}`;
  await at.client.publish(`worker.${worker}.worker.registered`, { policy, cwd, ...registered });
  return again(worker, 'a1');
};
const again = async (worker: string, attempt: string) =>
  (await at.client.ask(`decide.${worker}`, { attempt })).body as Decision;
const lastWorker = () => `w${workers}`;
const isRunning = (pid: number) => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};
const startedPid = async () => Number(await readFile(join(cwd, 'started'), 'utf8').catch(() => ''));

describe('a runner', () => {
  test('prints one line when it is ready, and is found by the micro protocol', async () => {
    const runner = await startRunner('box');
    expect(runner.ready).toEqual({ ready: true, runner: 'box', nats: at.server.url, fleet: 'main' });
    const info = (await at.client.nc.request('$SRV.INFO.stopgate-runner', '')).json() as { endpoints: object[] };
    expect(info.endpoints).toMatchObject([{ name: 'run', subject: 'stopgate.main.run.box', queue_group: 'box' }]);
    expect(await runner.kill('SIGINT')).toBe(0);
    expect(linesOf(runner.stderr()).at(-1)).toMatchObject({ msg: 'stopping' });
  });

  test('is reported as missing by /readyz and doctor if nobody serves it, and the service stays ready', async () => {
    await startRunner('box');
    const requests: string[] = [];
    const serving = at.client.nc.subscribe('stopgate.main.run.fake', {
      callback: (_error, message) => void requests.push(message.string()), // it cannot be discovered
    });
    await at.client.nc.flush();
    const ready = await ask(at.http, '/readyz');
    const missing = ['fake', 'nobody', 'other', 'silent'];
    expect([ready.status, ready.json]).toMatchObject([
      200,
      { ok: true, fleets: { main: { runnersMissing: missing } } },
    ]);
    expect(requests).toEqual([]);
    const stats = (await at.client.nc.request('$SRV.STATS.stopgate-runner', '')).json();
    expect(stats).toMatchObject({ endpoints: [{ num_requests: 0, num_errors: 0 }] });
    const { stdout } = await runCommand(['doctor', '--quick', '--http', at.http.replace('http://', '')], {
      cwd: workspace.path,
    });
    expect(stdout).toContain(
      '! service  policies name runners fake, nobody, other, silent, which cannot be found (NATS micro): ' +
        'if a runner is not running, its checks end in an error → ' +
        'start it next to the workspace: npx stopgate runner --name fake',
    );
    serving.unsubscribe();
  });

  test('runs its own commands, in the folder of the worker', async () => {
    await startRunner('box');
    expect(await stop('passes')).toMatchObject({ decision: 'allow', cause: 'complete' });
    const words = 'Command fails failed (exit 1)';
    expect(await stop('fails')).toMatchObject({
      decision: 'block',
      reason: words,
      feedback: [{ check: 'fails', outcome: 'fail', message: words, details: `2 tests failed in ${cwd}` }],
    });
    expect((await stop('who')).feedback).toMatchObject([{ details: `main/${lastWorker()}/a1/` }]);
    expect(await stop('unknown')).toMatchObject({
      decision: 'block',
      reason: 'the runner has no command "unknown": define it under commands: in its configuration',
    });
  });

  test('answers a probe as well', async () => {
    await startRunner('box');
    await stop('fails');
    const { body } = await at.client.ask(`probe.${lastWorker()}`);
    expect(body).toMatchObject({ dryRun: true, reason: 'Command fails failed (exit 1)' });
  });

  test('checks files, inside its own roots only', async () => {
    await startRunner('box');
    expect(await stop('files')).toMatchObject({ decision: 'block', reason: 'Missing required files: docs/b.md' });
    await workspace.write('work/docs/b.md', '');
    expect(await again(lastWorker(), 'a2')).toMatchObject({ decision: 'allow', cause: 'complete' });
    for (const outside of [workspace.path, at.folder.path]) {
      const reason = expect.stringContaining("is outside the runner's roots");
      expect(await stop('files', { cwd: outside })).toMatchObject({ decision: 'block', reason });
    }
  });

  test('follows its configuration, and keeps the old one if the new one is broken', async () => {
    const folder = await makeFolder({ 'stopgate.yaml': runnerConfig });
    try {
      const runner = await startRunner('box', folder.path);
      const messages = () => linesOf(runner.stderr()).map(({ msg }) => msg);
      await folder.write('stopgate.yaml', `${runnerConfig}\nbroken`);
      await expect.poll(messages).toContain('the configuration is not valid: the last one stays in force');
      expect((await stop('unknown')).reason).toContain('the runner has no command "unknown"');
      await folder.write('stopgate.yaml', JSON.stringify({ commands: { unknown: sh('exit 0', { cwd: '.' }) } }));
      await expect.poll(messages).toContain('reloaded the configuration');
      expect(await stop('unknown')).toMatchObject({ decision: 'allow', cause: 'complete' });
    } finally {
      await folder.remove();
    }
  });

  test('ends a command at its own timeout, even if that of the check is longer', async () => {
    await startRunner('box');
    expect(await stop('brief')).toMatchObject({ decision: 'block', reason: 'Command brief took longer than 300ms' });
  });

  test("ends a command early enough to report it, if the check's timeout is shorter", async () => {
    await startRunner('box');
    expect(await stop('late')).toMatchObject({
      decision: 'block',
      reason: 'Command late took longer than 2s',
      feedback: [{ check: 'late', outcome: 'timeout', details: 'begun' }],
    });
  });

  test('shares the checks with other runners of its name', async () => {
    const [one, other] = [await makeFolder(), await makeFolder()];
    const folders = [one, other];
    try {
      for (const folder of folders) {
        const mark = sh(`echo ran >> ${folder.path}/ran; sleep 0.2`, { cwd: '.' });
        await folder.write('stopgate.yaml', JSON.stringify({ commands: { passes: mark } }));
        await startRunner('box', folder.path);
      }
      const decisions = await Promise.all(Array.from({ length: 24 }, () => stop('passes')));
      expect(decisions.every(({ cause }) => cause === 'complete')).toBe(true);
      const ran = await Promise.all(folders.map(({ path }) => readFile(join(path, 'ran'), 'utf8')));
      const counts = ran.map((text) => text.split('\n').length - 1);
      expect(counts.reduce((sum, count) => sum + count)).toBe(24);
      expect(Math.min(...counts)).toBeGreaterThan(0);
    } finally {
      for (const folder of folders) await folder.remove();
    }
  });

  test('ends with everything that it runs, and each waiting request gets an error', async () => {
    const runner = await startRunner('box');
    await workspace.write('work/started', '');
    const decision = stop('lasting');
    await expect.poll(startedPid).toBeGreaterThan(0);
    const pid = await startedPid();
    expect(await runner.kill('SIGTERM')).toBe(0);
    expect(isRunning(pid)).toBe(false);
    expect(await decision).toMatchObject({ decision: 'block', reason: 'runner box was stopped' });
  });
});

describe('the runner that labels.runner names', () => {
  test('runs the check, if the policy lists it', async () => {
    await startRunner('box');
    const labels = { runner: 'box' };
    expect(await stop('labelled', { labels })).toMatchObject({ reason: 'Command fails failed (exit 1)' });
  });

  test.each([
    [{ runner: 'elsewhere' }, 'the worker has the label "runner" "elsewhere", which'],
    [{ zone: 'box' }, 'the worker has no label "runner", which'],
  ])('must be one of them: %j', async (labels, words) => {
    await startRunner('box');
    expect(await stop('labelled', { labels })).toMatchObject({
      decision: 'block',
      reason: `${words} selects none of the policy's runners: box, other`,
      feedback: [{ check: 'fails', outcome: 'error' }],
    });
  });
});

describe('the check is in error if the runner is lost:', () => {
  test('nobody serves it', async () => {
    const reason = 'runner nobody does not answer: nobody serves stopgate.main.run.nobody';
    expect(await stop('gone')).toMatchObject({ decision: 'block', reason, feedback: [{ outcome: 'error' }] });
    const lenient = await stop('lenient');
    expect(lenient.verdicts.find(({ guard }) => guard === 'checks')).toMatchObject({
      verdict: 'error',
      detail: reason,
    });
  });

  test('it starts and does not answer: the timeout of the check runs from there', async () => {
    at.client.nc.subscribe('stopgate.main.run.silent', {
      callback(_error, message) {
        const begun = headers();
        begun.set('Stopgate-Started', 'true');
        message.respond('', { headers: begun });
      },
    });
    const reason = 'runner silent does not answer: no reply from stopgate.main.run.silent within 1800 ms';
    expect(await stop('silent')).toMatchObject({ decision: 'block', reason });
  });

  test.each([
    ['nonsense', 'runner fake replied with invalid JSON'],
    ['{"complete":true}', 'runner fake replied in an unknown form'],
    ['{"outcome":"passed"}', 'runner fake replied in an unknown form'],
    ['null', 'runner fake replied in an unknown form'],
    ['{"error":{"code":"BAD_REQUEST","message":"not me"}}', 'runner fake refused the request: not me'],
  ])('it replies %s', async (reply, reason) => {
    const asked: unknown[] = [];
    const serving = at.client.nc.subscribe('stopgate.main.run.fake', {
      callback: (_error, message) => {
        asked.push(message.json());
        message.respond(reply);
      },
    });
    await at.client.nc.flush();
    expect(await stop('fake')).toMatchObject({ decision: 'block', reason, feedback: [{ outcome: 'error' }] });
    const env = { fleet: 'main', worker: lastWorker(), task: null, attempt: 'a1' };
    const question = expect.objectContaining({ worker: env.worker, attempt: 'a1', plan: [] });
    expect(asked).toEqual([{ kind: 'command', name: 'passes', env, question, cwd, timeoutMs: 20_000 }]);
    serving.unsubscribe();
  });
});

test('a request that it does not understand gets an error, and runs nothing', async () => {
  await startRunner('box');
  for (const body of [
    'nonsense',
    '{}',
    '{"kind":"command"}',
    '{"kind":"shell","run":"id"}',
    '{"kind":"files","files":1}',
  ]) {
    const { code, body: answer } = await at.client.ask('run.box', body);
    expect([code, answer.error.code]).toEqual(['400', 'BAD_REQUEST']);
  }
  const { body } = await at.client.ask('run.box', { kind: 'command', name: 'passes', run: ['id'], cwd });
  expect(body).toMatchObject({ outcome: 'pass' });
});

test('it continues after a lost connection', async () => {
  await startRunner('box');
  await at.server.restart();
  const service = () =>
    at.client.ask('list.workers', {}, 250).then(
      () => 'back',
      () => 'away',
    );
  await expect.poll(service).toBe('back');
  await expect.poll(async () => (await stop('passes').catch(() => null))?.cause).toBe('complete');
});
