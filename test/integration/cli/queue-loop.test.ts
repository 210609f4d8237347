/** `stopgate loop --queue`: a worker claims tasks, works, stops, waits, and continues at the end of a usage limit. */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Replica } from '../../../src/app/replica.ts';
import { type Client, openClient } from '../../support/client.ts';
import { runCommand } from '../../support/command.ts';
import { type Folder, makeFolder } from '../../support/deployment.ts';
import type { NatsServer } from '../../support/nats-server.ts';
import { startReplica } from '../../support/replica.ts';
import { openNats } from '../../support/shared-server.ts';

let server: NatsServer;
let client: Client;
let folder: Folder;
let replica: Replica | null = null;

beforeEach(async () => {
  server = await openNats();
  client = await openClient(server.url);
  folder = await makeFolder();
});
afterEach(async () => {
  await replica?.close();
  await client.close();
  await server.stop();
  await folder.remove();
});

const start = async (policy: object) => {
  replica = await startReplica({ nats: server.url, policies: { policies: { default: policy } } });
};
const line = (script: string, ...options: string[]) => [
  'loop',
  '--worker',
  'w1',
  '--queue',
  'build',
  '--pause',
  '0',
  ...options,
  '--nats',
  server.url,
  '--',
  'sh',
  '-c',
  script,
];
const run = (script: string, ...options: string[]) => runCommand(line(script, ...options), { cwd: folder.path });
const file = (name: string) => readFile(join(folder.path, name), 'utf8');
const create = (task: string, data: object) => client.publish(`task.${task}.task.created`, { queue: 'build', ...data });
const stateOf = async (task: string) => (await client.ask(`get.task.${task}`)).body;

test('all waiting tasks are done, by priority, and the prompt names the task', async () => {
  await start({});
  await create('T-1', { title: 'Fix login', plan: [{ title: 'Write tests', status: 'done' }] });
  await create('T-2', { title: 'Write docs', priority: 5 });
  const { code, stdout, stderr } = await run(
    'echo "$STOPGATE_TASK"; cat >"in-$STOPGATE_TASK"',
    '--prompt',
    'Be brief.',
  );
  expect(stdout).toBe('T-2\nT-1\n');
  expect(await file('in-T-1')).toBe('Task T-1: Fix login\n\nSteps:\n- Write tests (done)\n\nBe brief.');
  expect(await file('in-T-2')).toBe('Task T-2: Write docs\n\nBe brief.');
  expect(await stateOf('T-1')).toMatchObject({ state: 'stopped', outcome: 'completed', judged: { worker: 'w1' } });
  expect(stderr).toContain('stopgate: w1 without a task: allow');
  expect(code).toBe(0);
});

test('with persistence, it waits for a task until the idle timeout', async () => {
  await start({ persistence: { idle: '2s' } });
  await create('T-1', { title: 'First' });
  const loop = run('echo "did $STOPGATE_TASK"');
  await expect.poll(() => stateOf('T-1')).toMatchObject({ outcome: 'completed' });
  await expect.poll(async () => (await client.ask('get.worker.w1')).body.state).toBe('validating');
  await create('T-2', { title: 'Second' });
  const { code, stdout, stderr } = await loop;
  expect(stdout).toBe('did T-1\ndid T-2\n');
  expect(stderr).toContain('1 task waits in queue build: T-2 Second');
  expect(stderr).toMatch(/without a task: allow · complete · idle-timeout/);
  expect(code).toBe(0);
});

test('a usage limit pauses it; it continues with its task when the limit is over', async () => {
  await start({});
  await create('T-1', {});
  const until = new Date(Date.now() + 2_000).toISOString();
  await client.publish('worker.w1.limit.reached', { until });
  const { code, stdout, stderr } = await run('echo "did $STOPGATE_TASK"');
  expect(stdout).toBe('did T-1\ndid T-1\n');
  expect(stderr).toContain('allow · continue · limited');
  expect(await stateOf('T-1')).toMatchObject({ outcome: 'completed' });
  expect(code).toBe(0);
});

test('a task that is escalated is left to a person, and the next one is started: exit code 1', async () => {
  await start({ promises: true });
  await create('T-1', { priority: 1 });
  await create('T-2', {});
  const script = '[ "$STOPGATE_TASK" = T-1 ] && echo "<promise>ESCALATE</promise>"; true';
  const { code, stderr } = await run(script);
  expect(await stateOf('T-1')).toMatchObject({ state: 'escalated' });
  expect(await stateOf('T-2')).toMatchObject({ outcome: 'completed' });
  expect(stderr).toContain('stopgate: w1 leaves T-1 to a person; "npx stopgate escalations" lists it\n');
  expect(code).toBe(1);
});

test('a task that ends at the cap is left to a person, even if later tasks are completed: exit code 1', async () => {
  await start({ retries: 1, checks: [{ plan: {} }] });
  await create('T-1', { priority: 1, plan: [{ title: 'Write tests', status: 'pending' }] });
  await create('T-2', {});
  const { code, stderr } = await run('true');
  expect(stderr).toContain('allow · complete · capped');
  expect(stderr).toContain('stopgate: w1 leaves T-1 to a person');
  const { body } = await client.ask('list.escalations');
  expect(body).toMatchObject({ items: [{ entity: 'task', id: 'T-1' }] });
  expect(await stateOf('T-2')).toMatchObject({ outcome: 'completed' });
  expect(stderr).toContain('stopgate: w1 without a task: allow');
  expect(code).toBe(1);
});

test('the prompt lists the steps with their current ids and states', async () => {
  await start({ retries: null, checks: [{ plan: {} }] });
  await create('T-1', {
    plan: [
      { title: 'Write tests', status: 'pending', step: 's' },
      { title: 'Write docs', status: 'pending', step: 'docs' },
    ],
  });
  // The worker's own step has that id, so the step of the task becomes T-1/s (protocol.md §3).
  await client.publish('worker.w1.step.updated', { step: 's', status: 'done' });
  const report = (step: string) =>
    client
      .publish('worker.w1.step.updated', { step, status: 'done' })
      .then(() => writeFile(join(folder.path, step.replace('/', '-')), ''));
  const loop = run(
    'cat >"in-$STOPGATE_TURN"; : >began; while [ ! -e docs ]; do sleep 0.02; done; [ $STOPGATE_TURN = 1 ] || while [ ! -e T-1-s ]; do sleep 0.02; done',
    '--prompt',
    'Be brief.',
  );
  await expect.poll(() => file('began').catch(() => null)).toBe('');
  await report('docs');
  await expect.poll(() => file('in-2').catch(() => '')).toContain('Be brief.');
  await report('T-1/s');
  expect((await loop).code).toBe(0);
  expect(await file('in-1')).toBe(
    'Task T-1\n\nSteps:\n- Write tests (pending; step id T-1/s)\n- Write docs (pending; step id docs)\n\nBe brief.',
  );
  expect(await file('in-2')).toContain('- Write docs (done; step id docs)\n');
});

test('an unfinished task is released to the queue when the loop ends: exit code 1', async () => {
  await start({ retries: null, checks: [{ plan: {} }] });
  await create('T-1', { plan: [{ title: 'Write tests', status: 'pending' }] });
  const { code, stderr } = await run('true', '--turns', '2');
  expect(stderr).toContain('has used its 2 turns');
  expect(await stateOf('T-1')).toMatchObject({ state: 'idle', worker: null });
  expect(code).toBe(1);
});

test('--task and --queue cannot be used together', async () => {
  expect(await run('true', '--task', 'T-1')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('--task and --queue cannot be used together'),
  });
});
