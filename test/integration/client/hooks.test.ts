/** Hooks in code and the presets of seed 001: the seed's own examples, evaluated by a stop. */
import { describe, expect, test } from 'vitest';
import { type AgentContext, TaskCompletionResult } from '../../../src/client/index.ts';
import {
  checkpointCreation,
  customLogic,
  securityRemediation,
  tddLoop,
} from '../../seeds/001-stop-hook-system/hook-examples.ts';
import { useHookScene } from './hook-scene.ts';

const hooks = useHookScene();
const passed = (...rules: string[]) => ({ validation: rules.map((rule) => ({ rule, passed: true })) });

describe("the seed's custom hooks", () => {
  test('the example of registerStopHook', async () => {
    const { registerStopHook } = hooks.client;
    const { taskId, stop, iterate, worker } = await hooks.startTask();
    const hookId = await registerStopHook({ taskId }, customLogic);
    expect(hookId).toMatch(/^HOOK-/);
    expect(await stop()).toMatchObject({ decision: 'block', reason: 'No files modified yet' });
    await iterate(11);
    expect(await stop()).toMatchObject({
      decision: 'allow',
      action: 'escalate',
      cause: 'escalated',
      reason: 'Too many iterations - may need different approach',
    });
    await worker.publish('prompt.submitted');
    await worker.publish('task.claimed', { task: taskId });
    await iterate(2);
    expect(await stop({ files: ['src/auth.ts'] })).toMatchObject({ decision: 'allow', cause: 'complete' });
  });

  test('TDD loop', async () => {
    const { taskId, stop } = await hooks.startTask();
    await hooks.client.registerStopHook({ taskId }, tddLoop);
    expect(await stop()).toMatchObject({
      decision: 'block',
      reason: 'Tests still failing',
      nextPrompt: 'Fix failing tests and run again',
    });
    expect(await stop(passed('tests_pass'))).toMatchObject({ decision: 'allow', cause: 'complete' });
  });

  test('security remediation', async () => {
    const { taskId, stop, iterate } = await hooks.startTask();
    await hooks.client.registerStopHook({ taskId }, securityRemediation);
    expect(await stop(passed('vulns_fixed'))).toMatchObject({ decision: 'block', reason: 'Vulnerabilities remain' });
    await iterate(10);
    expect(await stop(passed('vulns_fixed'))).toMatchObject({
      action: 'escalate',
      reason: expect.stringContaining('may require manual review'),
    });
  });

  test('checkpoint creation', async () => {
    const { taskId, stop, iterate } = await hooks.startTask(4);
    await hooks.client.registerStopHook({ taskId }, checkpointCreation);
    expect(await stop()).toMatchObject({ decision: 'block', reason: 'Iteration in progress' });
    expect((await hooks.client.getTask(taskId)).checkpoints).toEqual([]);
    await iterate(5);
    expect(await stop()).toMatchObject({ decision: 'block', reason: 'Halfway checkpoint' });
    expect((await hooks.client.getTask(taskId)).checkpoints).toHaveLength(1);
  });

  test('a hook gets its task and iteration', async () => {
    const { taskId, stop } = await hooks.startTask(3);
    await hooks.client.publish('task', taskId, 'checkpoint.saved', { checkpoint: 'c1', phase: 'testing' });
    const seen: AgentContext[] = [];
    await hooks.client.registerStopHook({ taskId, hookId: 'looker' }, async (context) => {
      seen.push(context);
      return TaskCompletionResult.ok();
    });
    await stop();
    expect(seen).toMatchObject([{ taskId, iteration: 3, executionPhase: 'testing' }]);
  });

  test('with several held tasks, the one that it was registered on', async () => {
    const { taskId: first, worker, stop } = await hooks.startTask(3);
    const second = `${first}-next`;
    await hooks.client.publish('task', second, 'iteration.started', { iteration: 8, maxIterations: 20 });
    await worker.publish('task.claimed', { task: second });
    const seen: AgentContext[] = [];
    for (const taskId of [first, second])
      await hooks.client.registerStopHook({ taskId }, async (context) => {
        seen.push(context);
        return TaskCompletionResult.ok();
      });
    expect(await stop()).toMatchObject({ cause: 'complete', tasks: [first, second] });
    expect(seen).toMatchObject([
      { taskId: first, iteration: 3 },
      { taskId: second, iteration: 8 },
    ]);
  });
});

describe('a hook that throws', () => {
  test("escalates with the seed's message", async () => {
    const { taskId, stop } = await hooks.startTask();
    await hooks.client.registerStopHook({ taskId }, async () => {
      throw new Error('database is away');
    });
    expect(await stop()).toMatchObject({
      decision: 'allow',
      action: 'escalate',
      cause: 'escalated',
      reason: 'Hook evaluation failed: database is away',
    });
  });

  test('is skipped if it was registered with onError skip', async () => {
    const { taskId, stop } = await hooks.startTask();
    await hooks.client.registerStopHook({ taskId, onError: 'skip' }, () => {
      throw new Error('database is away');
    });
    expect(await stop()).toMatchObject({ decision: 'allow', action: 'continue', cause: 'unjudged' });
  });
});

describe('presets', () => {
  test('the default hook: promises, then validation', async () => {
    const { createDefaultHook } = hooks.client;
    const { taskId, stop } = await hooks.startTask();
    expect(await createDefaultHook(taskId)).toMatch(/^HOOK-/);
    expect((await stop()).reason).toBe('Iteration in progress');
    expect((await stop({ validation: [{ rule: 'lint', passed: false }] })).reason).toBe('Failed rules: lint');
    expect(await stop({ output: '<promise>COMPLETE</promise>' })).toMatchObject({ cause: 'complete' });
  });

  test.each([
    ['createValidationHook', 'validation', 'No validation results'],
    ['createPromiseHook', 'promise', 'No completion promise detected'],
    ['createTddHook', 'tdd', 'Tests still failing'],
    ['createSecurityHook', 'security', 'Vulnerabilities remain'],
    ['createCheckpointHook', 'checkpoint', 'Iteration in progress'],
  ] as const)('%s', async (create, type, reason) => {
    const { taskId, stop } = await hooks.startTask();
    const hookId = await hooks.client[create](taskId);
    expect((await hooks.client.listHooks(taskId)).hooks).toEqual([{ id: hookId, enabled: true, metadata: { type } }]);
    expect(await stop()).toMatchObject({ decision: 'block', reason });
  });

  test('groups of hooks, by registerHook, with the output of hook_register', async () => {
    const { taskId, stop } = await hooks.startTask();
    const registered = await hooks.client.registerHook({
      taskId,
      hookId: 'group',
      hookType: 'any',
      of: [{ type: 'promise' }, { type: 'tdd' }],
      metadata: { description: 'either' },
    });
    expect(registered).toEqual({
      hookId: 'group',
      taskId,
      hookType: 'any',
      enabled: true,
      metadata: { description: 'either' },
    });
    expect((await stop()).reason).toBe('No completion promise detected; or Tests still failing');
    await expect(hooks.client.registerHook({ taskId, hookType: 'all' })).rejects.toThrow('needs "of"');
  });
});

describe('enabling, disabling, clearing', () => {
  test('a disabled hook is passed over until it is enabled', async () => {
    const { taskId, stop } = await hooks.startTask();
    const hookId = await hooks.client.createTddHook(taskId);
    expect(await hooks.client.disableHook(taskId, hookId)).toEqual({ taskId, hookId, enabled: false });
    expect(await hooks.client.enableHook(taskId, hookId)).toEqual({ taskId, hookId, enabled: true });
    expect((await stop()).decision).toBe('block');
    await expect(hooks.client.disableHook(taskId, 'unknown')).rejects.toMatchObject({ code: 'entry.refused' });
    await expect(hooks.client.disableHook('unknown', hookId)).rejects.toMatchObject({ code: 'actor.unknown' });
  });

  test('clearHooks returns how many there were, 0 for a task without hooks', async () => {
    const { taskId, stop } = await hooks.startTask();
    await hooks.client.createTddHook(taskId);
    await hooks.client.registerStopHook({ taskId, hookId: 'mine' }, () => ({ action: 'continue', reason: 'no' }));
    const [, entry] = await hooks.plain.stored('STOPGATE_main', `stopgate.main.task.${taskId}.hook.registered`);
    expect(await hooks.client.clearHooks(taskId)).toEqual({ taskId, hooksCleared: 2 });
    expect(await hooks.client.listHooks(taskId)).toEqual({ taskId, hookCount: 0, hooks: [] });
    expect(await hooks.client.clearHooks(taskId)).toEqual({ taskId, hooksCleared: 0 });
    expect(await hooks.client.clearHooks('nobody')).toEqual({ taskId: 'nobody', hooksCleared: 0 });
    expect((await stop()).decision).toBe('allow');
    const nobody = hooks.plain.nc.request(`stopgate.main.check.${entry?.name}`, '{}', { timeout: 5_000 });
    await expect(nobody).rejects.toThrow('no responders');
  });

  test('unregisterStopHook removes the hook from the task, so that it can be registered again, and stops serving', async () => {
    const { taskId, stop } = await hooks.startTask();
    const hookId = await hooks.client.registerStopHook({ taskId }, () => ({ action: 'continue', reason: 'no' }));
    expect((await stop()).reason).toBe('no');
    expect(await hooks.client.unregisterStopHook(taskId, hookId)).toEqual({ taskId, hookId, enabled: false });
    expect((await hooks.client.listHooks(taskId)).hooks).toEqual([]);
    await expect(hooks.client.unregisterHook(taskId, hookId)).rejects.toMatchObject({ code: 'entry.refused' });
    await hooks.client.createTddHook(taskId, { hookId });
    await hooks.client.unregisterHook(taskId, hookId);
    expect((await stop()).decision).toBe('allow');
  });
});
