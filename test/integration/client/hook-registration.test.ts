/** Registering a function as a hook: its entry, its id, and a second process that serves it. */
import { expect, test } from 'vitest';
import { TaskCompletionResult } from '../../../src/client/index.ts';
import { useHookScene } from './hook-scene.ts';

const hooks = useHookScene();

test('a registered function is stored as an entry with all its options', async () => {
  const { taskId, stop } = await hooks.startTask();
  const options = { when: { iterationAtLeast: 2 }, enabled: false, metadata: { description: 'mine' } };
  const hookId = await hooks.client.registerStopHook({ taskId, hookId: 'mine', onError: 'skip', ...options }, () => {
    throw new Error('never called');
  });
  expect(hookId).toBe('mine');
  const [entry] = await hooks.plain.stored('STOPGATE_main', `stopgate.main.task.${taskId}.hook.registered`);
  expect(entry).toEqual({
    hook: 'mine',
    type: 'remote',
    onError: 'skip',
    ...options,
    name: expect.stringMatching(/^mine-[0-9a-f]{16}$/),
  });
  expect(await hooks.client.listHooks(taskId)).toEqual({
    taskId,
    hookCount: 1,
    hooks: [{ id: 'mine', enabled: false, metadata: { description: 'mine', type: 'custom' } }],
  });
  expect(await stop()).toMatchObject({ decision: 'allow', cause: 'no-policy' });
});

test('another process that registers the same hook serves it from then on', async () => {
  const { taskId, worker, stop } = await hooks.startTask();
  const first = await hooks.scene.connect();
  const registration = { taskId, hookId: 'resumed' };
  await first.registerStopHook(registration, () => ({ action: 'continue', reason: 'from the first' }));
  expect((await stop()).reason).toBe('from the first');
  await first.close();
  expect(await stop()).toMatchObject({
    action: 'escalate',
    reason: expect.stringMatching(/^Hook evaluation failed: nobody serves /),
  });
  await worker.publish('prompt.submitted');
  await worker.publish('task.claimed', { task: taskId });
  await hooks.client.registerStopHook(registration, () => ({ action: 'continue', reason: 'from the second' }));
  expect((await stop()).reason).toBe('from the second');
  expect(await hooks.client.listHooks(taskId)).toMatchObject({ hookCount: 1 });
  expect((await hooks.client.getTask(taskId)).refused).toEqual([]);
});

test('the id of a hook of another type is refused, and nothing is served', async () => {
  const { taskId, stop } = await hooks.startTask();
  await hooks.client.createTddHook(taskId, { hookId: 'taken' });
  const twice = hooks.client.registerStopHook({ taskId, hookId: 'taken' }, () => TaskCompletionResult.ok());
  await expect(twice).rejects.toMatchObject({ code: 'entry.refused', message: expect.stringContaining('taken') });
  expect((await stop()).reason).toBe('Tests still failing');
  await expect(hooks.client.registerStopHook({ taskId: 'T 1' }, () => TaskCompletionResult.ok())).rejects.toMatchObject(
    {
      code: 'input.bad',
    },
  );
});

test('the same hook id on two tasks is two hooks', async () => {
  const [one, other] = [await hooks.startTask(), await hooks.startTask()];
  const reply = (reason: string) => () => ({ action: 'continue' as const, reason });
  await hooks.client.registerStopHook({ taskId: one.taskId, hookId: 'same' }, reply('of the one'));
  await hooks.client.registerStopHook({ taskId: other.taskId, hookId: 'same' }, reply('of the other'));
  expect([(await one.stop()).reason, (await other.stop()).reason]).toEqual(['of the one', 'of the other']);
});
