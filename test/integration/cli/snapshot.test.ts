/** `stopgate snapshot` and `stopgate export`, and a replay of a log that was cut, with its archive (protocol.md §11, §15). */
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Replica } from '../../../src/app/replica.ts';
import { type Client, openClient } from '../../support/client.ts';
import { runCommand } from '../../support/command.ts';
import { type Folder, linesOf, makeFolder } from '../../support/deployment.ts';
import type { NatsServer } from '../../support/nats-server.ts';
import { startReplica } from '../../support/replica.ts';
import { openNats } from '../../support/shared-server.ts';

let server: NatsServer;
let client: Client;
let folder: Folder;
let replica: Replica;

beforeEach(async () => {
  server = await openNats();
  client = await openClient(server.url);
  folder = await makeFolder();
  replica = await startReplica({ nats: server.url });
});
afterEach(async () => {
  await replica.close();
  await client.close();
  await server.stop();
  await folder.remove();
});

const run = (...argv: string[]) => runCommand([...argv, '--nats', server.url], { cwd: folder.path });
const replay = (...argv: string[]) => runCommand(['replay', ...argv], { cwd: folder.path });

async function work(worker: string): Promise<void> {
  await client.publish(`worker.${worker}.task.claimed`, { task: `T-${worker}` });
  await client.publish(`task.T-${worker}.task.created`, { title: `Task of ${worker}` });
  await client.ask(`decide.${worker}`, { attempt: `a-${worker}` });
  // Its decision entry follows the answer.
  const stored = () => client.stored('STOPGATE_main', `stopgate.main.decision.${worker}`);
  await expect.poll(async () => (await stored()).length, { timeout: 20_000 }).toBe(1);
}

test('a snapshot is taken when it is asked for', async () => {
  await work('w1');
  const json = await run('snapshot', '--json');
  expect(linesOf(json.stdout)).toMatchObject([{ fleet: 'main', workers: 1, tasks: 1 }]);
  const { code, stdout } = await run('snapshot');
  expect(code).toBe(0);
  expect(stdout).toMatch(/^snapshot of fleet main at entry \d+ \(.*Z\): 1 worker, 1 task, \d+ bytes\n$/);
});

test('what concerns one worker is exported, and a replay of it decides as the service did', async () => {
  await client.publish('own.fleet.main.policy.set', {
    policies: { default: { checks: [{ plan: { required: true } }] } },
  });
  await work('w1');
  await work('w2');
  const { code, stdout } = await run('export', '--worker', 'w1');
  expect(code).toBe(0);
  const subjects = linesOf(stdout).map(({ subject }) => String(subject).replace('stopgate.main.', ''));
  expect(subjects).toEqual([
    'own.fleet.main.policy.set',
    ...['worker.w1.task.claimed', 'task.T-w1.task.created', 'worker.w1.stop.attempted', 'decision.w1'],
  ]);
  await folder.write('w1.jsonl', stdout);
  const decisions = linesOf((await replay('w1.jsonl')).stdout);
  expect(decisions).toMatchObject([{ worker: 'w1', attempt: 'a-w1', decision: 'block', cause: 'incomplete' }]);
  const all = await run('export');
  expect(linesOf(all.stdout)).toHaveLength((await client.manager.streams.info('STOPGATE_main')).state.last_seq);
});

test('of a worker that the log does not know nothing is printed, and the exit code is 1', async () => {
  await client.publish('own.fleet.main.policy.set', { policies: { default: {} } });
  await work('w1');
  const { code, stdout, stderr } = await run('export', '--worker', 'nobody');
  expect([code, stdout]).toEqual([1, '']);
  expect(stderr).toBe('stopgate: the log of fleet main has no entry about worker nobody\n');
});

test('a replay of a log that was cut needs its archive', async () => {
  const archive = join(folder.path, 'archive');
  await work('w1');
  await run('snapshot');
  await work('w2');
  await run('snapshot');
  const before = (await replay('--fleet', 'main', '--nats', server.url)).stdout;
  expect(linesOf(before)).toHaveLength(2);
  replica.setRetention({ forMs: 0, bytesMax: null, archive });
  const firstSeq = async () => (await client.manager.streams.info('STOPGATE_main')).state.first_seq;
  await expect.poll(firstSeq).toBeGreaterThan(1);

  const refused = await replay('--fleet', 'main', '--nats', server.url);
  expect(refused).toMatchObject({ code: 2, stdout: '' });
  expect(refused.stderr).toContain('since retention has removed those before; a replay needs these');
  const whole = await replay('--fleet', 'main', '--nats', server.url, '--archive', 'archive');
  expect(whole).toEqual({ code: 0, stdout: before, stderr: '' });

  const partOf = linesOf((await replay('archive')).stdout);
  expect(partOf).toMatchObject([{ worker: 'w1', attempt: 'a-w1' }]);
  await folder.write('empty/none.jsonl', '');
  const lacking = await replay('--fleet', 'main', '--nats', server.url, '--archive', 'empty');
  expect(lacking.stderr).toContain("'empty' ends at entry 0");
  const exported = await run('export');
  expect(exported.stderr).toContain(`the log of fleet main begins at entry ${await firstSeq()}`);
});
