/** Seed 001, Safety and Error Handling, and Performance Considerations. */
import { expect } from 'vitest';
import { connect } from '../../../src/client/index.ts';
import { differs, holds, part } from '../rule.ts';
import { createVirtualLog } from '../virtual-log.ts';
import { iterate, promises } from './iteration.ts';

const safety = part(
  'Safety and Error Handling',
  holds(
    'a hook that throws: escalate, `Hook evaluation failed: …`, and the error in the metadata',
    async ({ service, client }) => {
      const task = await service.task([]);
      await client.registerStopHook({ taskId: task.id }, () => {
        throw new Error('database is away');
      });
      await client.registerStopHook({ taskId: task.id }, () => ({ action: 'complete', reason: 'never asked' }));
      expect(await task.evaluate()).toMatchObject({
        action: 'escalate',
        reason: 'Hook evaluation failed: database is away',
        metadata: { error: 'database is away' },
      });
    },
  ),
  differs(
    'no hooks registered: hook `default`, continue, `No hooks registered for this task`',
    'this holds for an iteration, except that `iteration_validate` then reads the promises that count, because the loop waits for them; at a stop, a task without hooks does not affect the decision',
    () => {
      const { evaluate, ...log } = iterate([]);
      expect(evaluate(promises('COMPLETE'))).toMatchObject({
        hookId: 'default',
        action: 'continue',
        reason: 'No hooks registered for this task',
      });
      log.publish('12:02', 'worker.w.task.claimed', { task: 'T' });
      expect(log.stop('12:02', 'w')).toMatchObject({ decision: 'allow', cause: 'no-policy' });
    },
  ),
  holds('a disabled hook is skipped, until it is enabled', () => {
    const { evaluate, publish } = iterate([{ type: 'promise' }]);
    publish('12:00', 'task.T.hook.disabled', { hook: 'h1' });
    expect(evaluate(promises('COMPLETE'))).toMatchObject({ hookId: 'default', action: 'continue' });
    publish('12:01', 'task.T.hook.enabled', { hook: 'h1' });
    expect(evaluate(promises('COMPLETE'))).toMatchObject({ hookId: 'h1', action: 'complete' });
  }),
);

const storage = part(
  'Session-Scoped Storage',
  differs(
    'hooks are not persisted, and lost when the server restarts',
    'they are log entries, because a restart must not let an agent go: any replica knows them, their order, whether they are enabled, and the iteration',
    async ({ service }) => {
      const task = await service.task(
        [
          { type: 'promise', enabled: false },
          { type: 'tdd', metadata: { description: 'tests first' } },
        ],
        { iteration: 4 },
      );
      const replica = await service.openReplica();
      try {
        expect(await replica.service.get('task', task.id)).toMatchObject({
          iteration: 4,
          hooks: [
            { hook: 'h1', type: 'promise', enabled: false },
            { hook: 'h2', type: 'tdd', enabled: true, metadata: { description: 'tests first' } },
          ],
        });
        const work = { iteration: 4, ...promises('COMPLETE') };
        expect(await replica.service.evaluate(task.id, work)).toMatchObject({
          hookId: 'h2',
          action: 'continue',
          reason: 'Tests still failing',
        });
      } finally {
        await replica.close();
      }
    },
  ),
  differs(
    'fast evaluation: nothing is queried',
    'this holds for presets, alone or in groups; a custom hook is one request to its process, because the service does not have its function',
    () => {
      const log = createVirtualLog();
      const presets = ['default', 'validation', 'promise', 'tdd', 'security', 'checkpoint'].map((type) => ({ type }));
      for (const hook of [...presets, { type: 'all', of: presets }, { type: 'remote', name: 'own' }]) {
        const task = `T-${hook.type}`;
        log.publish('12:00', `task.${task}.hook.registered`, hook);
        log.publish('12:00', `task.${task}.iteration.started`, { iteration: 1, maxIterations: 2 });
        const result = log.validate('12:00', task, { iteration: 1 });
        if (hook.type === 'remote') expect(result, 'it waits for the process').toBeNull();
        else expect(result, 'the entry itself gives the result').not.toBeNull();
      }
    },
  ),
  differs(
    'flexible callback logic: functions cannot be serialized',
    'the function stays in its process, because nothing from the log is executed; the log has the name under which it is served',
    async ({ service, client }) => {
      const taskId = service.newId('T');
      await client.registerStopHook({ taskId, hookId: 'own' }, () => ({ action: 'complete', reason: 'r' }));
      const [entry] = await service.entries(`task.${taskId}.hook.registered`);
      expect(entry?.data).toEqual({
        hook: 'own',
        type: 'remote',
        name: expect.stringMatching(/^own-/),
        enabled: true,
        metadata: {},
      });
    },
  ),
  differs(
    'automatic cleanup when the server restarts',
    'hooks are removed when their iteration or their task ends, and by `hook_clear`; not by a restart, because the work is not over then',
    () => {
      const ends: [string, object][] = [
        ['task.T.hooks.cleared', {}],
        ['task.T.iteration.completed', { iteration: 1, promise: 'COMPLETE' }],
        ['worker.w.task.completed', { task: 'T' }],
        ['task.T.task.cancelled', {}],
      ];
      for (const [tail, data] of ends) {
        const { publish, viewAt } = iterate([{ type: 'promise' }, { type: 'tdd', enabled: false }]);
        publish('12:00', 'worker.w.task.claimed', { task: 'T' });
        expect(viewAt('23:00').tasks.T?.hooks).toHaveLength(2);
        publish('23:01', tail, data);
        expect(viewAt('23:01').tasks.T?.hooks, tail).toEqual([]);
      }
    },
  ),
  differs(
    'hooks must be registered again on `checkpoint_resume`',
    'not needed for presets, because the log has them; a custom hook is in error until a process registers its function again under the same id',
    async ({ service, mcp }) => {
      const task = await service.task([{ type: 'tdd' }]);
      const [first, second] = [await connectTo(service.url), await connectTo(service.url)];
      const order = { taskId: task.id, hookId: 'own' };
      const say = (reason: string) => () => ({ action: 'continue' as const, reason });
      await first.registerStopHook(order, say('from the first process'));
      await mcp.ok('checkpoint_create', { taskId: task.id, executionPhase: 'testing' });
      expect((await task.evaluate()).reason).toBe('from the first process');
      await first.close();
      expect((await mcp.ok('checkpoint_resume', { taskId: task.id })).hooks).toEqual([
        { id: 'h1', hookType: 'tdd', enabled: true },
        { id: 'own', hookType: 'remote', enabled: true },
      ]);
      expect(await task.evaluate()).toMatchObject({
        action: 'escalate',
        reason: expect.stringMatching(/^Hook evaluation failed: nobody serves /),
      });
      await second.registerStopHook(order, say('from the second process'));
      expect((await task.evaluate()).reason).toBe('from the second process');
      expect((await task.view()).hooks).toHaveLength(2);
      await second.close();
    },
  ),
);

/** Opens a client as in a separate process. */
const connectTo = (nats: string) => connect({ nats, fleet: 'main', cwd: '/' });

const memory = part(
  'Memory Usage',
  differs(
    'a hook stores its id, its task, its callback and its metadata, about 100 bytes',
    'there is no guaranteed size, because metadata varies; the entry has the name under which the callback is served',
    async ({ service, client }) => {
      const taskId = service.newId('T');
      await client.registerStopHook({ taskId, hookId: 'own', metadata: { a: 1 } }, () => ({
        action: 'complete',
        reason: 'r',
      }));
      expect((await client.getTask(taskId)).hooks).toEqual([
        { hook: 'own', type: 'remote', enabled: true, metadata: { a: 1 } },
      ]);
    },
  ),
  differs(
    'at most 5 to 10 hooks per task are recommended',
    'the limit is 64, because each evaluation may ask all of them',
    () => {
      const log = createVirtualLog();
      for (let count = 1; count <= 65; count += 1) log.publish('12:00', 'task.T.hook.registered', { type: 'promise' });
      expect(log.viewAt('12:00').tasks.T?.hooks).toHaveLength(64);
      expect(log.refusals()).toEqual(['task T has 64 hooks, the maximum']);
    },
  ),
);

export const performance = [safety, storage, memory];
