/** `stopgate snapshot`, `stopgate export`, and the replay of a trimmed log with its archive (protocol.md §11, §15). */
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { runCommand } from '../../support/command.ts';
import { deployReplica, linesOf } from '../../support/deployment.ts';

let stage: Awaited<ReturnType<typeof deployReplica>>;

beforeEach(async () => {
  stage = await deployReplica();
});
afterEach(() => stage.close());

const run = (...argv: string[]) => runCommand([...argv, '--nats', stage.server.url], { cwd: stage.folder.path });
const replay = (...argv: string[]) => runCommand(['replay', ...argv], { cwd: stage.folder.path });

async function work(worker: string): Promise<void> {
  await stage.client.publish(`worker.${worker}.task.claimed`, { task: `T-${worker}` });
  await stage.client.publish(`task.T-${worker}.task.created`, { title: `Task of ${worker}` });
  await stage.client.ask(`decide.${worker}`, { attempt: `a-${worker}` });
  // The decision entry is stored after the answer.
  const stored = () => stage.client.stored('STOPGATE_main', `stopgate.main.decision.${worker}`);
  await expect.poll(async () => (await stored()).length).toBe(1);
}

test('takes a snapshot on request', async () => {
  await work('w1');
  const json = await run('snapshot', '--json');
  expect(linesOf(json.stdout)).toMatchObject([{ fleet: 'main', workers: 1, tasks: 1 }]);
  const { code, stdout } = await run('snapshot');
  expect(code).toBe(0);
  expect(stdout).toMatch(/^snapshot of fleet main at entry \d+ \(.*Z\): 1 worker, 1 task, \d+ bytes\n$/);
});

test('export --worker prints the entries that affect a worker; their replay decides as the service did', async () => {
  await stage.client.publish('own.fleet.main.policy.set', {
    policies: { default: { checks: [{ plan: { required: true } }] } },
  });
  await work('w1');
  await work('w2');
  const { code, stdout } = await run('export', '--worker', 'w1');
  expect(code).toBe(0);
  const subjects = linesOf(stdout).map(({ subject }) => String(subject).replace('stopgate.main.', ''));
  expect(subjects).toEqual([
    'own.fleet.main.policy.set',
    'worker.w1.task.claimed',
    'task.T-w1.task.created',
    'worker.w1.stop.attempted',
    'decision.w1',
  ]);
  await stage.folder.write('w1.jsonl', stdout);
  const decisions = linesOf((await replay('w1.jsonl')).stdout);
  expect(decisions).toMatchObject([{ worker: 'w1', attempt: 'a-w1', decision: 'block', cause: 'incomplete' }]);
  const all = await run('export');
  expect(linesOf(all.stdout)).toHaveLength((await stage.client.manager.streams.info('STOPGATE_main')).state.last_seq);
});

test('export of an unknown worker prints nothing; the exit code is 1', async () => {
  await stage.client.publish('own.fleet.main.policy.set', { policies: { default: {} } });
  await work('w1');
  const { code, stdout, stderr } = await run('export', '--worker', 'nobody');
  expect([code, stdout]).toEqual([1, '']);
  expect(stderr).toBe('stopgate: the log of fleet main has no entries about worker nobody\n');
});

test('the replay of a trimmed log needs its archive', async () => {
  const archive = join(stage.folder.path, 'archive');
  await work('w1');
  await run('snapshot');
  await work('w2');
  await run('snapshot');
  const before = (await replay('--fleet', 'main', '--nats', stage.server.url)).stdout;
  expect(linesOf(before)).toHaveLength(2);
  stage.replica.setRetention({ forMs: 0, bytesMax: null, archive });
  const firstSeq = async () => (await stage.client.manager.streams.info('STOPGATE_main')).state.first_seq;
  await expect.poll(firstSeq).toBeGreaterThan(1);

  const refused = await replay('--fleet', 'main', '--nats', stage.server.url);
  expect(refused).toMatchObject({ code: 2, stdout: '' });
  expect(refused.stderr).toContain('retention has removed the earlier entries, and a replay needs them');
  const whole = await replay('--fleet', 'main', '--nats', stage.server.url, '--archive', 'archive');
  expect(whole).toEqual({ code: 0, stdout: before, stderr: '' });

  const partOf = linesOf((await replay('archive')).stdout);
  expect(partOf).toMatchObject([{ worker: 'w1', attempt: 'a-w1' }]);
  await stage.folder.write('empty/none.jsonl', '');
  const lacking = await replay('--fleet', 'main', '--nats', stage.server.url, '--archive', 'empty');
  expect(lacking.stderr).toContain("'empty' ends at entry 0");
  const exported = await run('export');
  expect(exported.stderr).toContain(`the log of fleet main begins at entry ${await firstSeq()}`);
});

test('without an archive, the part of a trimmed log after a snapshot can still be replayed', async () => {
  await stage.client.publish('own.fleet.main.policy.set', { policies: { default: { checks: [{ plan: {} }] } } });
  await work('w1');
  await run('snapshot');
  await stage.client.publish('worker.w2.plan.updated', { steps: [{ title: 'Write tests', status: 'pending' }] });
  await run('snapshot');
  stage.replica.setRetention({ forMs: 0, bytesMax: null, archive: null });
  const firstSeq = async () => (await stage.client.manager.streams.info('STOPGATE_main')).state.first_seq;
  await expect.poll(firstSeq).toBeGreaterThan(1);
  await work('w2');

  // The fold from the snapshot gives the decision of the service, though policy and plan were set before the trim.
  const explained = await run('explain', 'w2', '--json');
  expect(explained).toMatchObject({ code: 0, stderr: '' });
  expect(linesOf(explained.stdout)).toMatchObject([{ decision: { decision: 'block', cause: 'incomplete' } }]);
  const view = await replay('--fleet', 'main', '--nats', stage.server.url, '--at', '0s');
  expect(linesOf(view.stdout)).toMatchObject([{ fleets: { main: { workers: { w2: { state: 'blocked' } } } } }]);
  const exported = (await run('export')).stdout;
  const at = linesOf(exported).find(({ subject }) => subject === 'stopgate.main.worker.w2.stop.attempted')?.at;
  await stage.folder.write('none.yaml', 'policies: { default: {} }\n');
  const difference = ['--policy', 'none.yaml', '--diff', '--since', String(at), '--json'];
  const differs = await replay('--fleet', 'main', '--nats', stage.server.url, ...difference);
  expect(linesOf(differs.stdout)).toMatchObject([{ worker: 'w2', before: { cause: 'incomplete' } }]);

  // A time before the snapshot is refused, and the message says how far back the log goes.
  const tooEarly = ['--fleet', 'main', '--nats', stage.server.url, '--at', '2020-01-01'];
  for (const refused of [await replay(...tooEarly), await replay('--fleet', 'main', '--nats', stage.server.url)])
    expect(refused).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining('reach back to 2') });
  expect(await run('explain', 'w1')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('retention has removed'),
  });

  // A file has no snapshot, so a warning says that the results may be wrong.
  await stage.folder.write('late.jsonl', exported);
  const late = await replay('late.jsonl');
  expect(late.code).toBe(0);
  expect(late.stderr).toBe(
    `stopgate: the log of fleet main begins at entry ${await firstSeq()} here. The state before it, including policies, is unknown, so decisions may differ from those of the service\n`,
  );
});
