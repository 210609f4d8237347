/** Seed 001, Overview and Architecture. */
import { expect } from 'vitest';
import type { AgentContext } from '../../../src/client/index.ts';
import { differs, holds, part } from '../rule.ts';
import { iterate, promises } from './iteration.ts';

export const overview = [
  part(
    'Overview',
    holds('completion signals are intercepted in iteration loops', () => {
      const { action } = iterate([{ type: 'default' }]);
      expect(action({ output: 'still working' })).toBe('continue');
      expect(action(promises('COMPLETE'))).toBe('complete');
    }),
    holds(
      'an agent completes, continues or escalates depending on its execution context',
      async ({ service, client }) => {
        const task = await service.task([]);
        await client.registerStopHook({ taskId: task.id }, ({ filesModified }) => ({
          action: (['continue', 'complete', 'escalate'] as const)[filesModified.length] ?? 'escalate',
          reason: `${filesModified.length} files`,
        }));
        const actions = [];
        for (const files of [[], ['a'], ['a', 'b']]) actions.push((await task.evaluate({ files })).action);
        expect(actions).toEqual(['continue', 'complete', 'escalate']);
      },
    ),
  ),
  part(
    'Core Concept',
    holds('hooks are callback functions, registered for a task', async ({ service, client }) => {
      const [task, other] = [await service.task([]), await service.task([])];
      await client.registerStopHook({ taskId: task.id }, () => ({ action: 'complete', reason: 'mine' }));
      expect(await task.evaluate()).toMatchObject({ taskId: task.id, action: 'complete', reason: 'mine' });
      expect(await other.evaluate()).toMatchObject({ taskId: other.id, action: 'continue', hookId: 'default' });
    }),
    differs(
      'they are evaluated after each iteration',
      'also whenever the worker that holds the task attempts to stop, because an agent may leave its loop early',
      async ({ service, client }) => {
        const task = await service.task([]);
        const contexts: AgentContext[] = [];
        await client.registerStopHook({ taskId: task.id }, (context) => {
          contexts.push(context);
          return { action: 'continue', reason: 'not yet' };
        });
        await task.evaluate();
        await task.publish('iteration.advanced');
        await task.evaluate();
        const worker = await service.worker(null);
        await worker.publish('task.claimed', { task: task.id });
        expect(await worker.stop()).toMatchObject({ decision: 'block', reason: 'not yet' });
        expect(contexts).toMatchObject([
          { iteration: 1, worker: null },
          { iteration: 2, worker: null },
          { iteration: 2, worker: worker.id },
        ]);
      },
    ),
    holds('they return an action: complete, continue or escalate', async ({ service, client }) => {
      for (const [action, decision] of [
        ['complete', { decision: 'allow', action: 'complete', cause: 'complete' }],
        ['continue', { decision: 'block', action: 'continue', cause: 'incomplete' }],
        ['escalate', { decision: 'allow', action: 'escalate', cause: 'escalated' }],
      ] as const) {
        const [task, worker] = [await service.task([]), await service.worker(null)];
        await client.registerStopHook({ taskId: task.id }, () => ({ action, reason: 'so it is' }));
        expect(await task.evaluate()).toMatchObject({ action, reason: 'so it is' });
        await worker.publish('task.claimed', { task: task.id });
        expect(await worker.stop()).toMatchObject(decision);
      }
    }),
  ),
  part(
    'Key Components',
    differs(
      'Hook Registry: a map of hooks by their ids, in memory, for the session',
      'hooks are entries of the log, and outlive the session, because a restart must not let an agent go: the first of the seed’s own future enhancements',
      async ({ service }) => {
        const task = await service.task([{ type: 'promise' }]);
        await task.publish('hook.registered', { hook: 'h1', type: 'validation' });
        expect(await task.view()).toMatchObject({
          hooks: [{ hook: 'h1', type: 'promise' }],
          refused: [{ type: 'hook.registered', reason: 'hook h1 exists' }],
        });
        const registered = await service.entries(`task.${task.id}.hook.registered`);
        expect(registered[0]?.data).toEqual({ hook: 'h1', type: 'promise' });
      },
    ),
    holds('Hook Callback: a user-provided function evaluates the context', async ({ service, client }) => {
      const task = await service.task([], { iteration: 7 });
      await client.registerStopHook({ taskId: task.id }, ({ iteration, agentOutput }) => ({
        action: 'continue',
        reason: `${iteration}: ${agentOutput}`,
      }));
      expect(await task.evaluate({ output: 'two left' })).toMatchObject({ reason: '7: two left' });
    }),
    holds('Agent Context: the state of the execution, from checkpoint data too', async ({ service, client }) => {
      const task = await service.task([]);
      await client.registerStopHook({ taskId: task.id }, ({ executionPhase }) => ({
        action: 'continue',
        reason: `in ${executionPhase}`,
      }));
      expect(await task.evaluate()).toMatchObject({ reason: 'in null' });
      await task.publish('checkpoint.saved', { checkpoint: 'c1', phase: 'testing' });
      expect(await task.evaluate()).toMatchObject({ reason: 'in testing' });
    }),
    holds('Hook Result: returned to the caller', async ({ service, mcp }) => {
      const task = await service.task([{ type: 'promise' }]);
      const result = { hookId: 'h1', taskId: task.id, iteration: 1, action: 'complete' };
      expect(await task.evaluate(promises('COMPLETE'))).toMatchObject(result);
      const asked = { iterationId: `IT-1-${task.id}`, agentOutput: promises('COMPLETE').output };
      expect(await mcp.ok('hook_evaluate', asked)).toMatchObject(result);
    }),
  ),
  part(
    'Hook Lifecycle',
    holds('1: the agent registers the hook when the iteration starts', async ({ service, mcp }) => {
      const taskId = service.newId('T');
      const { hookId } = await mcp.ok('hook_register', { taskId, hookType: 'promise' });
      const { iterationId } = await mcp.ok('iteration_start', { taskId, maxIterations: 5 });
      expect(await mcp.ok('hook_evaluate', { iterationId })).toMatchObject({ hookId });
    }),
    holds('2, 3: the hook is called during `iteration_validate`, and returns an action', async ({ service, mcp }) => {
      const taskId = service.newId('T');
      const { name, asked } = await service.serveCheck(() => ({ action: 'escalate', reason: 'ask a person' }));
      await mcp.ok('hook_register', { taskId, hookType: 'remote', name });
      const { iterationId } = await mcp.ok('iteration_start', { taskId, maxIterations: 5 });
      expect(asked).toEqual([]);
      expect(await mcp.ok('iteration_validate', { iterationId })).toMatchObject({ action: 'escalate' });
      expect(asked).toHaveLength(1);
    }),
    holds('4: the hook is cleared when the iteration ends', async ({ service, mcp }) => {
      const task = await service.task([{ type: 'promise' }, { type: 'tdd' }]);
      await mcp.ok('iteration_complete', { iterationId: `IT-1-${task.id}`, completionPromise: 'COMPLETE' });
      expect((await task.view()).hooks).toEqual([]);
    }),
  ),
];
