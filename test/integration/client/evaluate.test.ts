/** evaluate: hooks in code run for an iteration, with the results of seed 001's hook_evaluate. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Client } from '../../../src/client/index.ts';
import { openScene, type Scene } from './scene.ts';

let scene: Scene;
let client: Client;

beforeAll(async () => {
  scene = await openScene();
  ({ client } = scene);
});
afterAll(() => scene.close());

const start = (taskId: string, iteration = 1) =>
  client.publish('task', taskId, 'iteration.started', { iteration, maxIterations: 20 });

test('the loop of the seed: register, validate, next, complete, clear', async () => {
  const taskId = 'TASK-abc123';
  await start(taskId);
  const hookId = await client.registerStopHook({ taskId }, ({ filesModified, agentOutput }) =>
    filesModified.length === 0
      ? { action: 'continue', reason: 'No files modified yet', nextPrompt: 'Modify one' }
      : { action: 'complete', reason: `Said: ${agentOutput}`, metadata: { files: filesModified.length } },
  );
  const place = { fleet: 'main', attempt: null, hookId, taskId, checkpointCreated: false };
  expect(await client.evaluate(taskId, { iteration: 1 })).toEqual({
    ...place,
    iteration: 1,
    action: 'continue',
    reason: 'No files modified yet',
    nextPrompt: 'Modify one',
    metadata: {},
  });
  await client.publish('task', taskId, 'iteration.advanced');
  const output = { agentOutput: 'done', filesModified: ['src/auth.ts', 'tests/auth.test.ts'] };
  expect(
    await client.evaluate(taskId, { iteration: 2, output: output.agentOutput, files: output.filesModified }),
  ).toEqual({
    ...place,
    iteration: 2,
    action: 'complete',
    reason: 'Said: done',
    nextPrompt: null,
    metadata: { files: 2 },
  });
  await client.publish('task', taskId, 'iteration.completed', { iteration: 2, promise: 'COMPLETE' });
  expect(await client.clearHooks(taskId)).toEqual({ taskId, hooksCleared: 0 }); // the end of the loop has cleared them
});

test('a hook that throws escalates, with the error in its metadata', async () => {
  await start('E-1');
  await client.registerStopHook({ taskId: 'E-1' }, () => {
    throw new Error('database is away');
  });
  expect(await client.evaluate('E-1', { iteration: 1 })).toMatchObject({
    action: 'escalate',
    reason: 'Hook evaluation failed: database is away',
    metadata: { error: 'database is away' },
  });
});

test('the first result that is not continue decides, in the order of registration', async () => {
  await start('E-2');
  const called: string[] = [];
  for (const [hookId, action] of [
    ['h1', 'continue'],
    ['h2', 'escalate'],
    ['h3', 'complete'],
  ] as const) {
    await client.registerStopHook({ taskId: 'E-2', hookId }, () => {
      called.push(hookId);
      return { action, reason: hookId };
    });
  }
  expect(await client.evaluate('E-2', { iteration: 1 })).toMatchObject({ hookId: 'h2', action: 'escalate' });
  await client.disableHook('E-2', 'h2');
  expect(await client.evaluate('E-2', { iteration: 1 })).toMatchObject({ hookId: 'h3', action: 'complete' });
  expect(called).toEqual(['h1', 'h2', 'h1', 'h3']);
});

test('a checkpoint that a hook saves can be resumed', async () => {
  await start('E-3', 5);
  const checkpointData = {
    executionPhase: 'midpoint',
    executionStep: 5,
    agentContext: { milestone: 'halfway' },
  };
  await client.registerStopHook({ taskId: 'E-3' }, () => ({
    action: 'continue',
    reason: 'Halfway checkpoint',
    checkpointData,
  }));
  expect(await client.evaluate('E-3', { iteration: 5 })).toMatchObject({ checkpointCreated: true });
  const { checkpoint, checkpoints } = await client.getTask('E-3');
  expect(checkpoint?.context).toEqual(checkpointData.agentContext);
  expect(checkpoints).toHaveLength(1);
  await client.publish('task', 'E-3', 'checkpoint.saved', { checkpoint: 'later', phase: 'testing' });
  expect((await client.getTask('E-3')).checkpoint).toMatchObject({ checkpoint: 'later', phase: 'testing' });
  const named = { checkpoint: checkpoints[0]?.checkpoint ?? '' };
  expect((await client.getTask('E-3', named)).checkpoint?.context).toEqual(checkpointData.agentContext);
});

test('a task without hooks, and iterations that cannot be evaluated', async () => {
  await start('E-4');
  expect(await client.evaluate('E-4', { iteration: 1 })).toMatchObject({
    hookId: 'default',
    action: 'continue',
    reason: 'No hooks registered for this task',
  });
  await expect(client.evaluate('E-4', { iteration: 2 })).rejects.toMatchObject({ code: 'entry.refused' });
  await expect(client.evaluate('nobody', { iteration: 1 })).rejects.toMatchObject({ code: 'entry.refused' });
  await expect(client.evaluate('E-4', { iteration: 0 })).rejects.toMatchObject({ code: 'input.bad' });
});
