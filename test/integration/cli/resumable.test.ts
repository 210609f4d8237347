/** `stopgate resumable` resumes agents after their usage limit, each on one machine only. */
import { chmod, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { runCommand, startCommand } from '../../support/command.ts';
import { deployReplica } from '../../support/deployment.ts';

let stage: Awaited<ReturnType<typeof deployReplica>>;

beforeEach(async () => {
  stage = await deployReplica();
});
afterEach(() => stage.close());

/** Writes a program that records its arguments and folder, then runs `then`. */
async function install(name: string, script = 'exit 0') {
  await stage.folder.write(name, `#!/bin/sh\necho "$0 $* in $PWD" >> "${stage.folder.path}/ran"\n${script}\n`);
  await chmod(join(stage.folder.path, name), 0o755);
}
/** Contains no real agent. */
const env = () => ({ PATH: `${stage.folder.path}:/usr/bin:/bin` });
const ran = async () =>
  (await readFile(join(stage.folder.path, 'ran'), 'utf8').catch(() => ''))
    .replaceAll(`${stage.folder.path}/`, '')
    .split('\n')
    .filter((line) => line !== '');
const line = (...options: string[]) => ['resumable', ...options, '--nats', stage.server.url];
const run = (...options: string[]) => runCommand(line(...options), { cwd: stage.folder.path, env: env() });
const list = async () => JSON.parse((await run('--json')).stdout) as { worker: string }[];

const endedAt = '2026-01-01T00:00:00.000Z';
/** Runs a session that works and then reports a usage limit. */
async function limit(
  worker: string,
  { agent = 'claude', cwd = stage.folder.path, data = { until: endedAt } as object } = {},
) {
  await stage.client.publish(`worker.${worker}.worker.registered`, { agent, cwd });
  await stage.client.publish(`worker.${worker}.prompt.submitted`, { text: 'Work' });
  await stage.client.publish(`worker.${worker}.limit.reached`, data);
}
const later = () => ({ until: new Date(Date.now() + 3_600_000).toISOString() });

test('lists agents whose limit is over, that have not worked since, and that have a resume command', async () => {
  await install('claude');
  await limit('over', { data: { until: endedAt, scope: 'weekly' } });
  await limit('ended');
  await stage.client.publish('worker.ended.session.ended', {});
  await limit('holds', { data: later() });
  await limit('works');
  await stage.client.publish('worker.works.prompt.submitted', {});
  await limit('no-command', { agent: 'mine' });
  await limit('cleared', { data: {} });
  await stage.client.publish('worker.cleared.limit.cleared', {});
  await limit('elsewhere', { cwd: '/nowhere/at/all' });
  await stage.client.publish('worker.never.worker.registered', { agent: 'claude' });
  const command = (worker: string, cwd = stage.folder.path) =>
    `cd ${cwd} && claude --resume ${worker} 'The usage limit has reset. Continue where you stopped.'`;
  const here = { agent: 'claude', cwd: stage.folder.path, notHere: null };
  expect(await list()).toEqual([
    { worker: 'over', ...here, scope: 'weekly', endedAt, command: command('over') },
    { worker: 'ended', ...here, scope: null, endedAt, command: command('ended') },
    { worker: 'cleared', ...here, scope: null, endedAt: null, command: command('cleared') },
    {
      worker: 'elsewhere',
      ...here,
      cwd: '/nowhere/at/all',
      notHere: 'not on this machine',
      scope: null,
      endedAt,
      command: command('elsewhere', '/nowhere/at/all'),
    },
  ]);
  const { stdout } = await run();
  expect(stdout).toContain('WORKER');
  expect(stdout).toContain(command('over'));
});

test('--run resumes each agent once in its folder, and skips those of other machines', async () => {
  await install('claude');
  await install('gemini', 'exit 3');
  await limit('s1');
  await limit('s2', { agent: 'gemini' });
  await limit('s3', { agent: 'codex' });
  await limit('s4', { cwd: '/nowhere/at/all' });
  const { code, stderr } = await run('--run', '--prompt', 'Go on');
  expect(stderr).toContain('stopgate: s1 ended\n');
  expect(stderr).toContain('stopgate: s2 ended with exit code 3\n');
  expect(stderr).toContain('stopgate: s3 is skipped: codex is not on PATH\n');
  expect(stderr).toContain('stopgate: s4 is skipped: not on this machine\n');
  expect(code).toBe(1);
  expect((await ran()).filter((it) => /^(claude|gemini) /.test(it)).sort()).toEqual([
    `claude --resume s1 Go on in ${stage.folder.path}`,
    `gemini --resume s2 Go on in ${stage.folder.path}`,
  ]);
  expect((await list()).map(({ worker }) => worker)).toEqual(['s3', 's4']);
  await run('--run');
  expect((await ran()).filter((it) => /^(claude|gemini) /.test(it))).toHaveLength(2);
});

test('concurrent runs resume each session once', async () => {
  await install('claude', 'sleep 0.3');
  for (const worker of ['s1', 's2', 's3']) await limit(worker);
  const results = await Promise.all([run('--run'), run('--run', '--concurrency', '3'), run('--run')]);
  expect(results.map(({ code }) => code)).toEqual([0, 0, 0]);
  expect((await ran()).map((it) => it.split(' ')[2]).sort()).toEqual(['s1', 's2', 's3']);
});

test('a second limit is resumed again', async () => {
  await install('claude');
  await limit('s1');
  await run('--run');
  await limit('s1');
  expect((await list()).map(({ worker }) => worker)).toEqual(['s1']);
});

test('Ctrl-C ends the resumed agents', async () => {
  await install('claude', 'exec sleep 60');
  await limit('s1');
  const command = startCommand(line('--run'), { cwd: stage.folder.path, env: env() });
  await expect.poll(ran).toHaveLength(1);
  expect(await command.kill('SIGINT')).toBe(130);
});

test('says so if there is none', async () => {
  expect(await run()).toMatchObject({
    code: 0,
    stdout: "No agents in fleet 'main' have a usage limit that has reset.\n",
  });
  expect(await run('--concurrency', '2')).toMatchObject({ code: 2, stderr: expect.stringContaining('--run') });
});

test('a stop that was allowed because of the limit does not count as work', async () => {
  await install('claude');
  await limit('tried', { data: {} });
  await stage.client.ask('decide.tried');
  await limit('done', { data: {} });
  for (const worker of ['tried', 'done']) await stage.client.publish(`worker.${worker}.limit.cleared`, {});
  await stage.client.ask('decide.done');
  expect((await list()).map(({ worker }) => worker)).toEqual(['tried']);
});
