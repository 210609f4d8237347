/** Seed 001, Integration with Iteration Tools, and Hook Evaluation Order. */
import { expect } from 'vitest';
import type { McpClient } from '../../support/mcp-client.ts';
import { differs, holds, part } from '../rule.ts';
import type { SeedService } from '../service.ts';
import { iterate, promises, rules } from './iteration.ts';

/** Runs steps 1 to 3 of the flow, and returns the iteration and the answer of the tool. */
async function begin(service: SeedService, mcp: McpClient, started: object = {}) {
  const taskId = service.newId('T');
  await service.wire.publish(`task.${taskId}.task.created`, { title: 'Build it' });
  await mcp.ok('hook_register', { taskId, hookType: 'default' });
  const iteration = await mcp.ok('iteration_start', { taskId, maxIterations: 10, ...started });
  const iterationId = String(iteration.iterationId);
  return { taskId, iterationId, iteration };
}
const output = (...names: readonly string[]) => ({ agentOutput: promises(...names).output });

const flow = part(
  'Typical Agent Flow',
  holds('1: `task_get`', async ({ service, mcp }) => {
    const taskId = service.newId('T');
    await service.wire.publish(`task.${taskId}.task.created`, { title: 'Build it' });
    expect(await mcp.ok('task_get', { taskId })).toMatchObject({ taskId, title: 'Build it', state: 'idle' });
  }),
  holds('2, 3: `hook_register`, then `iteration_start` with a maximum and promises', async ({ service, mcp }) => {
    const completionPromises = ['COMPLETE', 'BLOCKED'];
    const more = { rules: ['tests_pass'], breakers: { failures: 3 } };
    const { taskId, iteration } = await begin(service, mcp, { completionPromises, ...more });
    expect(iteration).toEqual({
      iterationId: `IT-1-${taskId}`,
      taskId,
      iteration: 1,
      maxIterations: 10,
      completionPromises,
    });
    expect(await mcp.ok('task_get', { taskId })).toMatchObject({ hooks: [{ type: 'default' }], iteration: 1 });
    const [started] = await service.entries(`task.${taskId}.iteration.started`);
    expect(started?.data, 'what it said is what is stored').toEqual({
      iteration: 1,
      maxIterations: 10,
      completionPromises,
      ...more,
    });
  }),
  holds(
    '4b: `iteration_validate` calls the hooks, and returns CONTINUE, COMPLETE or ESCALATE',
    async ({ service, mcp }) => {
      const { iterationId } = await begin(service, mcp);
      const signals = [];
      for (const work of [{ agentOutput: 'working' }, output('COMPLETE'), output('BLOCKED')])
        signals.push((await mcp.ok('iteration_validate', { iterationId, ...work })).completionSignal);
      expect(signals).toEqual(['CONTINUE', 'COMPLETE', 'ESCALATE']);
    },
  ),
  holds('4c: COMPLETE: `iteration_complete`, `hook_clear`, and leave the loop', async ({ service, mcp }) => {
    const { taskId, iterationId } = await begin(service, mcp);
    await mcp.ok('iteration_validate', { iterationId, ...output('COMPLETE') });
    const completed = await mcp.ok('iteration_complete', { iterationId, completionPromise: 'COMPLETE' });
    expect(completed).toMatchObject({ taskId, iteration: 1, completionPromise: 'COMPLETE', completed: true });
    expect(await mcp.ok('hook_clear', { taskId })).toMatchObject({ taskId });
    expect(await mcp.ok('hook_list', { taskId })).toMatchObject({ hookCount: 0 });
    expect(await mcp.call('iteration_validate', { iterationId }), 'the loop is over').toMatchObject({ isError: true });
  }),
  differs(
    '4d: ESCALATE: mark the task as blocked, `hook_clear`, and leave the loop',
    'an evaluation marks nothing, because it may be asked for at any time; the task becomes `escalated` by `task_fail`, which the answer of `iteration_complete` names, or when its worker attempts to stop and its hooks escalate',
    async ({ service, mcp }) => {
      const { taskId, iterationId } = await begin(service, mcp);
      const worker = (await service.worker(null)).id;
      await mcp.ok('task_claim', { taskId, worker });
      expect(await mcp.ok('iteration_validate', { iterationId, ...output('BLOCKED') })).toMatchObject({
        completionSignal: 'ESCALATE',
      });
      expect(await mcp.ok('task_get', { taskId })).toMatchObject({ state: 'working' });
      expect(await mcp.ok('decide', { worker, ...output('BLOCKED') })).toMatchObject({ action: 'escalate' });
      expect(await mcp.ok('task_get', { taskId })).toMatchObject({ state: 'escalated' });
      expect(await mcp.ok('hook_clear', { taskId })).toMatchObject({ hooksCleared: 1 });
      const other = await begin(service, mcp);
      const holder = (await service.worker(null)).id;
      await mcp.ok('task_claim', { taskId: other.taskId, worker: holder });
      const ended = await mcp.ok('iteration_complete', {
        iterationId: other.iterationId,
        completionPromise: 'BLOCKED',
      });
      expect(ended.nextStep).toContain('task_fail');
      const marked = { taskId: other.taskId, worker: holder, reason: 'blocked' };
      expect(await mcp.ok('task_fail', marked)).toMatchObject({ state: 'escalated' });
    },
  ),
  holds('4e: CONTINUE: `iteration_next`', async ({ service, mcp }) => {
    const { taskId, iterationId } = await begin(service, mcp);
    await mcp.ok('iteration_validate', { iterationId, agentOutput: 'working' });
    const next = await mcp.ok('iteration_next', { iterationId });
    expect(next).toMatchObject({ iterationId: `IT-2-${taskId}`, taskId, iteration: 2 });
    const work = { iterationId: next.iterationId, ...output('COMPLETE') };
    expect(await mcp.ok('iteration_validate', work)).toMatchObject({ iteration: 2, completionSignal: 'COMPLETE' });
  }),
  holds('5: `hook_clear` on any exit from the loop', async ({ service, mcp }) => {
    const { taskId, iterationId } = await begin(service, mcp);
    expect(await mcp.ok('hook_clear', { taskId })).toEqual({ taskId, hooksCleared: 1 });
    expect(await mcp.ok('iteration_validate', { iterationId, ...output('COMPLETE') })).toMatchObject({
      hookId: 'default',
    });
  }),
  holds('`maxIterations` ends the loop', async ({ service, mcp }) => {
    const { iterationId } = await begin(service, mcp, { maxIterations: 1 });
    expect(await mcp.ok('iteration_validate', { iterationId, agentOutput: 'working' })).toMatchObject({
      completionSignal: 'ESCALATE',
      reason: 'Maximum iterations reached (1)',
    });
    expect(await mcp.call('iteration_next', { iterationId })).toMatchObject({ isError: true });
    expect(await mcp.ok('iteration_validate', { iterationId, ...output('COMPLETE') }), 'in time').toMatchObject({
      completionSignal: 'COMPLETE',
    });

    const log = iterate([], { maxIterations: 1 });
    log.publish('12:01', 'task.T.iteration.completed', { iteration: 1, promise: 'COMPLETE' });
    log.publish('12:01', 'task.T.hook.registered', { type: 'promise' });
    log.publish('12:01', 'worker.w.task.claimed', { task: 'T' });
    expect(log.stop('12:02', 'w'), 'a loop that has ended no longer counts').toMatchObject({
      decision: 'block',
      reason: 'No completion promise detected',
    });
  }),
  holds('`completionPromises` names the promises that count', async ({ service, mcp }) => {
    const { iterationId } = await begin(service, mcp, { completionPromises: ['COMPLETE', 'BLOCKED'] });
    const signals = [];
    for (const name of ['ESCALATE', 'BLOCKED', 'COMPLETE'])
      signals.push((await mcp.ok('iteration_validate', { iterationId, ...output(name) })).completionSignal);
    expect(signals).toEqual(['CONTINUE', 'ESCALATE', 'COMPLETE']);
  }),
);

const order = part(
  'Hook Evaluation Order',
  holds('1: hooks are evaluated in the order of their registration', async ({ service, client }) => {
    const task = await service.task([]);
    const asked: string[] = [];
    for (const hookId of ['first', 'second', 'third'])
      await client.registerStopHook({ taskId: task.id, hookId }, () => {
        asked.push(hookId);
        return { action: 'continue', reason: hookId };
      });
    await task.evaluate();
    expect(asked).toEqual(['first', 'second', 'third']);
  }),
  holds('2: the first complete or escalate stops the evaluation', () => {
    const { evaluate } = iterate([{ type: 'validation' }, { type: 'promise' }, { type: 'default' }]);
    expect(evaluate(rules(true))).toMatchObject({ hookId: 'h1', action: 'complete' });
    expect(evaluate(promises('BLOCKED'))).toMatchObject({ hookId: 'h2', action: 'escalate' });
  }),
  holds('3: if all continue, the result of the last one is used', () => {
    const { evaluate } = iterate([{ type: 'validation' }, { type: 'promise' }, { type: 'default' }]);
    expect(evaluate()).toMatchObject({ hookId: 'h3', action: 'continue', reason: 'Iteration in progress' });
  }),
  holds('4: disabled hooks are skipped', () => {
    const { evaluate } = iterate([{ type: 'promise', enabled: false }, { type: 'default' }]);
    expect(evaluate(promises('COMPLETE'))).toMatchObject({ hookId: 'h2', action: 'complete' });
  }),
  holds('after a complete, later hooks are not evaluated', async ({ service }) => {
    const { name, asked } = await service.serveCheck(() => ({ action: 'continue', reason: 'no' }));
    const task = await service.task([{ type: 'validation' }, { type: 'promise' }, { type: 'remote', name }]);
    expect(await task.evaluate(rules(true))).toMatchObject({ hookId: 'h1', action: 'complete' });
    expect(asked).toEqual([]);
    expect(await task.evaluate()).toMatchObject({ hookId: 'h3' });
    expect(asked).toHaveLength(1);
  }),
);

export const integration = [flow, order];
