/** Seed 001, Common Patterns. The callbacks are the seed's own. */
import { expect } from 'vitest';
import { differs, holds, part } from '../rule.ts';
import { checkpointCreation, securityRemediation, tddLoop } from './hook-examples.ts';
import { iterate } from './iteration.ts';

const passed = (...names: readonly string[]) => ({ validation: names.map((rule) => ({ rule, passed: true })) });

export const patterns = [
  part(
    'Common Patterns: TDD Loop Hook',
    holds('`tests_pass` → complete, else continue with a next prompt', async ({ service, client }) => {
      const { registerStopHook } = client;
      const task = await service.task([]);
      await registerStopHook({ taskId: task.id }, tddLoop);
      const failing = { validation: [{ rule: 'tests_pass', passed: false }, ...passed('lint').validation] };
      expect(await task.evaluate(failing)).toMatchObject({
        action: 'continue',
        reason: 'Tests still failing',
        nextPrompt: 'Fix failing tests and run again',
      });
      expect(await task.evaluate(passed('tests_pass'))).toMatchObject({
        action: 'complete',
        reason: 'All tests pass',
        nextPrompt: null,
      });
    }),
    differs(
      'it is a callback',
      'without a callback, because then any client and replica can run it: the hook type `tdd` does the same',
      () => {
        const { evaluate } = iterate([{ type: 'tdd' }]);
        expect(evaluate(passed('lint'))).toMatchObject({
          action: 'continue',
          reason: 'Tests still failing',
          nextPrompt: 'Fix failing tests and run again',
        });
        expect(evaluate(passed('tests_pass'))).toMatchObject({ action: 'complete', reason: 'All tests pass' });
        const both = [...passed('tests_pass').validation, { rule: 'tests_pass', passed: false }];
        for (const validation of [both, both.toReversed()])
          expect(evaluate({ validation }), 'reported both ways, it has failed').toMatchObject({ action: 'continue' });
      },
    ),
  ),
  part(
    'Common Patterns: Security Remediation Hook',
    holds('both rules → complete, at iteration 10 escalate, else continue', async ({ service, client }) => {
      const { registerStopHook } = client;
      const task = await service.task([], { iteration: 9 });
      await registerStopHook({ taskId: task.id }, securityRemediation);
      const both = passed('vulns_fixed', 'sast_clean');
      expect(await task.evaluate(passed('vulns_fixed'))).toMatchObject({ reason: 'Vulnerabilities remain' });
      expect(await task.evaluate(both)).toMatchObject({ action: 'complete', reason: 'All vulnerabilities remediated' });
      await task.publish('iteration.advanced');
      expect(await task.evaluate(passed('sast_clean'))).toMatchObject({
        action: 'escalate',
        reason: expect.stringContaining('may require manual review'),
      });
      expect(await task.evaluate(both)).toMatchObject({ action: 'complete' });
    }),
    differs(
      'it is a callback',
      'without a callback, because then any client and replica can run it: the hook type `security` does the same, with the reason `All rules passed`',
      () => {
        const both = passed('vulns_fixed', 'sast_clean');
        for (const [iteration, work, action, reason] of [
          [9, passed('vulns_fixed'), 'continue', 'Vulnerabilities remain'],
          [9, passed('sast_clean'), 'continue', 'Vulnerabilities remain'],
          [9, both, 'complete', 'All rules passed'],
          [10, {}, 'escalate', 'Max iterations reached - complex vulnerabilities may require manual review'],
          [10, both, 'complete', 'All rules passed'],
        ] as const)
          expect(iterate([{ type: 'security' }], { iteration }).evaluate(work)).toMatchObject({ action, reason });
      },
    ),
  ),
  part(
    'Common Patterns: Checkpoint Creation Hook',
    holds('at iteration 5 a checkpoint is created, and the loop continues', async ({ service, client }) => {
      const { registerStopHook } = client;
      const task = await service.task([], { iteration: 4 });
      await registerStopHook({ taskId: task.id }, checkpointCreation);
      expect(await task.evaluate()).toMatchObject({ reason: 'Iteration in progress', checkpointCreated: false });
      await task.publish('iteration.advanced');
      expect(await task.evaluate()).toMatchObject({
        action: 'continue',
        reason: 'Halfway checkpoint',
        checkpointCreated: true,
      });
      expect(await task.view()).toMatchObject({
        checkpoints: [{ phase: 'midpoint', step: 5 }],
        checkpoint: { context: { milestone: 'halfway' } },
      });
    }),
    differs(
      'it is a callback',
      'without a callback, because then any client and replica can run it: the hook type `checkpoint` does the same, at the iteration in `metadata.at`, 5 by default',
      () => {
        const savedAt = (iteration: number, metadata?: object) => {
          const { evaluate, viewAt } = iterate([{ type: 'checkpoint', ...(metadata && { metadata }) }], { iteration });
          const { action, checkpointCreated } = evaluate();
          expect(action).toBe('continue');
          expect(viewAt('12:02').tasks.T?.checkpoints).toHaveLength(checkpointCreated ? 1 : 0);
          return checkpointCreated;
        };
        expect([4, 5, 6].map((iteration) => savedAt(iteration))).toEqual([false, true, false]);
        expect([2, 5].map((iteration) => savedAt(iteration, { at: 2 }))).toEqual([true, false]);
      },
    ),
  ),
];
