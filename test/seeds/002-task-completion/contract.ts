/** Seed 002, Purpose and Core Types: the input and the answer of a checker. */
import { expect } from 'vitest';
import {
  type Client,
  type TaskCompletionChecker,
  type TaskCompletionContext,
  TaskCompletionResult,
} from '../../../src/client/index.ts';
import { differs, holds, part } from '../rule.ts';
import type { SeedService } from '../service.ts';
import { createVirtualLog, planOf } from '../virtual-log.ts';

/** Creates a worker whose stops this checker judges. */
async function workerUnder(
  checker: TaskCompletionChecker,
  service: SeedService,
  client: Client,
  { onError = 'block', ...registration }: { onError?: string; cwd?: string } = {},
) {
  const name = service.newId('checker');
  await client.serveCheck(name, checker);
  return service.worker({ checks: [{ remote: name, onError }] }, registration);
}

/** Answers with `result`, and records its input. */
function createRecorder(result = TaskCompletionResult.ok()) {
  const contexts: TaskCompletionContext[] = [];
  const checker: TaskCompletionChecker = {
    check(context) {
      contexts.push(context);
      return result;
    },
  };
  return { checker, contexts };
}

export const contract = [
  part(
    'Purpose',
    differs(
      'an agent cannot stop before all its tasks are complete',
      'with `retries: null`, until a budget, a usage limit or a person lets it go; by default a stop is allowed as `capped` after 3 blocks, because an agent that cannot finish would run for ever',
      () => {
        const capped = createVirtualLog({ default: { checks: [{ plan: {} }] } });
        capped.publish('12:00', 'worker.w.plan.updated', planOf('pending'));
        expect([1, 2, 3, 4].map(() => capped.stop('12:00', 'w')?.cause).slice(2)).toEqual(['incomplete', 'capped']);
        const log = createVirtualLog({ default: { checks: [{ plan: {} }], retries: null } });
        for (const statuses of [
          ['pending', 'pending'],
          ['done', 'pending'],
          ['done', 'in_progress'],
        ]) {
          log.publish('12:00', 'worker.w.plan.updated', planOf(...statuses));
          expect(log.stop('12:00', 'w')).toMatchObject({ decision: 'block', cause: 'incomplete' });
        }
        for (const [cause, release, data, again] of [
          ['limited', 'worker.w.limit.reached', {}, 'worker.w.limit.cleared'],
          ['bypassed', 'own.worker.w.worker.paused', { by: 'ann' }, 'own.worker.w.worker.unpaused'],
        ] as const) {
          log.publish('12:00', release, data);
          expect(log.stop('12:00', 'w')).toMatchObject({ decision: 'allow', cause });
          log.publish('12:00', again, data);
          expect(log.stop('12:00', 'w')).toMatchObject({ decision: 'block', cause: 'incomplete' });
        }
        log.publish('12:01', 'worker.w.plan.updated', planOf('done', 'done'));
        expect(log.stop('12:01', 'w')).toMatchObject({ decision: 'allow', cause: 'complete' });
      },
    ),
    holds('all tasks that are assigned to it are judged: their steps and their hooks', () => {
      const log = createVirtualLog({ default: { checks: [{ plan: {} }], retries: 4 } });
      log.publish('12:00', 'task.T-1.task.created', { plan: [{ title: 'Fix login', status: 'pending', step: 's1' }] });
      log.publish('12:00', 'task.T-2.task.created', { plan: [{ title: 'Write docs', status: 'done', step: 's2' }] });
      for (const task of ['T-1', 'T-2']) {
        log.publish('12:00', `task.${task}.hook.registered`, { type: 'validation' });
        log.publish('12:01', 'worker.w.task.claimed', { task });
      }
      const passed = { validation: [{ rule: 'tests_pass', passed: true }] };
      const failed = { validation: [{ rule: 'tests_pass', passed: false }] };
      expect(log.stop('12:02', 'w', passed)).toMatchObject({
        decision: 'block',
        tasks: ['T-1', 'T-2'],
        reason: '1 of 2 plan steps remain: Fix login',
      });
      log.publish('12:03', 'worker.w.step.updated', { step: 's1', status: 'done' });
      expect(log.stop('12:04', 'w', failed)).toMatchObject({
        decision: 'block',
        reason: 'T-1: Failed rules: tests_pass',
      });
      log.publish('12:05', 'task.T-1.hooks.cleared');
      expect(log.stop('12:06', 'w', failed), 'the other one too').toMatchObject({
        decision: 'block',
        reason: 'T-2: Failed rules: tests_pass',
      });
      expect(log.stop('12:07', 'w', passed)).toMatchObject({ decision: 'allow', cause: 'complete' });
      const outcome = { state: 'stopped', outcome: 'completed' };
      expect(log.viewAt('12:07').tasks).toMatchObject({ 'T-1': outcome, 'T-2': outcome });
    }),
  ),
  part(
    'TaskCompletionResult',
    holds('`complete`: whether the tasks are complete', async ({ service, client }) => {
      const complete = await workerUnder(createRecorder().checker, service, client);
      expect(await complete.stop()).toMatchObject({ decision: 'allow', cause: 'complete' });
      const { checker } = createRecorder(TaskCompletionResult.incomplete('no'));
      const incomplete = await workerUnder(checker, service, client);
      expect(await incomplete.stop()).toMatchObject({ decision: 'block', cause: 'incomplete' });
    }),
    differs(
      '`feedback`: explains what is incomplete',
      'it becomes the `reason` of the decision, and part of its `nextPrompt`, because people and agents read different texts',
      async ({ service, client }) => {
        const { checker } = createRecorder(TaskCompletionResult.incomplete('Write the report'));
        const worker = await workerUnder(checker, service, client);
        expect(await worker.stop()).toMatchObject({
          reason: 'Write the report',
          nextPrompt: expect.stringContaining('Write the report'),
        });
      },
    ),
    holds('`ok()` and `incomplete(feedback)` make results', () => {
      expect(TaskCompletionResult.ok()).toMatchObject({ complete: true, feedback: null });
      expect(TaskCompletionResult.incomplete('2 left')).toMatchObject({ complete: false, feedback: '2 left' });
    }),
  ),
  part(
    'TaskCompletionContext',
    differs(
      '`session`: holds the state',
      'it has the plan; `get.worker` has everything else, because a request must fit into a message',
      async ({ service, client }) => {
        const { checker, contexts } = createRecorder();
        const worker = await workerUnder(checker, service, client);
        await worker.publish('plan.updated', planOf('done', 'pending'));
        await worker.stop();
        expect(contexts[0]?.session.plan).toEqual(planOf('done', 'pending').steps);
      },
    ),
    differs(
      '`tentative_output`: the output being produced',
      '`tentativeOutput`: the draft of the attempt, or else its output, because most agents report no draft',
      async ({ service, client }) => {
        const { checker, contexts } = createRecorder();
        const worker = await workerUnder(checker, service, client);
        await worker.stop({ output: 'Here it is', draft: { content: '# Report' } });
        await worker.stop({ output: '{"answer": 42}' });
        await worker.stop();
        expect(contexts.map(({ tentativeOutput }) => tentativeOutput)).toEqual(['# Report', '{"answer": 42}', null]);
      },
    ),
    differs(
      '`filesystem`: optional',
      'a served checker always has one, the folder of the worker, because the service does not run in it; if the worker has no folder, looking at a file is an error of the check, and `onError` decides',
      async ({ service, client, folder }) => {
        const checker: TaskCompletionChecker = {
          async check({ filesystem }) {
            const found = await filesystem?.exists('there.txt');
            return TaskCompletionResult.incomplete(`there.txt exists: ${found}`);
          },
        };
        const name = service.newId('checker');
        await client.serveCheck(name, checker, { roots: [folder.path] });
        const policy = { checks: [{ remote: name, onError: 'block' }] };
        await folder.write('filesystem/there.txt', '');
        const within = await service.worker(policy, { cwd: `${folder.path}/filesystem` });
        expect((await within.stop()).reason).toBe('there.txt exists: true');
        const without = await service.worker(policy);
        expect(await without.stop()).toMatchObject({
          reason: 'the worker has no folder: its registration names no cwd',
          feedback: [{ outcome: 'error' }],
        });
      },
    ),
    differs(
      '`adapter`: optional',
      'not passed, because a check should not depend on the agent; `get.worker` names the agent',
      async ({ service, client }) => {
        const { checker, contexts } = createRecorder();
        const worker = await workerUnder(checker, service, client);
        await worker.publish('worker.registered', { agent: 'claude' });
        await worker.stop();
        expect(contexts).toHaveLength(1);
        expect(contexts[0]).not.toHaveProperty('adapter');
        expect(await worker.view()).toMatchObject({ agent: 'claude' });
      },
    ),
    holds('`stop_reason`: why the agent is stopping', async ({ service, client }) => {
      const { checker, contexts } = createRecorder();
      const worker = await workerUnder(checker, service, client);
      await worker.stop({ stopReason: 'max_turns' });
      expect(contexts).toMatchObject([{ stopReason: 'max_turns' }]);
    }),
  ),
  part(
    'TaskCompletionChecker Protocol',
    holds('a checker is an object whose `check(context)` gives a result', async ({ service, client }) => {
      class LengthChecker implements TaskCompletionChecker {
        check({ tentativeOutput }: TaskCompletionContext) {
          return String(tentativeOutput).length > 5
            ? TaskCompletionResult.ok()
            : TaskCompletionResult.incomplete('short');
        }
      }
      const worker = await workerUnder(new LengthChecker(), service, client);
      expect(await worker.stop({ output: 'brief' })).toMatchObject({ decision: 'block', reason: 'short' });
      expect(await worker.stop({ output: 'not so brief' })).toMatchObject({ decision: 'allow', cause: 'complete' });
    }),
  ),
];
