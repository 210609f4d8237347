/** Seed 002, Claude Agent SDK Integration: the moments at which the checker is asked. */
import { expect } from 'vitest';
import { IncompleteError } from '../../../src/client/index.ts';
import { continues, createClaudeFleet, session } from '../claude-fleet.ts';
import { differs, holds, part } from '../rule.ts';
import { planOf } from '../virtual-log.ts';

const planned = { checks: [{ plan: {} }] };

export const integration = [
  part(
    'Claude Agent SDK Integration',
    differs(
      '`task_completion_checker` is set in the configuration of the client',
      'it is set in a policy, which the worker names or which is assigned to its agent, because an agent should not choose how it is judged',
      async ({ service }) => {
        const worker = await service.worker(planned);
        await worker.publish('plan.updated', planOf('pending'));
        expect(await worker.stop()).toMatchObject({ decision: 'block', policy: { name: worker.id } });
        const policies = { default: {}, strict: planned };
        const assigned = createClaudeFleet({}, { policies, assign: [{ agent: 'claude', policy: 'strict' }] });
        await assigned.mark('pending');
        expect(await assigned.claude('Stop')).toEqual(continues());
      },
    ),
  ),
  part(
    'Hook Integration',
    differs(
      'PostToolUse of StructuredOutput: what is incomplete is added to the context',
      'for checks and for hooks of held tasks, unless the call was just let through; PreToolUse denies the tool before that, because its output ends the session',
      async ({ service }) => {
        const fleet = createClaudeFleet(planned);
        const output = { tool_name: 'StructuredOutput', tool_input: { answer: 1 } };
        await fleet.mark('in_progress');
        expect(await fleet.claude('PostToolUse', output)).toEqual({
          hookSpecificOutput: {
            hookEventName: 'PostToolUse',
            additionalContext: expect.stringContaining('1 of 1 plan steps remain: Write the tests'),
          },
        });
        await fleet.mark('completed');
        expect(await fleet.claude('PostToolUse', output)).toBeNull();
        const [worker, task] = [await service.worker({}), await service.task([{ type: 'validation' }])];
        await worker.publish('task.claimed', { task: task.id });
        expect(await service.claude(worker.id, 'PreToolUse.StructuredOutput')).toMatchObject({
          hookSpecificOutput: { permissionDecision: 'deny' },
        });
        expect(await service.claude(worker.id, 'PostToolUse', output)).toMatchObject({
          hookSpecificOutput: { additionalContext: expect.stringContaining('No validation results') },
        });
      },
    ),
    differs(
      'Stop: `needsMoreTurns` if incomplete',
      '`additionalContext`, because that is what makes Claude Code continue today; older versions get `decision: block`',
      async () => {
        const fleet = createClaudeFleet(planned);
        await fleet.mark('pending');
        expect(await fleet.claude('Stop')).toEqual(continues('1 of 1'));
        await fleet.mark('completed');
        expect(await fleet.claude('Stop')).toBeNull();
        expect(fleet.causes(session)).toEqual(['incomplete', 'complete']);
      },
    ),
    differs(
      'final verification: an error if incomplete',
      'the client throws `IncompleteError`, because its caller is a program; the request `verify` is answered with 409 `INCOMPLETE` and the decision',
      async ({ service, client }) => {
        const worker = await service.worker(planned);
        await worker.publish('plan.updated', planOf('done', 'pending'));
        await expect(client.assertComplete(worker.id)).rejects.toThrow(
          expect.objectContaining({ message: '1 of 2 plan steps remain: Step 2' }) as IncompleteError,
        );
        await expect(client.assertComplete(worker.id)).rejects.toBeInstanceOf(IncompleteError);
        expect(await worker.verify()).toMatchObject({
          code: '409',
          body: { error: { code: 'INCOMPLETE' }, decision: { decision: 'block', dryRun: true } },
        });
        await worker.publish('plan.updated', planOf('done', 'done'));
        expect(await client.assertComplete(worker.id)).toMatchObject({ decision: 'allow', cause: 'complete' });
        expect((await worker.verify()).code).toBe('');
      },
    ),
    holds(
      'final verification: a stop that was allowed without being judged complete is not complete',
      async ({ service }) => {
        const capped = await service.worker({ ...planned, retries: 0 });
        await capped.publish('plan.updated', planOf('pending'));
        expect(await capped.stop()).toMatchObject({ decision: 'allow', cause: 'capped' });
        expect((await capped.verify()).code).toBe('409');
        const bypassed = await service.worker(planned);
        await bypassed.publish('plan.updated', planOf('pending'));
        expect(await bypassed.stop({ stopReason: 'budget_exhausted' })).toMatchObject({ cause: 'bypassed' });
        expect((await bypassed.verify()).code).toBe('409');
        await bypassed.publish('budget.exhausted');
        expect((await bypassed.verify()).code).toBe('409');
      },
    ),
    holds(
      'final verification: after the end of the session too, of the tasks that it held then',
      async ({ service }) => {
        const worker = await service.worker(null);
        const task = await service.task([{ type: 'validation' }]);
        await worker.publish('task.claimed', { task: task.id });
        await worker.publish('session.ended');
        expect(
          await service.wire.ask(`verify.${worker.id}`, { validation: [{ rule: 'lint', passed: false }] }),
        ).toMatchObject({
          code: '409',
          body: { error: { code: 'INCOMPLETE' }, decision: { reason: 'Failed rules: lint' } },
        });
        const passed = await service.wire.ask(`verify.${worker.id}`, { validation: [{ rule: 'lint', passed: true }] });
        expect(passed).toMatchObject({ code: '', body: { decision: 'allow', cause: 'complete', tasks: [task.id] } });
      },
    ),
  ),
];
