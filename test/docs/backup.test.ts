/**
 * Runs the commands of docs/operations/backup.md in a shell, in the order of the page. The restored state equals
 * the backed up one, and the service continues to decide.
 */
import { connect } from '@nats-io/transport-node';
import { expect, onTestFinished, test } from 'vitest';
import { readVariable } from '../../src/config/environment.ts';
import { type Client, openClient } from '../support/client.ts';
import { runCommand } from '../support/command.ts';
import { type Folder, linesOf, makeFolder } from '../support/deployment.ts';
import { ownFolder, startDev } from '../support/dev.ts';
import { readPage } from '../support/markdown.ts';
import { startReplica } from '../support/replica.ts';
import { endService, type Service, startService } from '../support/service.ts';
import { openNats } from '../support/shared-server.ts';
import { snapshotText } from '../support/snapshot-text.ts';
import { backUpStream, restoreStream } from '../support/stream-backup.ts';
import { runNats } from './nats-command.ts';
import { type Call, openShell } from './shell.ts';

const reason = 'test/docs/backup.test.ts';
const [backUp = [], copy = [], restore = [], copyBack = []] = readPage('docs/operations/backup.md')
  .fences.filter(({ notRun }) => notRun === reason)
  .map(({ text }) => text.split('\n'));
const startsService = (line: string) => line.startsWith('npx stopgate ');

/** Types the lines of the page except those that start a service. The test starts services itself, on its own ports. */
async function type(lines: readonly string[], folder: Folder, url = 'no server runs'): Promise<void> {
  const nats = async (call: Call) => {
    const { argv, cwd } = call;
    const [noun, verb, ...rest] = argv;
    if (readVariable('STOPGATE_TEST_NATS') !== undefined)
      return { ...(await runNats(call, url)), stdout: '', stderr: '' };
    const nc = await connect({ servers: url });
    try {
      if (noun === 'stream' && verb === 'backup') await backUpStream(nc, rest[0] ?? '', `${cwd}/${rest[1]}`);
      else if (noun === 'stream' && verb === 'restore') await restoreStream(nc, `${cwd}/${rest[0]}`);
      else throw new Error(`no test runs 'nats ${argv.join(' ')}'`);
    } finally {
      await nc.close();
    }
    return { code: 0, stdout: '', stderr: '' };
  };
  const shell = await openShell({ home: `${folder.path}/home`, cwd: folder.path }, { nats });
  for (const line of lines.filter((it) => !startsService(it)))
    expect(await shell.run(line), line).toEqual({ code: 0, printed: '' });
  await shell.close();
}

/** Creates tasks, plans, a block with its retry, and a dead letter. */
async function work(client: Client, worker: string): Promise<void> {
  await client.publish(`worker.${worker}.task.claimed`, { task: `T-${worker}` });
  await client.publish(`task.T-${worker}.task.created`, { title: `Task of ${worker}` });
  await client.publish(`worker.${worker}.plan.updated`, { steps: [{ title: 'Write tests', status: 'pending' }] });
  await client.publish(`worker.${worker}.plan.updated`, 'not JSON');
  await client.ask(`decide.${worker}`, { attempt: 'a1' });
}
const views = async (client: Client) =>
  Promise.all(
    ['get.worker.w0', 'get.worker.w1', 'get.worker.w2', 'get.task.T-w1'].map(async (it) => (await client.ask(it)).body),
  );
const deadLetters = (client: Client) => client.stored('STOPGATE-DEAD_main', 'stopgate.main.dead.>');
const isLost = /LOG_LOST|log is lost|went back|passed over/;

/** Leaves out replicas and clocks, which differ after a restart. */
async function stateOf(nats: string): Promise<string> {
  const replica = await startReplica({ nats, name: 'reader' });
  await replica.service.get('worker', 'w1');
  const text = snapshotText(replica.fleet);
  await replica.close();
  return text.replaceAll(/^\["(replicas|rulesOfReplicas|seq|nowMs)",.*\n/gm, '');
}

async function keepsDeciding(service: Service, client: Client): Promise<void> {
  const repeated = await client.ask('decide.w1', { attempt: 'a1' });
  expect(repeated.body).toMatchObject({ attempt: 'a1', decision: 'block', retry: { count: 1 } });
  expect((await client.ask('decide.w1', { attempt: 'a2' })).body).toMatchObject({ retry: { count: 2 } });
  expect((await client.ask('get.worker.late')).code).toBe('404');
  expect(service.stderr()).not.toMatch(isLost);
}

const config = { 'stopgate.yaml': 'policies: { default: { checks: [{ plan: {} }] } }\n' };

test('the streams of a running service with a trimmed log are backed up and restored to another server', async () => {
  const folder = await makeFolder(config);
  const [old, fresh] = [await openNats(), await openNats({})];
  const [before, after] = [await openClient(old.url), await openClient(fresh.url)];
  const start = (url: string) => startService(['serve', '--nats', url, '--http', 'off'], folder.path);
  onTestFinished(async () => {
    await Promise.all([before.close(), after.close()]);
    await Promise.all([old.stop(), fresh.stop(), folder.remove()]);
  });
  const first = await start(old.url);
  const takeSnapshot = async () =>
    linesOf((await runCommand(['snapshot', '--json', '--nats', old.url], { cwd: folder.path })).stdout)[0]?.seq;
  await work(before, 'w0');
  const cutTo = await takeSnapshot();
  await work(before, 'w1');
  await takeSnapshot();
  await before.manager.streams.purge('STOPGATE_main', { seq: Number(cutTo) }); // like retention
  await work(before, 'w2');
  await expect.poll(() => deadLetters(before)).toHaveLength(3);
  const [seen, state] = [await views(before), await stateOf(old.url)];
  await type(backUp, folder, old.url);
  await work(before, 'late');
  await endService(first);

  await type(restore, folder, fresh.url);
  const second = await start(fresh.url);
  expect(second.stderr()).toContain('the fold continues from a snapshot');
  expect(await views(after)).toEqual(seen);
  expect(await stateOf(fresh.url)).toBe(state);
  expect(await deadLetters(after)).toHaveLength(3);
  await keepsDeciding(second, after);
  await endService(second);
});

test('the folder of the embedded server is copied after a clean stop, and copied back', async () => {
  const folder = await ownFolder(config);
  const during = async <T>(use: (client: Client, service: Service) => Promise<T>): Promise<T> => {
    const dev = await startDev(folder);
    const client = await openClient(dev.ready.nats);
    try {
      return await use(client, dev);
    } finally {
      await client.close();
      await endService(dev);
    }
  };
  const exported = async () => linesOf((await runCommand(['export'], { cwd: folder.path })).stdout);
  const seen = await during(async (client) => {
    await work(client, 'w1');
    await work(client, 'w2');
    return { views: await views(client), log: await exported() };
  });
  await type(copy, folder);
  await during((client) => work(client, 'late'));

  await type(copyBack, folder);
  await during(async (client, service) => {
    expect(await views(client)).toEqual(seen.views);
    expect((await exported()).slice(0, seen.log.length)).toEqual(seen.log);
    await keepsDeciding(service, client);
  });
});

test('the page starts the service as the test does', () => {
  expect([...restore, ...copyBack].filter(startsService)).toEqual([
    'npx stopgate serve --nats nats://127.0.0.1:4222',
    'npx stopgate dev',
  ]);
  expect([...backUp, ...copy].filter(startsService)).toEqual([]);
});
