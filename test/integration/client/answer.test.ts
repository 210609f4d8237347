/** An operator's program answers the requests of agents. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openScene, type Scene } from './scene.ts';

let scene: Scene;
beforeAll(async () => {
  scene = await openScene();
});
afterAll(() => scene.close());

test('the answer ends the wait, and names its author', async () => {
  const { client } = scene;
  const worker = client.worker('w1');
  await worker.publish('input.requested', { kind: 'permission', tool: 'Bash', request: 'r1' });
  const view = await client.answer('w1', { by: 'ann', verdict: 'deny', message: 'Not on main' });
  expect(view).toMatchObject({
    awaitsInput: false,
    inputs: [],
    lastAnswer: { request: 'r1', by: 'ann', verdict: 'deny', message: 'Not on main' },
  });
});

test('names one of several requests; a second answer is refused, also at the same time', async () => {
  const { client } = scene;
  for (const request of ['r1', 'r2'])
    await client.worker('w2').publish('input.requested', { kind: 'permission', request });
  const allow = (by: string, request?: string) =>
    client.answer('w2', { by, verdict: 'allow', ...(request === undefined ? {} : { request }) });
  await expect(allow('ann')).rejects.toMatchObject({
    code: 'entry.refused',
    message: expect.stringContaining('r1, r2'),
  });
  const both = await Promise.allSettled([allow('ann', 'r1'), allow('bob', 'r1')]);
  expect(both.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
  await expect(allow('cleo', 'r1')).rejects.toMatchObject({ code: 'entry.refused' });
  await expect(client.answer('nobody', { by: 'ann', verdict: 'allow' })).rejects.toMatchObject({
    code: 'actor.unknown',
  });
});
