/** Seed 000, from Adapter Handling to Common Validators. */
import { expect } from 'vitest';
import { compositeValidator, todoValidator, ValidationResult, type Validator } from '../../../src/client/index.ts';
import { continues, createClaudeFleet, session } from '../claude-fleet.ts';
import { differs, holds, inCase, part } from '../rule.ts';
import { createVirtualLog, planOf } from '../virtual-log.ts';

const planned = { checks: [{ plan: {} }] };
const params = { stopReason: 'end_turn', toolCount: 0, retryCount: 0 };
const todos = (...statuses: readonly string[]) => statuses.map((status) => ({ status }));

/** Records in `asked` that it was asked. */
const validator =
  (asked: string[], name: string, complete: boolean): Validator =>
  () => {
    asked.push(name);
    return new ValidationResult({ complete, reason: `${name} says so` });
  };

export const adapter = [
  part(
    'Adapter Handling',
    differs(
      'the stop reason is taken from the call; `end_turn` if it has none',
      'on the wire it is then null, because nobody gave one; the clients read that as `end_turn`, and the adapter of Claude Code sends `end_turn`, because its calls have no reason',
      async ({ service, client }) => {
        const name = service.newId('validator');
        const reasons: string[] = [];
        await client.serveCheck(name, ({ stopReason }) => {
          reasons.push(stopReason);
          return new ValidationResult({ complete: false, reason: 'no' });
        });
        const worker = await service.worker({ checks: [{ remote: name }] });
        await worker.stop({ stopReason: 'max_turns' });
        await worker.stop();
        await service.claude(worker.id, 'Stop');
        expect(reasons).toEqual(['max_turns', 'end_turn', 'end_turn']);
        const attempts = await service.entries(`worker.${worker.id}.stop.attempted`);
        expect(attempts.map(({ data }) => data.stopReason)).toEqual(['max_turns', undefined, 'end_turn']);
      },
    ),
    holds('no validator: an empty answer, the stop is allowed', async () => {
      const fleet = createClaudeFleet({});
      await fleet.mark('pending');
      expect(await fleet.claude('Stop')).toBeNull();
      expect(fleet.causes(session)).toEqual(['no-policy']);
    }),
    differs(
      'at the cap the validator is not invoked: an empty answer, and a warning',
      'it is asked once more, because work that was finished after the last block is complete; only what fails again is capped, with a warning',
      async ({ service }) => {
        const { name, asked } = await service.serveCheck(() => ({ complete: asked.length === 4, reason: 'not yet' }));
        const worker = await service.worker({ checks: [{ remote: name }], retries: 1 });
        expect(await worker.stop()).toMatchObject({ decision: 'block' });
        expect(await worker.stop()).toMatchObject({ decision: 'allow', cause: 'capped' });
        expect(service.warnings).toContainEqual(
          expect.objectContaining({ message: 'stop allowed at the cap', workerId: worker.id }),
        );
        expect(await worker.stop()).toMatchObject({ decision: 'block' });
        expect(await worker.stop()).toMatchObject({ decision: 'allow', cause: 'complete' });
        const fleet = createClaudeFleet({ ...planned, retries: 0 });
        await fleet.mark('pending');
        expect(await fleet.claude('Stop')).toBeNull();
        expect(fleet.causes(session)).toEqual(['capped']);
      },
    ),
    holds(
      'not complete: the retry count goes up by one',
      inCase('retries', 'three stops are blocked, the fourth is allowed as capped'),
    ),
    differs(
      'not complete: the answer is `decision: "block"` with the reason',
      '`reason` has the next prompt, because it tells the agent what to do, and then how a person can let the agent stop; versions that continue by `additionalContext` get the same text there, because they show no error then',
      async () => {
        const fleet = createClaudeFleet(planned);
        await fleet.mark('pending');
        const prompt = 'Not done yet: 1 of 1 plan steps remain: Write the tests. Finish what remains, then stop again.';
        const wayOut = 'A person can let it stop unjudged by typing /stopgate off.';
        const older = { prompt_id: undefined };
        expect(await fleet.claude('Stop', older)).toEqual({ decision: 'block', reason: `${prompt} ${wayOut}` });
        expect(await fleet.claude('Stop')).toEqual(continues(`${prompt} ${wayOut}`));
      },
    ),
    holds('complete: an empty answer', async () => {
      const fleet = createClaudeFleet(planned);
      await fleet.mark('completed');
      expect(await fleet.claude('Stop')).toBeNull();
      expect(fleet.causes(session)).toEqual(['complete']);
    }),
  ),
  part(
    'Configuration',
    holds('`completion_validator`: none by default', () => {
      const log = createVirtualLog({});
      log.publish('12:00', 'worker.w.plan.updated', planOf('pending'));
      expect(log.stop('12:01', 'w')).toMatchObject({ decision: 'allow', cause: 'no-policy' });
    }),
    differs(
      '`max_stop_retries`: 3 by default',
      '`retries` of the policy, because policies differ in what they ask for',
      inCase('retries', 'three stops are blocked, the fourth is allowed as capped'),
    ),
    holds('`max_stop_retries` may be another number', inCase('retries', "the cap is the policy's")),
  ),
  part(
    'Common Validators',
    differs(
      'todo validator: todos remain, `n todos remaining`',
      'a todo that is `done` or `cancelled` does not remain, because agents name a finished todo either way, and nobody has to do a cancelled one',
      async ({ service, client }) => {
        const validate = todoValidator(() => todos('completed', 'in_progress', 'pending', 'done', 'cancelled'));
        expect((await validate(params)).render()).toBe('[incomplete] 2 todos remaining');
        const name = service.newId('todos');
        await client.serveCheck(name, todoValidator());
        const worker = await service.worker({ checks: [{ remote: name }] });
        await worker.publish('plan.updated', planOf('pending'));
        expect(await worker.stop()).toMatchObject({ decision: 'block', reason: '1 todos remaining' });
      },
    ),
    holds('todo validator: none remains, `All todos done`', async ({ service, client }) => {
      for (const given of [todos(), todos('completed', 'completed')])
        expect((await todoValidator(() => given)(params)).render()).toBe('[complete] All todos done');
      const name = service.newId('todos');
      await client.serveCheck(name, todoValidator());
      const worker = await service.worker({ checks: [{ remote: name }] });
      await worker.publish('plan.updated', planOf('completed'));
      expect(await worker.stop()).toMatchObject({ decision: 'allow', cause: 'complete' });
    }),
    holds('composite validator: all pass, in order, `All validators passed`', async () => {
      const asked: string[] = [];
      const all = compositeValidator(validator(asked, 'a', true), validator(asked, 'b', true));
      expect((await all(params)).render()).toBe('[complete] All validators passed');
      expect(asked).toEqual(['a', 'b']);
    }),
    holds('composite validator: the first that is not complete is the result', async ({ service, client }) => {
      const asked: string[] = [];
      const validators = [validator(asked, 'a', true), validator(asked, 'b', false), validator(asked, 'c', false)];
      const all = compositeValidator(...validators);
      expect((await all(params)).render()).toBe('[incomplete] b says so');
      expect(asked).toEqual(['a', 'b']);
      const name = service.newId('all');
      await client.serveCheck(name, all);
      const worker = await service.worker({ checks: [{ remote: name }] });
      expect(await worker.stop()).toMatchObject({ decision: 'block', reason: 'b says so' });
    }),
  ),
];
