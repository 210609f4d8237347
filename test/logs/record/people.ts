/** Histories of escalations, requests, budgets and usage limits. */
import { claim, plan, prompt, register, type Scenarios } from './scenario.ts';

const giveUp = '<promise>ESCALATE</promise>';

export const people: Scenarios = {
  'escalation-and-answers': {
    shows: 'A person gets a notice of an escalation, acknowledges it, and resumes, stops or retires the worker.',
    config: (url: string) => ({
      policies: { default: { promises: true, checks: [{ plan: {} }] } },
      escalation: { webhook: { url } },
    }),
    async play(stage) {
      const operator = (tail: string, data: object = {}) => stage.entry(`own.${tail}`, { by: 'ann', ...data });
      await register(stage, 'w1');
      await claim(stage, 'w1', 'T-1');
      await stage.decide('w1', { attempt: 'a1', output: giveUp });
      await stage.seen('own.worker.w1.escalation.notified');
      await operator('worker.w1.escalation.acknowledged');
      await stage.decide('w1', { attempt: 'a2' });
      await stage.entry('worker.w1.tool.used', { tool: 'Bash' });
      await operator('worker.w1.escalation.resolved', { verdict: 'resume', prompt: 'Use the new key' });
      await operator('task.T-1.escalation.acknowledged');
      await operator('task.T-1.escalation.resolved', { verdict: 'resume' });
      await claim(stage, 'w1', 'T-1');
      await stage.entry('worker.w1.task.failed', { task: 'T-1', reason: 'No access to the database' });
      await stage.seen('own.task.T-1.escalation.notified');
      await operator('task.T-1.escalation.resolved', { verdict: 'stop' });
      await stage.decide('w1', { attempt: 'a3', output: giveUp });
      await operator('worker.w1.escalation.resolved', { verdict: 'stop' });
      await prompt(stage, 'w1', 'Once more');
      await operator('worker.w1.worker.retired');
      await stage.decide('w1', { attempt: 'a4' });
      await claim(stage, 'w1', 'T-2');
      await register(stage, 'w1');
      await operator('worker.w9.escalation.resolved', { verdict: 'stop' });
    },
  },

  'stale-worker-escalated': {
    shows: 'With onStale: escalate, a worker that is silent for two minutes while it holds a task needs a person.',
    config: { policies: { default: { onStale: 'escalate' } } },
    async play(stage) {
      await register(stage, 'w1');
      await claim(stage, 'w1', 'T-1');
      await register(stage, 'w2');
      await stage.seen('own.worker.w1.timer.fired');
      await stage.entry('own.worker.w1.escalation.resolved', { by: 'ann', verdict: 'resume' });
      await stage.decide('w1', { attempt: 'a1' });
    },
  },

  'permission-that-waits': {
    shows: 'People get a notice of a permission request that waits too long; an operator answers it, once.',
    config: (url: string) => ({
      policies: { default: { ask: '5m', checks: [{ plan: {} }] } },
      escalation: { waiting: '1s', webhook: { url } },
    }),
    async play(stage) {
      await register(stage, 'w1');
      await prompt(stage, 'w1', 'Clean up');
      await stage.entry('worker.w1.input.requested', {
        kind: 'permission',
        request: 'p1',
        tool: 'Bash',
        detail: 'rm -r build',
        message: 'May I remove the folder?',
      });
      await stage.decide('w1', { attempt: 'a1' });
      await stage.seen('own.worker.w1.escalation.notified');
      await stage.entry('own.worker.w1.escalation.acknowledged', { by: 'ann' });
      const answer = { by: 'ann', request: 'p1', verdict: 'allow', message: 'Only that one' };
      await stage.entry('own.worker.w1.input.answered', answer);
      await stage.entry('own.worker.w1.input.answered', { ...answer, by: 'bob', verdict: 'deny' });
      await stage.entry('worker.w1.input.requested', { kind: 'question', request: 'q1', message: 'Which branch?' });
      await stage.entry('worker.w1.input.requested', { kind: 'question', request: 'q2', message: 'And which name?' });
      await stage.entry('worker.w1.input.received', { request: 'q1' });
      await stage.decide('w1', { attempt: 'a2' });
      await stage.entry('worker.w1.input.received');
      await stage.decide('w1', { attempt: 'a3' });
      await prompt(stage, 'w1', 'Push it');
      await stage.entry('worker.w1.input.requested', {
        kind: 'permission',
        request: 'p2',
        tool: 'Bash',
        detail: 'git push',
      });
      await stage.seen('own.worker.w1.escalation.notified', 2);
    },
  },

  'unattended-queue': {
    shows: 'People get notices of a queue with ready tasks that no live worker can take, until a worker attends it.',
    config: (url: string) => ({ escalation: { unattended: '1s', webhook: { url } } }),
    async play(stage) {
      await stage.entry('task.T-1.task.created', { title: 'Fix the login', queue: 'build' });
      await stage.entry('task.T-2.task.created', { title: 'Deploy', queue: 'build', after: ['T-1'] });
      await stage.seen('own.queue.build.escalation.notified');
      await stage.entry('own.queue.build.escalation.acknowledged', { by: 'ann' });
      await register(stage, 'w1', { queue: 'build' });
      await stage.ask('claim-next.w1');
      await stage.entry('worker.w1.task.completed', { task: 'T-1' });
      await stage.entry('worker.w1.session.ended');
      await stage.seen('own.queue.build.escalation.notified', 2);
    },
  },

  'budget-of-a-session': {
    shows: 'A used-up budget ends the judgement of stops; resuming an escalated worker grants the budget again.',
    config: {
      policies: {
        default: { budget: { usd: 1 }, onBudget: 'escalate', checks: [{ plan: {} }] },
        turns: { budget: { turns: 2, per: 'prompt' }, checks: [{ plan: {} }] },
        task: { budget: { tokens: 1_000, per: 'task' }, checks: [{ plan: {} }] },
      },
    },
    async play(stage) {
      const used = (worker: string, fields: object) => stage.entry(`worker.${worker}.usage.reported`, fields);
      for (const [worker, policy] of Object.entries({ w1: 'default', w2: 'turns', w3: 'task' })) {
        await register(stage, worker, { policy });
        await plan(stage, worker, [], ['Fix the code']);
      }
      await used('w1', { input: 1_000, output: 100, cacheRead: 5_000, usd: 0.6, model: 'm1' });
      await stage.decide('w1', { attempt: 'a1' });
      await used('w1', { usd: 0.4 });
      await stage.decide('w1', { attempt: 'a2' });
      await stage.entry('own.worker.w1.escalation.resolved', { by: 'ann', verdict: 'resume' });
      await used('w1', { usd: 0.999_999_999 });
      await stage.decide('w1', { attempt: 'a3' });
      await used('w1', { usd: 0.000_000_001 });
      await stage.decide('w1', { attempt: 'a4' });
      for (const attempt of ['a1', 'a2', 'a3']) await stage.decide('w2', { attempt });
      await prompt(stage, 'w2', 'Go on');
      await stage.decide('w2', { attempt: 'a4' });
      await claim(stage, 'w3', 'T-1');
      await used('w3', { input: 600, cacheWrite: 399 });
      await stage.decide('w3', { attempt: 'a1' });
      await used('w3', { output: 1 });
      await stage.decide('w3', { attempt: 'a2' });
    },
  },

  'budget-of-a-day': {
    shows: 'All workers together use up the daily budget; resuming one of them grants it again for all.',
    config: {
      budget: { tokens: 1_000, per: 'day' },
      policies: { default: { checks: [{ plan: {} }] }, watched: { onBudget: 'escalate', checks: [{ plan: {} }] } },
    },
    async play(stage) {
      for (const [worker, policy] of Object.entries({ w1: 'default', w2: 'watched' })) {
        await register(stage, worker, { policy });
        await plan(stage, worker, [], ['Fix the code']);
      }
      await stage.entry('worker.w1.usage.reported', { input: 900, usd: 0.1 });
      await stage.decide('w1', { attempt: 'a1' });
      await stage.entry('worker.w2.usage.reported', { output: 100 });
      await stage.decide('w1', { attempt: 'a2' });
      await stage.decide('w2', { attempt: 'a1' });
      await stage.entry('own.worker.w2.escalation.resolved', { by: 'ann', verdict: 'resume' });
      await prompt(stage, 'w1', 'Go on');
      await stage.decide('w1', { attempt: 'a3' });
      await stage.decide('w2', { attempt: 'a2' });
    },
  },

  'usage-limit-until': {
    shows:
      'Stops during a usage limit are allowed; a limit with a scope applies to all workers that reported the scope.',
    config: { policies: { default: { checks: [{ plan: {} }] } } },
    async play(stage) {
      const soon = () => new Date(Date.now() + 2_000).toISOString();
      const later = () => new Date(Date.now() + 3_600_000).toISOString();
      for (const worker of ['w1', 'w2', 'w3']) {
        await register(stage, worker);
        await plan(stage, worker, [], ['Fix the code']);
      }
      await claim(stage, 'w1', 'T-1');
      for (const worker of ['w1', 'w3']) {
        await stage.entry(`worker.${worker}.limit.reached`, { until: soon() });
        await stage.decide(worker, { attempt: 'a1' });
        await stage.seen(`own.worker.${worker}.timer.fired`);
      }
      await stage.decide('w1', { attempt: 'a2' });
      await stage.entry('worker.w1.limit.reached', { scope: 'team-plan' });
      await stage.entry('worker.w2.limit.reached', { scope: 'team-plan', until: later() });
      await stage.decide('w1', { attempt: 'a3' });
      await stage.entry('worker.w2.limit.cleared', { scope: 'team-plan' });
      await stage.decide('w1', { attempt: 'a4' });
      await stage.entry('worker.w2.limit.reached', { until: later() });
      await stage.decide('w2', { attempt: 'a1' });
    },
  },
};
