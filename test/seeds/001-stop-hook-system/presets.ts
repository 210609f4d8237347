/** Seed 001, Preset Hook Factories and Custom Hooks. */
import { expect } from 'vitest';
import { type Check, holds, part } from '../rule.ts';
import { customLogic } from './hook-examples.ts';
import { iterate, promises, rules } from './iteration.ts';

const complete = 'Agent signaled completion via <promise>COMPLETE</promise>';
const escalate = 'Agent asked for a person via <promise>ESCALATE</promise>';
const blocked = 'Agent is blocked and said so via <promise>BLOCKED</promise>';

/** Checks that a hook of this type returns this result for the work. */
const gives =
  (type: string, work: object, result: object): Check =>
  () =>
    expect(iterate([{ type }]).evaluate(work)).toMatchObject(result);

/** Checks that the client's factory registers a hook of this type and returns its id. */
const creates =
  (factory: 'createDefaultHook' | 'createValidationHook' | 'createPromiseHook', type: string): Check =>
  async ({ service, client }) => {
    const taskId = service.newId('T');
    const hookId = await client[factory](taskId);
    expect(hookId).toMatch(/^HOOK-/);
    expect(await client.getTask(taskId)).toMatchObject({ hooks: [{ hook: hookId, type, enabled: true }] });
  };

const failedRules = {
  action: 'continue',
  reason: 'Failed rules: rule2',
  metadata: { failedRules: ['rule2'], feedback: [{ rule: 'rule2', message: null }] },
};

export const presets = [
  part(
    'createDefaultHook',
    holds('a call with the task makes the hook, and gives its id', creates('createDefaultHook', 'default')),
    holds('1: `COMPLETE` → complete', () => {
      const { evaluate } = iterate([{ type: 'default' }]);
      for (const names of [['COMPLETE'], ['BLOCKED', 'ESCALATE', 'COMPLETE']])
        expect(evaluate(promises(...names))).toMatchObject({ action: 'complete', reason: complete });
    }),
    holds('2: `ESCALATE` → escalate', () => {
      const { evaluate } = iterate([{ type: 'default' }]);
      for (const names of [['ESCALATE'], ['BLOCKED', 'ESCALATE']])
        expect(evaluate(promises(...names))).toMatchObject({ action: 'escalate', reason: escalate });
    }),
    holds('3: `BLOCKED` → escalate', () => {
      const result = { action: 'escalate', reason: blocked };
      expect(iterate([{ type: 'default' }]).evaluate({ ...promises('BLOCKED'), ...rules(true) })).toMatchObject(result);
    }),
    holds(
      '4: all validation passes → complete',
      gives('default', rules(true, true), { action: 'complete', reason: 'All rules passed' }),
    ),
    holds('4: some fails → continue with feedback', gives('default', rules(true, false), failedRules)),
    holds('default: continue', gives('default', {}, { action: 'continue', reason: 'Iteration in progress' })),
  ),
  part(
    'createValidationHook',
    holds('a call with the task makes the hook, and gives its id', creates('createValidationHook', 'validation')),
    holds('1: all rules pass → complete', gives('validation', rules(true, true), { action: 'complete' })),
    holds('2: some fail → continue with feedback', () => {
      const { evaluate } = iterate([{ type: 'validation' }]);
      expect(evaluate(rules(true, false))).toMatchObject(failedRules);
      const both = [true, false].map((passed) => ({ rule: 'rule2', passed }));
      for (const validation of [both, both.toReversed()])
        expect(evaluate({ validation }), 'reported both ways, it has failed').toMatchObject({
          action: 'continue',
          reason: 'Failed rules: rule2',
        });
    }),
    holds(
      '3: no rules → continue',
      gives('validation', promises('COMPLETE'), { action: 'continue', reason: 'No validation results' }),
    ),
  ),
  part(
    'createPromiseHook',
    holds('a call with the task makes the hook, and gives its id', creates('createPromiseHook', 'promise')),
    holds('1: `COMPLETE` → complete', gives('promise', promises('COMPLETE'), { action: 'complete', reason: complete })),
    holds('2: `ESCALATE` → escalate', gives('promise', promises('ESCALATE'), { action: 'escalate', reason: escalate })),
    holds('3: `BLOCKED` → escalate', gives('promise', promises('BLOCKED'), { action: 'escalate', reason: blocked })),
    holds(
      '4: no promise → continue',
      gives('promise', rules(true), { action: 'continue', reason: 'No completion promise detected' }),
    ),
  ),
  part(
    'Custom Hooks',
    holds('`registerStopHook` with any logic, as in the example of the seed', async ({ service, client }) => {
      const { registerStopHook } = client;
      const task = await service.task([], { iteration: 10 });
      const hookId = await registerStopHook({ taskId: task.id }, customLogic);
      expect(hookId).toMatch(/^HOOK-/);
      expect(await task.evaluate()).toMatchObject({ hookId, action: 'continue', reason: 'No files modified yet' });
      expect(await task.evaluate({ files: ['a.ts'] })).toMatchObject({
        action: 'complete',
        reason: 'Custom completion criteria met',
      });
      await task.publish('iteration.advanced');
      expect(await task.evaluate({ files: ['a.ts'] })).toMatchObject({
        action: 'escalate',
        reason: 'Too many iterations - may need different approach',
      });
    }),
  ),
];
