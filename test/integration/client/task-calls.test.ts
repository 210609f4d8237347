/** Calls about a task: fail, release, verify and claim. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openScene, type Scene } from './scene.ts';

let scene: Scene;
beforeAll(async () => {
  scene = await openScene();
});
afterAll(() => scene.close());

test('a failed task is escalated with its reason', async () => {
  const worker = scene.client.worker('w1');
  await worker.publish('task.claimed', { task: 'T-1' });
  expect(await worker.failTask('T-1', 'no key')).toMatchObject({
    task: 'T-1',
    state: 'escalated',
    worker: null,
    escalation: { reason: expect.stringContaining('no key') },
  });
});

test('a released task is free again', async () => {
  const worker = scene.client.worker('w2');
  await worker.publish('task.claimed', { task: 'T-2' });
  expect(await worker.releaseTask('T-2')).toMatchObject({ task: 'T-2', state: 'idle', worker: null });
  await expect(worker.releaseTask('T-2')).rejects.toMatchObject({ code: 'entry.refused' });
  await expect(scene.client.failTask('nobody', 'T-2')).rejects.toMatchObject({ code: 'actor.unknown' });
});

test('a task is complete if it was judged complete, not if only its worker says so', async () => {
  const { client } = scene;
  const worker = client.worker('w3');
  for (const task of ['T-3', 'T-4']) await worker.publish('task.claimed', { task });
  await worker.publish('task.completed', { task: 'T-4' });
  const steps = [{ title: 'Write tests', status: 'pending' }];
  await worker.publish('plan.updated', { steps });
  expect(await client.verifyTask('T-4')).toMatchObject({ complete: false, said: true, decision: null });
  const held = await client.verifyTask('T-3');
  expect(held).toMatchObject({ said: false, decision: { tasks: ['T-3'], dryRun: true } });
  await worker.publish('plan.updated', { steps: [{ title: 'Write tests', status: 'done' }] });
  const decided = await worker.decide();
  expect(decided).toMatchObject({ decision: 'allow', task: 'T-3', tasks: ['T-3'] });
  expect(await client.verifyTask('T-3')).toMatchObject({
    complete: true,
    said: false,
    decision: { attempt: decided.attempt },
  });
  await expect(client.verifyTask('unknown')).rejects.toMatchObject({ code: 'actor.unknown' });
});

test('the next task is that of the highest priority, then the oldest', async () => {
  const { client } = scene;
  for (const [task, priority] of [
    ['N-1', 0],
    ['N-2', 3],
    ['N-3', 0],
  ] as const)
    await client.publish('task', task, 'task.created', { queue: 'next', title: `Do ${task}`, priority });
  expect(await client.getQueue('next')).toMatchObject({ next: [{ task: 'N-2' }, { task: 'N-1' }, { task: 'N-3' }] });
  const first = { task: 'N-2', worker: 'n1', state: 'working', title: 'Do N-2', priority: 3 };
  expect(await client.claimNext('n1', { queue: 'next', request: 'r1' })).toMatchObject(first);
  expect(await client.claimNext('n1', { queue: 'next', request: 'r1' })).toMatchObject(first);
  await client.publish('worker', 'n2', 'worker.registered', { queue: 'next' });
  const other = client.worker('n2');
  expect(await other.claimNext()).toMatchObject({ task: 'N-1', worker: 'n2' });
  expect(await other.claimNext()).toMatchObject({ task: 'N-3' });
  expect(await other.claimNext()).toBeNull();
  await other.publish('session.ended');
  await expect(other.claimNext()).rejects.toMatchObject({ code: 'entry.refused' });
});
