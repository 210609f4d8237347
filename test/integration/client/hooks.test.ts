/** Hooks in code, and the presets of seed 001: its own examples, asked by a stop. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  type AgentContext,
  type AttemptFields,
  type Client,
  type Decision,
  TaskCompletionResult,
} from '../../../src/client/index.ts';
import { openClient, type Client as PlainClient } from '../../support/client.ts';
import { openScene, type Scene } from './scene.ts';

let scene: Scene;
let client: Client;
let plain: PlainClient;

beforeAll(async () => {
  scene = await openScene({ free: { retries: null } });
  ({ client } = scene);
  plain = await openClient(scene.server.url);
});
afterAll(async () => {
  await plain.close();
  await scene.close();
});

let count = 0;
/** A worker that holds a task of its own, in an iteration. */
async function startTask(iteration = 1) {
  count += 1;
  const [taskId, worker] = [`TASK-${count}`, client.worker(`w${count}`)];
  await worker.publish('worker.registered', { policy: 'free' });
  await worker.publish('task.claimed', { task: taskId });
  const iterate = (number: number) =>
    client.publish('task', taskId, 'iteration.started', { iteration: number, maxIterations: 20 });
  await iterate(iteration);
  const stop = (attempt?: AttemptFields): Promise<Decision> => worker.decide(attempt);
  return { taskId, worker, stop, iterate };
}
const passed = (...rules: string[]) => ({ validation: rules.map((rule) => ({ rule, passed: true })) });

describe("the seed's custom hooks", () => {
  test('the example of registerStopHook', async () => {
    const { registerStopHook } = client;
    const { taskId, stop, iterate, worker } = await startTask();
    const hookId = await registerStopHook({ taskId }, (context) => {
      // Custom decision logic
      if (context.iteration > 10) {
        return {
          action: 'escalate',
          reason: 'Too many iterations - may need different approach',
        };
      }

      if (context.filesModified.length === 0) {
        return {
          action: 'continue',
          reason: 'No files modified yet',
        };
      }

      return {
        action: 'complete',
        reason: 'Custom completion criteria met',
      };
    });
    expect(hookId).toMatch(/^HOOK-/);
    expect(await stop()).toMatchObject({ decision: 'block', reason: 'No files modified yet' });
    await iterate(11);
    expect(await stop()).toMatchObject({
      ...{ decision: 'allow', action: 'escalate', cause: 'escalated' },
      reason: 'Too many iterations - may need different approach',
    });
    await worker.publish('prompt.submitted');
    await worker.publish('task.claimed', { task: taskId });
    await iterate(2);
    expect(await stop({ files: ['src/auth.ts'] })).toMatchObject({ decision: 'allow', cause: 'complete' });
  });

  test('TDD loop', async () => {
    const { taskId, stop } = await startTask();
    await client.registerStopHook({ taskId }, (context) => {
      // Check if tests pass
      const testsPass = context.validationResults.find((r) => r.ruleName === 'tests_pass')?.passed;

      if (testsPass) {
        return {
          action: 'complete',
          reason: 'All tests pass',
        };
      }

      return {
        action: 'continue',
        reason: 'Tests still failing',
        nextPrompt: 'Fix failing tests and run again',
      };
    });
    expect(await stop()).toMatchObject({
      ...{ decision: 'block', reason: 'Tests still failing', nextPrompt: 'Fix failing tests and run again' },
    });
    expect(await stop(passed('tests_pass'))).toMatchObject({ decision: 'allow', cause: 'complete' });
  });

  test('security remediation', async () => {
    const { taskId, stop, iterate } = await startTask();
    await client.registerStopHook({ taskId }, (context) => {
      const vulnsFixed = context.validationResults.find((r) => r.ruleName === 'vulns_fixed')?.passed;

      const scanClean = context.validationResults.find((r) => r.ruleName === 'sast_clean')?.passed;

      if (vulnsFixed && scanClean) {
        return {
          action: 'complete',
          reason: 'All vulnerabilities remediated',
        };
      }

      if (context.iteration >= 10) {
        return {
          action: 'escalate',
          reason: 'Max iterations reached - complex vulnerabilities may require manual review',
        };
      }

      return {
        action: 'continue',
        reason: 'Vulnerabilities remain',
      };
    });
    expect(await stop(passed('vulns_fixed'))).toMatchObject({ decision: 'block', reason: 'Vulnerabilities remain' });
    await iterate(10);
    expect(await stop(passed('vulns_fixed'))).toMatchObject({
      ...{ action: 'escalate', reason: expect.stringContaining('may require manual review') },
    });
  });

  test('checkpoint creation', async () => {
    const { taskId, stop, iterate } = await startTask(4);
    await client.registerStopHook({ taskId }, (context) => {
      // Create checkpoint before risky operation
      if (context.iteration === 5) {
        return {
          action: 'continue',
          reason: 'Halfway checkpoint',
          checkpointData: {
            executionPhase: 'midpoint',
            executionStep: context.iteration,
            agentContext: {
              milestone: 'halfway',
            },
          },
        };
      }

      return {
        action: 'continue',
        reason: 'Iteration in progress',
      };
    });
    expect(await stop()).toMatchObject({ decision: 'block', reason: 'Iteration in progress' });
    expect((await client.getTask(taskId)).checkpoints).toEqual([]);
    await iterate(5);
    expect(await stop()).toMatchObject({ decision: 'block', reason: 'Halfway checkpoint' });
    expect((await client.getTask(taskId)).checkpoints).toHaveLength(1);
  });

  test('a hook is told of its task and iteration', async () => {
    const { taskId, stop } = await startTask(3);
    await client.publish('task', taskId, 'checkpoint.saved', { checkpoint: 'c1', phase: 'testing' });
    const seen: AgentContext[] = [];
    await client.registerStopHook({ taskId, hookId: 'looker' }, async (context) => {
      seen.push(context);
      return TaskCompletionResult.ok();
    });
    await stop();
    expect(seen).toMatchObject([{ taskId, iteration: 3, executionPhase: 'testing' }]);
  });
});

describe('registering', () => {
  test('is stored as an entry, with all that was ordered', async () => {
    const { taskId, stop } = await startTask();
    const order = { when: { iterationAtLeast: 2 }, enabled: false, metadata: { description: 'mine' } };
    const hookId = await client.registerStopHook({ taskId, hookId: 'mine', onError: 'skip', ...order }, () => {
      throw new Error('never asked');
    });
    expect(hookId).toBe('mine');
    const [entry] = await plain.stored('STOPGATE_main', `stopgate.main.task.${taskId}.hook.registered`);
    expect(entry).toEqual({
      ...{ hook: 'mine', type: 'remote', onError: 'skip', ...order },
      name: expect.stringMatching(/^mine-[0-9a-f]{16}$/),
    });
    expect(await client.listHooks(taskId)).toEqual({
      ...{ taskId, hookCount: 1, hooks: [{ id: 'mine', enabled: false, metadata: { type: 'remote' } }] },
    });
    expect(await stop()).toMatchObject({ decision: 'allow', cause: 'no-policy' });
  });

  test('again by another process takes the hook up, and each answers', async () => {
    const { taskId, stop } = await startTask();
    const first = await scene.connect();
    const order = { taskId, hookId: 'resumed' };
    await first.registerStopHook(order, () => ({ action: 'continue', reason: 'from the first' }));
    expect((await stop()).reason).toBe('from the first');
    await first.close();
    expect(await stop()).toMatchObject({
      ...{ action: 'escalate', reason: expect.stringMatching(/^Hook evaluation failed: nobody serves /) },
    });
    await client.worker(`w${count}`).publish('prompt.submitted');
    await client.worker(`w${count}`).publish('task.claimed', { task: taskId });
    await client.registerStopHook(order, () => ({ action: 'continue', reason: 'from the second' }));
    expect((await stop()).reason).toBe('from the second');
    expect(await client.listHooks(taskId)).toMatchObject({ hookCount: 1 });
    expect((await client.getTask(taskId)).refused).toEqual([]);
  });

  test('an id that another kind of hook has is refused, and nothing is served', async () => {
    const { taskId, stop } = await startTask();
    await client.createTddHook(taskId, { hookId: 'taken' });
    const twice = client.registerStopHook({ taskId, hookId: 'taken' }, () => TaskCompletionResult.ok());
    await expect(twice).rejects.toMatchObject({ code: 'entry.refused', message: expect.stringContaining('taken') });
    expect((await stop()).reason).toBe('Tests still failing');
    await expect(client.registerStopHook({ taskId: 'T 1' }, () => TaskCompletionResult.ok())).rejects.toMatchObject({
      code: 'input.bad',
    });
  });

  test('the same hook id on two tasks is two hooks', async () => {
    const [one, other] = [await startTask(), await startTask()];
    const reply = (reason: string) => () => ({ action: 'continue' as const, reason });
    await client.registerStopHook({ taskId: one.taskId, hookId: 'same' }, reply('of the one'));
    await client.registerStopHook({ taskId: other.taskId, hookId: 'same' }, reply('of the other'));
    expect([(await one.stop()).reason, (await other.stop()).reason]).toEqual(['of the one', 'of the other']);
  });
});

describe('a hook that throws', () => {
  test("escalates in the seed's words", async () => {
    const { taskId, stop } = await startTask();
    await client.registerStopHook({ taskId }, async () => {
      throw new Error('database is away');
    });
    expect(await stop()).toMatchObject({
      ...{ decision: 'allow', action: 'escalate', cause: 'escalated' },
      reason: 'Hook evaluation failed: database is away',
    });
  });

  test('is passed over where it was registered so', async () => {
    const { taskId, stop } = await startTask();
    await client.registerStopHook({ taskId, onError: 'skip' }, () => {
      throw new Error('database is away');
    });
    expect(await stop()).toMatchObject({ decision: 'allow', action: 'complete', cause: 'complete' });
  });
});

describe('presets', () => {
  test('the default hook: promises, then validation', async () => {
    const { createDefaultHook } = client;
    const { taskId, stop } = await startTask();
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
    const { taskId, stop } = await startTask();
    const hookId = await client[create](taskId);
    expect((await client.listHooks(taskId)).hooks).toEqual([{ id: hookId, enabled: true, metadata: { type } }]);
    expect(await stop()).toMatchObject({ decision: 'block', reason });
  });

  test('groups of hooks, by registerHook, with the output of hook_register', async () => {
    const { taskId, stop } = await startTask();
    const registered = await client.registerHook({
      ...{ taskId, hookId: 'group', hookType: 'any', of: [{ type: 'promise' }, { type: 'tdd' }] },
      metadata: { description: 'either' },
    });
    expect(registered).toEqual({
      ...{ hookId: 'group', taskId, hookType: 'any', enabled: true, metadata: { description: 'either' } },
    });
    expect((await stop()).reason).toBe('No completion promise detected; or Tests still failing');
    await expect(client.registerHook({ taskId, hookType: 'all' })).rejects.toThrow('needs "of"');
  });
});

describe('enabling, disabling, clearing', () => {
  test('a disabled hook is passed over until it is enabled', async () => {
    const { taskId, stop } = await startTask();
    const hookId = await client.createTddHook(taskId);
    expect(await client.disableHook(taskId, hookId)).toEqual({ taskId, hookId, enabled: false });
    expect(await client.enableHook(taskId, hookId)).toEqual({ taskId, hookId, enabled: true });
    expect((await stop()).decision).toBe('block');
    await expect(client.disableHook(taskId, 'unknown')).rejects.toMatchObject({ code: 'entry.refused' });
    await expect(client.disableHook('unknown', hookId)).rejects.toMatchObject({ code: 'actor.unknown' });
  });

  test('hook_clear says how many, and a task without hooks has none', async () => {
    const { taskId, stop } = await startTask();
    await client.createTddHook(taskId);
    await client.registerStopHook({ taskId, hookId: 'mine' }, () => ({ action: 'continue', reason: 'no' }));
    const [, entry] = await plain.stored('STOPGATE_main', `stopgate.main.task.${taskId}.hook.registered`);
    expect(await client.clearHooks(taskId)).toEqual({ taskId, hooksCleared: 2 });
    expect(await client.listHooks(taskId)).toEqual({ taskId, hookCount: 0, hooks: [] });
    expect(await client.clearHooks(taskId)).toEqual({ taskId, hooksCleared: 0 });
    expect(await client.clearHooks('nobody')).toEqual({ taskId: 'nobody', hooksCleared: 0 });
    expect((await stop()).decision).toBe('allow');
    const nobody = plain.nc.request(`stopgate.main.check.${entry?.name}`, '{}', { timeout: 5_000 });
    await expect(nobody).rejects.toThrow('no responders');
  });

  test('unregisterStopHook disables it and stops serving', async () => {
    const { taskId, stop } = await startTask();
    const hookId = await client.registerStopHook({ taskId }, () => ({ action: 'continue', reason: 'no' }));
    expect((await stop()).reason).toBe('no');
    expect(await client.unregisterStopHook(taskId, hookId)).toEqual({ taskId, hookId, enabled: false });
    expect((await stop()).decision).toBe('allow');
  });
});
