/** Seed 002, Built-in Implementations, Custom Checker Example and Operational Notes. */
import { expect } from 'vitest';
import {
  CompositeChecker,
  FileExistsChecker,
  type Plan,
  PlanBasedChecker,
  type TaskCompletionContext,
  TaskCompletionResult,
} from '../../../src/client/index.ts';
import { createAgentFleet } from '../../unit/agents/agent-fleet.ts';
import { recordingsOf } from '../../unit/agents/recordings/recordings.ts';
import { createClaudeFleet, session } from '../claude-fleet.ts';
import { differs, holds, part } from '../rule.ts';
import { createVirtualLog, planOf } from '../virtual-log.ts';

const planChecked = { default: { checks: [{ plan: {} }] } };

/** Returns the decision about a worker with this plan. */
function decisionFor(steps: Plan, policies: object = planChecked) {
  const log = createVirtualLog(policies);
  log.publish('12:00', 'worker.w.plan.updated', { steps });
  return log.stop('12:01', 'w');
}

/** The seed's own pair of checkers. The file exists if `files` names it. */
function checkPair(allMustPass: boolean, plan: Plan, files: readonly string[]) {
  const checkers = [new PlanBasedChecker(), new FileExistsChecker(['output.txt'])];
  const context: TaskCompletionContext = {
    session: { plan },
    tentativeOutput: null,
    filesystem: { exists: (path) => files.includes(path) },
    stopReason: null,
  };
  return new CompositeChecker({ checkers, allMustPass }).check(context);
}
const open: Plan = [{ title: 'Write tests', status: 'pending' }];
const remaining = '1 of 1 plan steps remain: Write tests';

const fileContext = (filesystem: TaskCompletionContext['filesystem']): TaskCompletionContext => ({
  session: { plan: [] },
  tentativeOutput: null,
  filesystem,
  stopReason: null,
});

export const checkers = [
  part(
    'PlanBasedChecker',
    differs(
      '`plan_type`: which plan of the session counts',
      'there is no choice, because agents name their lists of todos differently: a worker has one plan',
      async () => {
        const claude = createClaudeFleet({});
        await claude.mark('pending');
        expect(claude.view(session).plan).toMatchObject([{ title: 'Write the tests', status: 'pending' }]);
        const gemini = createAgentFleet({});
        await gemini.call('gemini', recordingsOf('gemini').recorded('AfterTool.write_todos'));
        const [worker = ''] = gemini.workers();
        expect(gemini.view(worker).plan).toMatchObject([{ title: 'Write the tests' }, { title: 'Fix the lint' }]);
      },
    ),
    differs(
      'checks the plan of the session',
      'and the steps of the tasks that the worker holds, which a list of the agent’s own does not remove, because an agent that writes its list again must not lose assigned work by that',
      () => {
        const log = createVirtualLog(planChecked);
        log.publish('12:00', 'worker.w.plan.updated', planOf('pending'));
        expect(log.stop('12:01', 'w')).toMatchObject({ decision: 'block', reason: '1 of 1 plan steps remain: Step 1' });
        log.publish('12:02', 'worker.w.plan.updated', planOf('done'));
        expect(log.stop('12:03', 'w')).toMatchObject({ decision: 'allow', cause: 'complete' });

        log.publish('12:04', 'task.T-1.task.created', {
          plan: [{ title: 'Fix login', status: 'pending', step: 's1' }],
        });
        log.publish('12:05', 'worker.w.task.claimed', { task: 'T-1' });
        log.publish('12:06', 'worker.w.plan.updated', planOf('done'));
        const open = { decision: 'block', reason: '1 of 2 plan steps remain: Fix login' };
        expect(log.stop('12:07', 'w')).toMatchObject(open);
        log.publish('12:08', 'worker.w.plan.updated', { steps: [{ title: 'Fix login', status: 'done', step: 's1' }] });
        expect(log.stop('12:09', 'w'), 'it is the task’s step').toMatchObject({ decision: 'allow', cause: 'complete' });
      },
    ),
    differs(
      'incomplete while a step has a status other than `done`',
      '`completed` and `cancelled` count as done too, because agents write `completed`, and nobody has to do a cancelled step',
      () => {
        for (const status of ['pending', 'in_progress', 'blocked', 'Done', ''])
          expect(decisionFor([{ title: 'a', status }]), status).toMatchObject({ decision: 'block' });
        for (const status of ['done', 'completed', 'cancelled'])
          expect(decisionFor([{ title: 'a', status }]), status).toMatchObject({ decision: 'allow' });
      },
    ),
    holds('complete if there is no step', () => {
      expect(decisionFor([])).toMatchObject({ decision: 'allow', cause: 'complete' });
      expect(createVirtualLog(planChecked).stop('12:00', 'w')).toMatchObject({ decision: 'allow', cause: 'complete' });
    }),
  ),
  part(
    'CompositeChecker',
    holds('`all_must_pass=True`: all must pass, and the first that does not gives the feedback', async () => {
      expect(await checkPair(true, open, [])).toMatchObject({ complete: false, feedback: remaining });
      expect(await checkPair(true, [], [])).toMatchObject({ feedback: 'Missing required files: output.txt' });
      expect(await checkPair(true, [], ['output.txt'])).toEqual(TaskCompletionResult.ok());
      const all = { default: { checks: [{ all: [{ plan: {} }, { rules: ['lint'] }] }] } };
      expect(decisionFor(open, all)).toMatchObject({ decision: 'block', reason: remaining });
      expect(decisionFor([], all)).toMatchObject({ decision: 'block', reason: 'Failed rules: lint' });
    }),
    holds('`all_must_pass=False`: one is enough; if none passes, the feedback names all', async () => {
      expect(await checkPair(false, open, ['output.txt'])).toEqual(TaskCompletionResult.ok());
      expect(await checkPair(false, [], [])).toEqual(TaskCompletionResult.ok());
      const both = `${remaining}; or Missing required files: output.txt`;
      expect(await checkPair(false, open, [])).toMatchObject({ complete: false, feedback: both });
      const any = { default: { checks: [{ any: [{ plan: {} }, { rules: ['lint'] }] }] } };
      expect(decisionFor([], any)).toMatchObject({ decision: 'allow', cause: 'complete' });
      expect(decisionFor(open, any)).toMatchObject({ reason: `${remaining}; or Failed rules: lint` });
    }),
  ),
];

/** Returns the decision about a worker that has used up its budget. */
function overBudget(budget: object, type: string, data: object) {
  const log = createVirtualLog({ default: { checks: [{ remote: 'never-asked' }], budget } });
  log.publish('12:00', 'worker.w.worker.registered');
  log.publish('12:00', `worker.w.${type}`, data);
  return log.stop('12:01', 'w');
}

export const notes = [
  part(
    'Custom Checker Example',
    holds('missing files: incomplete, `Missing required files: a, b`', async ({ service, folder }) => {
      const checker = new FileExistsChecker(['a.md', 'there.md', 'b.md']);
      const found = await checker.check(fileContext({ exists: (path) => path === 'there.md' }));
      expect(found).toEqual(TaskCompletionResult.incomplete('Missing required files: a.md, b.md'));
      await folder.write('missing/there.md', '');
      const policy = { checks: [{ files: ['a.md', 'there.md', 'b.md'] }] };
      const worker = await service.worker(policy, { cwd: `${folder.path}/missing` });
      expect(await worker.stop()).toMatchObject({ decision: 'block', reason: 'Missing required files: a.md, b.md' });
    }),
    holds('all files exist: complete', async ({ service, folder }) => {
      const checker = new FileExistsChecker(['a.md']);
      expect(await checker.check(fileContext({ exists: () => true }))).toEqual(TaskCompletionResult.ok());
      await folder.write('there/a.md', '');
      const worker = await service.worker({ checks: [{ files: ['a.md'] }] }, { cwd: `${folder.path}/there` });
      expect(await worker.stop()).toMatchObject({ decision: 'allow', cause: 'complete' });
    }),
    differs(
      'no file system: complete',
      'true of the checker itself, called with `filesystem: null`; a check of the service that cannot look is in error, because it has not judged anything: by default the stop is then allowed, with a reason that says so',
      async ({ service }) => {
        const checker = new FileExistsChecker(['a.md']);
        expect(await checker.check(fileContext(null))).toEqual(TaskCompletionResult.ok());
        const worker = await service.worker({ checks: [{ files: ['a.md'] }] }, { cwd: '/nowhere' });
        expect(await worker.stop()).toMatchObject({
          decision: 'allow',
          reason: expect.stringMatching(/^Allowed, though a check could not be judged: /),
        });
      },
    ),
  ),
  part(
    'Operational Notes',
    holds('disabled by default: without a checker nothing is checked', () => {
      expect(decisionFor(open, {})).toMatchObject({ decision: 'allow', cause: 'no-policy' });
      expect(decisionFor(open, { default: {} })).toMatchObject({ decision: 'allow', cause: 'no-policy' });
    }),
    differs(
      'skipped when the budget or the deadline is exhausted',
      'at a stop; `verify` judges the work all the same, because it says what is done, and not whether the agent may stop',
      async ({ service }) => {
        const policies = { default: { checks: [{ remote: 'never-asked' }] } };
        const spent = createVirtualLog(policies);
        spent.publish('12:00', 'worker.w.budget.exhausted', { kind: 'tokens' });
        const decisions = [
          spent.stop('12:01', 'w'),
          createVirtualLog(policies).stop('12:01', 'w', { stopReason: 'budget_exhausted' }),
          createVirtualLog(policies).stop('12:01', 'w', { stopReason: 'deadline_exceeded' }),
          overBudget({ usd: 10 }, 'usage.reported', { usd: 10 }),
          overBudget({ time: '1m' }, 'heartbeat.sent', {}),
        ];
        for (const decision of decisions) {
          expect(decision).toMatchObject({ decision: 'allow', cause: 'bypassed' });
          expect(decision?.verdicts.map(({ guard }) => guard)).not.toContain('checks');
        }
        expect(createVirtualLog(policies).stop('12:01', 'w', { stopReason: 'end_turn' }), 'it is asked').toBeNull();

        const worker = await service.worker({ checks: [{ plan: {} }], budget: { tokens: 100 } });
        await worker.publish('plan.updated', planOf('pending'));
        await worker.publish('usage.reported', { output: 100 });
        expect(await worker.stop()).toMatchObject({ decision: 'allow', cause: 'bypassed' });
        expect(await worker.verify()).toMatchObject({ code: '409', body: { decision: { cause: 'incomplete' } } });
      },
    ),
    holds('the feedback about a plan names three titles at most', () => {
      const four = planOf('pending', 'pending', 'pending', 'pending').steps;
      expect(decisionFor(four)?.reason).toBe('4 of 4 plan steps remain: Step 1, Step 2, Step 3, …');
      const three = planOf('pending', 'done', 'pending', 'pending').steps;
      expect(decisionFor(three)?.reason).toBe('3 of 4 plan steps remain: Step 1, Step 3, Step 4');
    }),
  ),
];
