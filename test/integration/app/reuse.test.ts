/** `reuse: tree` from stopgate.yaml to the log, in the service and in `stopgate runner` (docs/protocol.md §8). */
import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { readEnvironment } from '../../../src/config/environment.ts';
import { type Deployment, deploy } from '../../support/deployment.ts';
import { endService, type Service, startService } from '../../support/service.ts';

const commands = { lint: { run: ['sh', '-c', 'echo ran >> runs.log; ! grep bad a.txt'], reuse: 'tree' } };
const checks = [{ command: 'lint', onError: 'block' }];
const config = JSON.stringify({ policies: { default: { checks }, away: { runner: 'box', checks } }, commands });

let at: Deployment;
let box: Service;
beforeAll(async () => {
  at = await deploy({ config });
  const { PATH = '' } = readEnvironment();
  const git = (...args: string[]) => promisify(execFile)('git', args, { cwd: at.folder.path, env: { PATH } });
  await git('init', '-q');
  await at.folder.write('.gitignore', '*.log\n');
  await at.folder.write('a.txt', 'good\n');
  box = await startService(['runner', '--name', 'box', '--nats', at.server.url], at.folder.path);
});
afterAll(async () => {
  await endService(box);
  await at.close();
});

test.each([
  { where: 'the service', policy: 'default' },
  { where: 'stopgate runner', policy: 'away' },
])('in $where a pass is reused and marked so in the log, a failure is not', async ({ policy }) => {
  const worker = `w-${policy}`;
  const cwd = at.folder.path;
  await at.client.publish(`worker.${worker}.worker.registered`, { policy, cwd });
  const stop = async (attempt: string) => (await at.client.ask(`decide.${worker}`, { attempt })).body;
  const finished = async () => {
    const entries = await at.client.stored('STOPGATE_main', `stopgate.main.own.worker.${worker}.check.finished`);
    return entries.map((it) => it as { outcome: string; metadata?: { reused: string } });
  };
  expect(await stop('a1')).toMatchObject({ cause: 'complete' });
  expect(await stop('a2')).toMatchObject({ cause: 'complete' });
  const [first, second] = await finished();
  expect(first?.metadata?.reused).toBeUndefined();
  expect(Date.parse(second?.metadata?.reused ?? '')).toBeLessThanOrEqual(Date.now());
  await writeFile(join(cwd, 'a.txt'), 'bad\n');
  for (const attempt of ['a3', 'a4']) expect(await stop(attempt)).toMatchObject({ cause: 'incomplete' });
  expect((await finished()).slice(2).map((it) => [it.outcome, it.metadata])).toEqual([
    ['fail', undefined],
    ['fail', undefined],
  ]);
  await writeFile(join(cwd, 'a.txt'), 'good\n');
});
