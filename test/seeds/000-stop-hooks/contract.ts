/** Seed 000, from Purpose to Workspace Integration: the validator's input and answer, and where it is attached. */
import { expect } from 'vitest';
import { type AgentContext, ValidationResult, type Validator } from '../../../src/client/index.ts';
import { continues, createClaudeFleet, session } from '../claude-fleet.ts';
import { differs, holds, part } from '../rule.ts';
import { createVirtualLog } from '../virtual-log.ts';

const planned = { checks: [{ plan: {} }] };

/** Returns the decision about a worker with these todos. */
function decisionFor(todos: readonly (readonly [title: string, status: string])[]) {
  const log = createVirtualLog({ default: planned });
  log.publish('12:00', 'worker.w.plan.updated', { steps: todos.map(([title, status]) => ({ title, status })) });
  return log.stop('12:01', 'w');
}

export const contract = [
  part(
    'Purpose',
    holds(
      'a validator checks that the task is complete before the agent ends; its adapter asks, not the agent',
      async () => {
        const fleet = createClaudeFleet(planned);
        await fleet.mark('pending');
        expect(fleet.causes(session)).toEqual([]);
        expect(await fleet.claude('Stop')).toEqual(continues());
        expect(fleet.causes(session)).toEqual(['incomplete']);
      },
    ),
  ),
  part(
    'Design',
    holds('an attempt to stop fires the stop hook, which invokes the validator', async ({ service }) => {
      const { name, asked } = await service.serveCheck(() => ({ complete: true }));
      const worker = await service.worker({ checks: [{ remote: name }] });
      expect(asked).toEqual([]);
      await worker.stop();
      expect(asked).toMatchObject([{ worker: worker.id }]);
    }),
    holds('`complete=true`: the stop is allowed', async ({ service }) => {
      const { name } = await service.serveCheck(() => ({ complete: true, reason: 'All todos done' }));
      const worker = await service.worker({ checks: [{ remote: name }] });
      expect(await worker.stop()).toMatchObject({ decision: 'allow', action: 'complete', cause: 'complete' });
    }),
    holds('`complete=false`: blocked with the reason, and the next attempt asks again', async ({ service }) => {
      const { name, asked } = await service.serveCheck(() => ({ complete: false, reason: `${asked.length} failed` }));
      const worker = await service.worker({ checks: [{ remote: name }] });
      expect(await worker.stop()).toMatchObject({ decision: 'block', reason: '1 failed' });
      expect(await worker.stop()).toMatchObject({ decision: 'block', reason: '2 failed' });
    }),
  ),
  part(
    'Contract: ValidationParams',
    differs(
      '`stop_reason`: the reason that the agent gives',
      'on the wire `stopReason`, because JSON uses camel case',
      async ({ service }) => {
        const { name, asked } = await service.serveCheck(() => ({ complete: false, reason: 'no' }));
        const worker = await service.worker({ checks: [{ remote: name }] });
        for (const stopReason of ['end_turn', 'max_turns']) await worker.stop({ stopReason });
        expect(asked).toMatchObject([{ stopReason: 'end_turn' }, { stopReason: 'max_turns' }]);
      },
    ),
    differs(
      '`tool_count`: how many tools were used',
      'on the wire `toolCount`, because JSON uses camel case',
      async ({ service }) => {
        const { name, asked } = await service.serveCheck(() => ({ complete: false, reason: 'no' }));
        const worker = await service.worker({ checks: [{ remote: name }] });
        await worker.stop();
        for (const tool of ['Read', 'Edit', 'Bash']) await worker.publish('tool.used', { tool });
        await worker.stop();
        expect(asked).toMatchObject([{ toolCount: 0 }, { toolCount: 3 }]);
      },
    ),
    differs(
      '`retry_count`: how many times the stop was blocked, 0 on the first attempt',
      'on the wire `retryCount`, because JSON uses camel case; it begins again at 0 after an allowed stop, a person’s prompt, a claim or the end of a task, because the agent has another piece of work then',
      async ({ service }) => {
        const { name, asked } = await service.serveCheck(() => ({ complete: false, reason: 'no' }));
        const worker = await service.worker({ checks: [{ remote: name }] });
        const begin: [string, object][] = [
          ['prompt.submitted', {}],
          ['task.claimed', { task: service.newId('T') }],
        ];
        for (const [type, data] of begin) {
          for (let count = 0; count < 3; count += 1) await worker.stop();
          await worker.publish(type, data);
        }
        await worker.stop();
        expect(asked.map(({ retryCount }) => retryCount)).toEqual([0, 1, 2, 0, 1, 2, 0]);
      },
    ),
  ),
  part(
    'Contract: ValidationResult',
    holds('`complete`: whether the task counts as complete', async ({ service, client }) => {
      const name = service.newId('validator');
      await client.serveCheck(name, ({ toolCount }) => new ValidationResult({ complete: toolCount > 0, reason: 'r' }));
      const worker = await service.worker({ checks: [{ remote: name }] });
      expect(await worker.stop()).toMatchObject({ decision: 'block' });
      await worker.publish('tool.used', { tool: 'Edit' });
      expect(await worker.stop()).toMatchObject({ decision: 'allow', cause: 'complete' });
    }),
    holds('`reason`: an explanation for people', async ({ service, client }) => {
      const name = service.newId('validator');
      await client.serveCheck(name, () => new ValidationResult({ complete: false, reason: '2 tests are red' }));
      const worker = await service.worker({ checks: [{ remote: name }] });
      expect(await worker.stop()).toMatchObject({
        reason: '2 tests are red',
        nextPrompt: expect.stringContaining('2 tests are red'),
      });
    }),
    holds('`render()`: the status, then the reason', () => {
      const complete = new ValidationResult({ complete: true, reason: 'All todos done' });
      const incomplete = new ValidationResult({ complete: false, reason: '2 todos remaining' });
      expect(complete.render()).toBe('[complete] All todos done');
      expect(incomplete.render()).toBe('[incomplete] 2 todos remaining');
    }),
  ),
  part(
    'Tool Definition',
    differs(
      'the tool `validate_completion` is the validator; the name is reserved',
      'no name is reserved, because a policy may have several checks: one may have any name, and the process that serves that name is the validator',
      async ({ service }) => {
        const { asked } = await service.serveCheck(
          () => ({ complete: false, reason: 'not yet' }),
          'validate_completion',
        );
        const worker = await service.worker({ checks: [{ remote: 'validate_completion' }] });
        expect(await worker.stop()).toMatchObject({ decision: 'block', reason: 'not yet' });
        expect(asked).toHaveLength(1);
      },
    ),
    differs(
      'it takes `ValidationParams` and returns `ValidationResult`',
      'so does a served check; an agent that asks on its own has the MCP tool `verify`, which returns `complete` and `reason` and takes the id of a worker, because the service knows the rest',
      async ({ service, client, mcp }) => {
        const name = service.newId('validator');
        const validate: Validator = ({ stopReason, toolCount, retryCount }) =>
          new ValidationResult({ complete: false, reason: `${stopReason}, ${toolCount}, ${retryCount}` });
        await client.serveCheck(name, validate);
        const served = await service.worker({ checks: [{ remote: name }] });
        expect(await served.stop({ stopReason: 'max_turns' })).toMatchObject({ reason: 'max_turns, 0, 0' });

        const worker = await service.worker(planned);
        await worker.publish('plan.updated', { steps: [{ title: 'Write tests', status: 'pending' }] });
        expect(await mcp.ok('verify', { worker: worker.id, stopReason: 'end_turn' })).toMatchObject({
          complete: false,
          reason: '1 of 1 plan steps remain: Write tests',
        });
        await worker.publish('plan.updated', { steps: [] });
        expect(await mcp.ok('verify', { worker: worker.id })).toMatchObject({ complete: true });
      },
    ),
    differs(
      'it returns a `ToolResult`: a message beside the value',
      'there is only the value, because an agent reads one text: its reason is what the agent reads, and it may carry `feedback` as data',
      async ({ service }) => {
        const { name } = await service.serveCheck(() => ({
          complete: false,
          reason: '2 left',
          feedback: { left: ['a', 'b'] },
          message: 'Incomplete todos',
        }));
        const worker = await service.worker({ checks: [{ remote: name }] });
        const blocked = await worker.stop();
        expect(blocked).toMatchObject({ reason: '2 left', feedback: [{ details: { left: ['a', 'b'] } }] });
        expect(JSON.stringify(blocked)).not.toContain('Incomplete todos');
      },
    ),
    differs(
      'it is given a `ToolContext` beside the parameters, which has the session',
      'both are one object, because both come over the wire: the parameters, the plan, the task, the files, the folder',
      async ({ service, client }) => {
        const name = service.newId('validator');
        const given: AgentContext[] = [];
        await client.serveCheck(name, (context) => {
          given.push(context);
          return new ValidationResult({ complete: true, reason: 'r' });
        });
        const worker = await service.worker({ checks: [{ remote: name }] }, { cwd: '/srv/repo' });
        await worker.publish('plan.updated', { steps: [{ title: 'Write tests', status: 'done' }] });
        await worker.stop();
        expect(given).toMatchObject([
          { stopReason: 'end_turn', retryCount: 0, plan: [{ title: 'Write tests' }], cwd: '/srv/repo', taskId: null },
        ]);
      },
    ),
    differs(
      'the default validator says complete, with the reason "No validation configured"',
      'a stop without any check is allowed with the cause `no-policy`, because `complete` would say that something was checked; its reason is "No check or hook was set for this stop"',
      () => {
        expect(createVirtualLog().stop('12:00', 'w')).toMatchObject({
          decision: 'allow',
          action: 'complete',
          cause: 'no-policy',
          reason: 'No check or hook was set for this stop',
        });
      },
    ),
  ),
  part(
    'Workspace Integration',
    differs(
      'the validator is attached to the workspace section',
      'it is attached to the policy that the worker names, because many workers share rules',
      async ({ service }) => {
        const { name, asked } = await service.serveCheck(() => ({ complete: false, reason: 'no' }));
        const [attached, other] = [await service.worker({ checks: [{ remote: name }] }), await service.worker({})];
        expect(await attached.stop()).toMatchObject({ decision: 'block' });
        expect(await other.stop()).toMatchObject({ decision: 'allow', cause: 'no-policy' });
        expect(asked).toHaveLength(1);
      },
    ),
    differs(
      'folders of the host are mounted into the workspace (`mounts`)',
      'nothing is mounted, because agents work in the user’s own folders: a check looks at the folder in which the worker says that it works (`cwd`)',
      async ({ service, folder }) => {
        await folder.write('here/output.txt', '');
        const policy = { checks: [{ files: ['output.txt'] }] };
        const [here, there] = [
          await service.worker(policy, { cwd: `${folder.path}/here` }),
          await service.worker(policy, { cwd: folder.path }),
        ];
        expect(await here.stop()).toMatchObject({ decision: 'allow', cause: 'complete' });
        expect(await there.stop()).toMatchObject({ reason: 'Missing required files: output.txt' });
      },
    ),
    holds('only folders under the allowed roots are read', async ({ service, folder }) => {
      await folder.write('allowed/output.txt', '');
      const policy = { checks: [{ files: ['output.txt'], onError: 'block' }] };
      const within = await service.worker(policy, { cwd: `${folder.path}/allowed` });
      expect(await within.stop()).toMatchObject({ decision: 'allow', cause: 'complete' });
      for (const cwd of ['/', `${folder.path}/..`]) {
        const outside = await service.worker(policy, { cwd });
        expect(await outside.stop()).toMatchObject({
          decision: 'block',
          feedback: [{ outcome: 'error', message: expect.stringContaining('is outside the runner') }],
        });
      }
    }),
    differs(
      'todos with a status other than `completed` make it incomplete',
      '`done` and `cancelled` count as done too, because agents name a finished todo either way, and nobody has to do a cancelled one',
      () => {
        for (const status of ['pending', 'in_progress', 'Completed', 'failed'])
          expect(decisionFor([['a', status]]), status).toMatchObject({ decision: 'block', cause: 'incomplete' });
        for (const status of ['completed', 'done', 'cancelled'])
          expect(decisionFor([['a', status]]), status).toMatchObject({ decision: 'allow', cause: 'complete' });
      },
    ),
    differs(
      'the reason counts them, and names three, cut to 30 characters each',
      '`n of m plan steps remain: …`, which also gives the total, because three of four is not three of forty',
      () => {
        const long = 'Write the tests of the new parser and run them';
        const todos = [long, 'Fix lint', 'Update docs', 'Release'].map((title) => [title, 'pending'] as const);
        expect(decisionFor([...todos, ['Read', 'completed']])?.reason).toBe(
          '4 of 5 plan steps remain: Write the tests of the new par, Fix lint, Update docs, …',
        );
      },
    ),
    holds('all todos completed: complete', () => {
      const todos = [
        ['Write tests', 'completed'],
        ['Fix lint', 'completed'],
      ] as const;
      expect(decisionFor(todos)).toMatchObject({ decision: 'allow', action: 'complete', cause: 'complete' });
    }),
  ),
];
