/** Seed 001, MCP Tools. */
import { expect } from 'vitest';
import { differs, holds, part } from '../rule.ts';
import { createVirtualLog } from '../virtual-log.ts';
import { iterate, promises, rules } from './iteration.ts';

const failing = [{ ruleName: 'tests_pass', passed: false }];
const done = 'Implementation complete. <promise>COMPLETE</promise>';

const register = part(
  'hook_register',
  differs(
    'takes task, type and metadata; gives `hookId`, `taskId`, `hookType`, `enabled` and `metadata`',
    'the answer repeats the metadata that was given, because an answer should show what was stored; the seed’s example has none',
    async ({ service, mcp }) => {
      const taskId = service.newId('T');
      const metadata = { description: 'Optional metadata' };
      expect(await mcp.ok('hook_register', { taskId, hookType: 'default', metadata })).toEqual({
        hookId: expect.stringMatching(/^HOOK-[a-z0-9]+$/),
        taskId,
        hookType: 'default',
        enabled: true,
        metadata,
      });
      expect(await mcp.ok('hook_register', { taskId })).toMatchObject({ hookType: 'default', metadata: {} });
    },
  ),
  differs(
    'a hook id is `HOOK-`, a time in seconds, and three characters',
    '`HOOK-` and random letters and digits, because hooks are made on many machines, whose clocks differ; `hookId` may name another id, and a hook that is published without one gets `hook-1`, `hook-2`, …',
    async ({ service, mcp, client }) => {
      const taskId = service.newId('T');
      const ids = [
        (await mcp.ok('hook_register', { taskId })).hookId,
        await client.createTddHook(taskId),
        await client.registerStopHook({ taskId }, () => ({ action: 'continue', reason: 'r' })),
      ];
      for (const id of ids) expect(id).toMatch(/^HOOK-[a-z0-9]{6,}$/);
      expect(new Set(ids).size).toBe(3);
      expect(await mcp.ok('hook_register', { taskId, hookId: 'mine' })).toMatchObject({ hookId: 'mine' });
      const log = createVirtualLog();
      for (let count = 0; count < 2; count += 1) log.publish('12:00', 'task.T.hook.registered', { type: 'tdd' });
      expect(log.viewAt('12:00').tasks.T?.hooks.map(({ hook }) => hook)).toEqual(['hook-1', 'hook-2']);
    },
  ),
  holds('type `default`: checks promises first, then validation', () => {
    const { action } = iterate([{ type: 'default' }]);
    expect(action({ ...promises('COMPLETE'), ...rules(false) })).toBe('complete');
    expect(action({ ...promises('BLOCKED'), ...rules(true) })).toBe('escalate');
    expect([action(rules(true)), action(rules(false))]).toEqual(['complete', 'continue']);
  }),
  holds('type `validation`: only checks validation rules', () => {
    const { action } = iterate([{ type: 'validation' }]);
    expect([action(promises('COMPLETE')), action(promises('BLOCKED'))]).toEqual(['continue', 'continue']);
    expect([action(rules(true)), action(rules(false))]).toEqual(['complete', 'continue']);
  }),
  holds('type `promise`: only checks completion promises', () => {
    const { action } = iterate([{ type: 'promise' }]);
    expect([action(promises('COMPLETE')), action(promises('BLOCKED'))]).toEqual(['complete', 'escalate']);
    expect([action(rules(true)), action(rules(false))]).toEqual(['continue', 'continue']);
  }),
  differs(
    'there are three types',
    'there are also templates, groups and remote hooks, because the seed wishes for them itself (Future Enhancements); any other type is an error that names them all',
    async ({ service, mcp }) => {
      const taskId = service.newId('T');
      const { isError, text } = await mcp.call('hook_register', { taskId, hookType: 'magic' });
      expect(isError).toBe(true);
      for (const type of ['default', 'validation', 'promise', 'tdd', 'security', 'checkpoint', 'remote', 'all', 'any'])
        expect(text).toContain(`"${type}"`);
      expect(await mcp.call('task_get', { taskId }), 'nothing was stored').toMatchObject({ isError: true });
    },
  ),
);

const evaluate = part(
  'hook_evaluate',
  differs(
    'an iteration id is `IT-`, a time in seconds, and three characters',
    '`IT-`, the number of the iteration and the id of the task, because the next call then needs neither of them',
    async ({ service, mcp }) => {
      const taskId = service.newId('T');
      const { iterationId } = await mcp.ok('iteration_start', { taskId, maxIterations: 5 });
      expect(iterationId).toBe(`IT-1-${taskId}`);
      expect(await mcp.ok('hook_evaluate', { iterationId })).toMatchObject({ taskId, iteration: 1 });
    },
  ),
  holds('takes the iteration, the output, the files, and the draft', async ({ service, mcp }) => {
    const { name, asked } = await service.serveCheck(() => ({ action: 'continue', reason: 'go on' }));
    const task = await service.task([{ type: 'remote', name }]);
    await mcp.ok('hook_evaluate', {
      iterationId: `IT-1-${task.id}`,
      agentOutput: done,
      filesModified: ['src/auth.ts', 'tests/auth.test.ts'],
      draftContent: '// Implementation code...',
      draftType: 'implementation',
    });
    expect(asked).toMatchObject([
      {
        task: task.id,
        iteration: 1,
        agentOutput: done,
        filesModified: ['src/auth.ts', 'tests/auth.test.ts'],
        draftContent: '// Implementation code...',
        draftType: 'implementation',
      },
    ]);
  }),
  holds(
    'gives hook, task, iteration, action, reason, next prompt, whether a checkpoint was created, and metadata',
    async ({ service, mcp }) => {
      const task = await service.task([{ type: 'default' }], { iteration: 3 });
      expect(await mcp.ok('hook_evaluate', { iterationId: `IT-3-${task.id}`, agentOutput: done })).toEqual({
        hookId: 'h1',
        taskId: task.id,
        iteration: 3,
        action: 'complete',
        reason: 'Agent signaled completion via <promise>COMPLETE</promise>',
        nextPrompt: null,
        checkpointCreated: false,
        metadata: {},
      });
    },
  ),
  holds('`iteration_validate` calls it', async ({ service, mcp }) => {
    const task = await service.task([{ type: 'default' }]);
    const work = { iterationId: `IT-1-${task.id}`, validationResults: failing };
    const evaluated = await mcp.ok('hook_evaluate', work);
    expect(evaluated).toMatchObject({ action: 'continue', reason: 'Failed rules: tests_pass' });
    expect(await mcp.ok('iteration_validate', work)).toMatchObject({ ...evaluated, completionSignal: 'CONTINUE' });
  }),
);

const list = part(
  'hook_list',
  holds('lists the hooks of a task with their number, disabled ones too', async ({ service, mcp, client }) => {
    const task = await service.task([{ type: 'default' }, { type: 'promise', enabled: false }]);
    const hooks = [
      { id: 'h1', enabled: true, metadata: { type: 'default' } },
      { id: 'h2', enabled: false, metadata: { type: 'promise' } },
    ];
    const listed = { taskId: task.id, hookCount: 2, hooks };
    expect(await mcp.ok('hook_list', { taskId: task.id })).toEqual(listed);
    expect(await client.listHooks(task.id)).toEqual(listed);
  }),
  holds('the metadata of a hook has its type, `custom` for a custom one', async ({ service, mcp, client }) => {
    const taskId = service.newId('T');
    await mcp.ok('hook_register', { taskId, hookId: 'preset', metadata: { owner: 'me' } });
    const order = { taskId, hookId: 'own', metadata: { owner: 'you' } };
    await client.registerStopHook(order, () => ({ action: 'continue', reason: 'r' }));
    const listed = [
      { id: 'preset', enabled: true, metadata: { owner: 'me', type: 'default' } },
      { id: 'own', enabled: true, metadata: { owner: 'you', type: 'custom' } },
    ];
    expect((await mcp.ok('hook_list', { taskId })).hooks).toEqual(listed);
    expect((await client.listHooks(taskId)).hooks).toEqual(listed);
  }),
);

const clear = part(
  'hook_clear',
  holds('clears all hooks of a task, and says how many', async ({ service, mcp }) => {
    const [task, other] = [
      await service.task([{ type: 'default' }, { type: 'tdd' }]),
      await service.task([{ type: 'tdd' }]),
    ];
    expect(await mcp.ok('hook_clear', { taskId: task.id })).toEqual({ taskId: task.id, hooksCleared: 2 });
    expect((await task.view()).hooks).toEqual([]);
    expect((await other.view()).hooks).toHaveLength(1);
    expect(await mcp.ok('hook_clear', { taskId: task.id })).toEqual({ taskId: task.id, hooksCleared: 0 });
  }),
  differs(
    'it should be called when the iteration completes',
    'not needed, because agents forget it: the end of the iteration or of the task clears the hooks; releasing the task does not',
    async ({ service, mcp }) => {
      const iterated = await service.task([{ type: 'tdd' }, { type: 'promise', enabled: false }]);
      const ended = { iterationId: `IT-1-${iterated.id}`, completionPromise: 'COMPLETE' };
      expect(await mcp.ok('iteration_complete', ended)).toMatchObject({ hooksCleared: 2 });
      expect((await iterated.view()).hooks).toEqual([]);
      const worker = await service.worker(null);
      for (const [end, left] of [
        ['task.released', 2],
        ['task.completed', 0],
      ] as const) {
        const task = await service.task([{ type: 'tdd' }, { type: 'promise' }]);
        await worker.publish('task.claimed', { task: task.id });
        await worker.publish(end, { task: task.id });
        expect((await task.view()).hooks).toHaveLength(left);
      }
    },
  ),
);

export const tools = [register, evaluate, list, clear];
