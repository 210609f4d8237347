/** A worker lets go of a task that it has not finished. */
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
    ...{ task: 'T-1', state: 'escalated', worker: null, escalation: { reason: expect.stringContaining('no key') } },
  });
});

test('a released task is free again', async () => {
  const worker = scene.client.worker('w2');
  await worker.publish('task.claimed', { task: 'T-2' });
  expect(await worker.releaseTask('T-2')).toMatchObject({ task: 'T-2', state: 'idle', worker: null });
  await expect(worker.releaseTask('T-2')).rejects.toMatchObject({ code: 'entry.refused' });
  await expect(scene.client.failTask('nobody', 'T-2')).rejects.toMatchObject({ code: 'actor.unknown' });
});
