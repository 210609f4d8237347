/** Seed 001, Testing, Migration from Phase 1, and Future Enhancements. */
import { expect } from 'vitest';
import { createReplay } from '../../../machines/index.ts';
import { differs, holds, part } from '../rule.ts';
import { type HookForm, iterate, promises, rules } from './iteration.ts';

const testing = part(
  'Testing',
  holds('hook registration and retrieval', async ({ service, client }) => {
    const taskId = service.newId('T');
    const hookId = await client.createTddHook(taskId, { hookId: 'tests', enabled: false, metadata: { owner: 'me' } });
    expect(await client.listHooks(taskId)).toEqual({
      taskId,
      hookCount: 1,
      hooks: [{ id: hookId, enabled: false, metadata: { owner: 'me', type: 'tdd' } }],
    });
  }),
  holds('hook unregistration', async ({ service, client }) => {
    const task = await service.task([]);
    const hookId = await client.registerStopHook({ taskId: task.id }, () => ({ action: 'complete', reason: 'mine' }));
    expect((await task.evaluate()).reason).toBe('mine');
    const [entry] = await service.entries(`task.${task.id}.hook.registered`);
    await client.unregisterStopHook(task.id, hookId);
    expect(await task.evaluate()).toMatchObject({ hookId: 'default', action: 'continue' });
    expect((await client.listHooks(task.id)).hooks).toEqual([]);
    const question = service.wire.nc.request(`stopgate.main.check.${entry?.data.name}`, '{}', { timeout: 30_000 });
    await expect(question).rejects.toThrow('no responders');
  }),
  holds('cleanup', async ({ service, client }) => {
    const task = await service.task([{ type: 'tdd' }]);
    await client.registerStopHook({ taskId: task.id }, () => ({ action: 'continue', reason: 'r' }));
    expect(await client.clearHooks(task.id)).toEqual({ taskId: task.id, hooksCleared: 2 });
    expect(await client.listHooks(task.id)).toEqual({ taskId: task.id, hookCount: 0, hooks: [] });
  }),
  holds('preset hook factories', async ({ service, client }) => {
    const taskId = service.newId('T');
    for (const create of [client.createDefaultHook, client.createValidationHook, client.createPromiseHook])
      await create(taskId);
    const { hooks } = await client.listHooks(taskId);
    expect(hooks.map(({ metadata }) => metadata.type)).toEqual(['default', 'validation', 'promise']);
  }),
  holds('hook callback execution', async ({ service, client }) => {
    const task = await service.task([]);
    let calls = 0;
    await client.registerStopHook({ taskId: task.id }, () => {
      calls += 1;
      return { action: 'continue', reason: `call ${calls}` };
    });
    expect([(await task.evaluate()).reason, (await task.evaluate()).reason]).toEqual(['call 1', 'call 2']);
  }),
  holds('async hooks', async ({ service, client }) => {
    const task = await service.task([]);
    let answer = () => {};
    const asked = new Promise<void>((isAsked) => {
      void client.registerStopHook({ taskId: task.id, hookId: 'slow' }, async () => {
        isAsked();
        await new Promise<void>((resolve) => {
          answer = resolve;
        });
        return { action: 'complete', reason: 'thought about it' };
      });
    });
    await expect.poll(async () => (await task.view()).hooks.length).toBe(1);
    const result = task.evaluate();
    await asked;
    expect((await task.view()).hookStats, 'it has not answered').toEqual([]);
    answer();
    expect(await result).toMatchObject({ action: 'complete', reason: 'thought about it' });
  }),
  holds('multiple hooks per task', () => {
    const { evaluate } = iterate([{ type: 'validation' }, { type: 'promise' }]);
    expect(evaluate(promises('COMPLETE'))).toMatchObject({ hookId: 'h2', action: 'complete' });
  }),
  differs(
    'error handling',
    'also by `onError: skip`, with which a hook that fails is skipped, because not every hook is worth a person’s time; a stop is then `unjudged`',
    async ({ service, client }) => {
      const task = await service.task([]);
      const fail = () => {
        throw new Error('boom');
      };
      await client.registerStopHook({ taskId: task.id, hookId: 'skipped', onError: 'skip' }, fail);
      expect(await task.evaluate()).toMatchObject({ hookId: 'default', action: 'continue' });
      await client.registerStopHook({ taskId: task.id, hookId: 'strict' }, fail);
      expect(await task.evaluate()).toMatchObject({ hookId: 'strict', action: 'escalate' });

      const [skipped, judged, worker] = [
        await service.task([]),
        await service.task([promise]),
        await service.worker(null),
      ];
      await client.registerStopHook({ taskId: skipped.id, onError: 'skip' }, fail);
      for (const { id } of [skipped, judged]) await worker.publish('task.claimed', { task: id });
      const stopped = await worker.stop(promises('COMPLETE'));
      expect(stopped, 'though the other task is complete').toMatchObject({ decision: 'allow', cause: 'unjudged' });
    },
  ),
);

const migration = part(
  'Migration from Phase 1',
  holds('existing loops without hooks need no change', () => {
    const { publish, action, refusals, viewAt } = iterate([], { maxIterations: 3 });
    expect(action()).toBe('continue');
    publish('12:02', 'task.T.iteration.advanced');
    publish('12:03', 'task.T.iteration.completed', { iteration: 2, promise: 'COMPLETE' });
    expect(refusals()).toEqual([]);
    expect(viewAt('12:03').tasks.T).toMatchObject({ iteration: 2 });
  }),
  holds('`hook_register` alone adds a hook: `iteration_validate` evaluates it', async ({ service, mcp }) => {
    const taskId = service.newId('T');
    const { hookId } = await mcp.ok('hook_register', { taskId, hookType: 'default' });
    const { iterationId } = await mcp.ok('iteration_start', { taskId, maxIterations: 5 });
    expect(await mcp.ok('iteration_validate', { iterationId })).toMatchObject({ hookId, action: 'continue' });
  }),
);

const validation: HookForm = { type: 'validation' };
const promise: HookForm = { type: 'promise' };

const future = part(
  'Future Enhancements',
  holds('1: persistent hooks', async ({ service }) => {
    const task = await service.task([{ type: 'tdd', metadata: { owner: 'me' } }]);
    const replica = await service.openReplica();
    expect(await replica.service.get('task', task.id)).toMatchObject({
      hooks: [{ hook: 'h1', type: 'tdd', metadata: { owner: 'me' } }],
    });
    await replica.close();
  }),
  holds('2: hook templates', () => {
    const reasons = ['tdd', 'security', 'checkpoint'].map((type) => iterate([{ type }]).evaluate().reason);
    expect(reasons).toEqual(['Tests still failing', 'Vulnerabilities remain', 'Iteration in progress']);
  }),
  holds('3: hook chaining by AND and OR', () => {
    const group = (type: string, ...of: HookForm[]) => iterate([{ type, of }]);
    expect(group('all', validation, validation).action(rules(true))).toBe('complete');
    expect(group('all', validation, promise).action(rules(true))).toBe('continue');
    expect(group('any', promise, validation).action(rules(true))).toBe('complete');
    expect(group('all', promise, validation).evaluate(rules(false)).reason).toBe('No completion promise detected');
    const open = group('any', promise, validation).evaluate(rules(false));
    expect(open).toMatchObject({
      action: 'continue',
      reason: 'No completion promise detected; or Failed rules: rule1',
    });
    for (const type of ['all', 'any'])
      expect(group(type, validation, promise).action({ ...rules(true), ...promises('BLOCKED') })).toBe('escalate');
    const nested = { type: 'any', of: [promise, { type: 'all', of: [validation] }] };
    expect(group('all', nested).action(rules(true))).toBe('complete');
  }),
  differs(
    '4: metrics of the decision rate and accuracy of hooks',
    'a task counts the answers of each of its hooks; accuracy is not measured, since nobody reports which answer was right',
    async ({ service }) => {
      const task = await service.task([{ type: 'default' }]);
      for (const work of [{}, rules(false), promises('BLOCKED'), promises('COMPLETE')]) await task.evaluate(work);
      expect((await task.view()).hookStats).toMatchObject([
        { hook: 'h1', type: 'default', asked: 4, continue: 2, escalate: 1, complete: 1, skip: 0, errors: 0 },
      ]);
    },
  ),
  holds('5: detailed logging of hook evaluations, which a replay repeats', async ({ service }) => {
    const { name } = await service.serveCheck(({ agentOutput }) => ({
      action: 'continue',
      reason: `said ${agentOutput}`,
      metadata: { score: 7 },
    }));
    const task = await service.task([{ type: 'promise' }, { type: 'remote', name }]);
    const results = [await task.evaluate({ output: 'one' }), await task.evaluate(promises('COMPLETE'))];
    expect(results).toMatchObject([
      { hookId: 'h2', reason: 'said one' },
      { hookId: 'h1', action: 'complete' },
    ]);
    expect((await task.view()).hookStats).toMatchObject([
      { hook: 'h1', asked: 2 },
      { hook: 'h2', asked: 1 },
    ]);
    const replay = createReplay();
    for (const entry of await service.entries(`task.${task.id}.>`, `own.task.${task.id}.>`))
      expect(replay.fold(JSON.stringify(entry))).toBeNull();
    expect(replay.take()).toEqual(results);
  }),
  holds('6: hooks that are active only under conditions', () => {
    const conditional = (when: object) => iterate([{ type: 'promise', when }, validation], { iteration: 3 });
    const work = promises('COMPLETE');
    for (const [when, changes, hookId] of [
      [{ iterationAtLeast: 4 }, {}, 'h2'],
      [{ iterationAtLeast: 3 }, {}, 'h1'],
      [{ filesMatch: 'src/**' }, { files: ['docs/a.md'] }, 'h2'],
      [{ filesMatch: 'src/**' }, { files: ['src/a/b.ts'] }, 'h1'],
      [{ filesModified: true }, {}, 'h2'],
      [{ filesModified: true }, { files: ['a'] }, 'h1'],
      [{ filesModified: false }, { files: ['a'] }, 'h2'],
      [{ iterationAtLeast: 1, filesModified: true }, {}, 'h2'],
    ] as const)
      expect(conditional(when).evaluate({ ...work, ...changes }), JSON.stringify(when)).toMatchObject({ hookId });
    const phased = conditional({ phase: 'testing' });
    expect(phased.evaluate(work)).toMatchObject({ hookId: 'h2' });
    phased.publish('12:01', 'task.T.checkpoint.saved', { checkpoint: 'c1', phase: 'testing' });
    expect(phased.evaluate(work)).toMatchObject({ hookId: 'h1' });
    const labelled = conditional({ label: 'tier=gold' });
    labelled.publish('12:01', 'worker.w.worker.registered', { labels: { tier: 'gold' } });
    expect(labelled.evaluate(work)).toMatchObject({ hookId: 'h2' });
    labelled.publish('12:01', 'worker.w.task.claimed', { task: 'T' });
    expect(labelled.evaluate(work)).toMatchObject({ hookId: 'h1' });
  }),
);

export const outlook = [testing, migration, future];
