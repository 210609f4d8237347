/** Histories of tasks: claims, hooks and ends. */
import { claim, edit, failed, passed, plan, prompt, register, type Scenarios, steps } from './scenario.ts';

export const tasks: Scenarios = {
  'two-held-tasks': {
    shows: 'A worker with several tasks is judged by the policies of all of them, and all end with its stop.',
    config: {
      policies: {
        default: { checks: [{ plan: {} }] },
        strict: { checks: [{ plan: {} }, { rules: ['types'] }] },
      },
    },
    async play(stage) {
      const created = (task: string, more: object = {}) =>
        stage.entry(`task.${task}.task.created`, { title: `Task ${task}`, ...more });
      await created('T-1', { plan: [{ title: 'Fix the code', status: 'pending', step: 'fix' }] });
      await created('T-2', { plan: [{ title: 'Write docs', status: 'pending', step: 'docs' }], policy: 'strict' });
      await created('T-3');
      await created('T-4');
      await register(stage, 'w1');
      for (const task of ['T-1', 'T-2', 'T-3', 'T-4']) await claim(stage, 'w1', task);
      await stage.entry('worker.w1.task.released', { task: 'T-3' });
      await stage.entry('worker.w1.task.failed', { task: 'T-4', reason: 'No access to the database' });
      await stage.decide('w1', { attempt: 'a1' });
      await stage.entry('worker.w1.usage.reported', { input: 1_000, output: 200, usd: 0.02, model: 'm1' });
      // The agent's own list keeps the steps of tasks; steps that it names by id are done.
      await stage.entry('worker.w1.plan.updated', {
        steps: [
          { title: 'Read the code', status: 'completed' },
          { title: 'Fix the code', status: 'completed', step: 'fix' },
        ],
      });
      await stage.entry('worker.w1.step.updated', { step: 'docs', status: 'deleted' });
      await stage.decide('w1', { attempt: 'a2', validation: [failed('types', 'login.ts:3')] });
      await stage.decide('w1', { attempt: 'a3', validation: passed('types') });
      await prompt(stage, 'w1', 'One more');
      await claim(stage, 'w1', 'T-3');
      await claim(stage, 'w1', 'T-5');
      await stage.entry('worker.w1.task.completed', { task: 'T-3', result: { pull: 17 } });
      await stage.entry('worker.w1.session.ended');
    },
  },

  'claim-next-with-dependencies': {
    shows:
      'claim-next gives the first ready task of a queue to one worker, by priority and age, and never one before its time.',
    config: {},
    async play(stage) {
      const queue = 'build';
      await stage.entry('task.T-1.task.created', { title: 'Write docs', queue });
      await stage.entry('task.T-2.task.created', { title: 'Fix the login', queue, priority: 5 });
      await stage.entry('task.T-3.task.created', { title: 'Deploy', queue, priority: 9, after: ['T-1', 'T-2'] });
      for (const worker of ['w1', 'w2']) await register(stage, worker, { queue });
      await stage.ask('claim-next.w1', { request: 'q1' });
      await stage.ask('claim-next.w1', { request: 'q1' });
      await stage.ask('claim-next.w2', { request: 'q1' });
      await stage.ask('claim-next.w2', { request: 'q2' });
      await claim(stage, 'w2', 'T-2');
      await claim(stage, 'w2', 'T-3');
      await stage.entry('worker.w1.task.completed', { task: 'T-2' });
      await stage.entry('worker.w2.task.completed', { task: 'T-1' });
      await stage.entry('worker.w2.task.completed', { task: 'T-9' });
      await stage.ask('claim-next.w2', { request: 'q3' });
      await claim(stage, 'w1', 'T-2');
      await stage.entry('task.T-4.task.created', { title: 'Tell people', queue, after: ['T-3'] });
      await stage.entry('task.T-3.task.cancelled', { reason: 'not today' });
      await stage.ask('claim-next.w1', { request: 'q4' });
      await stage.entry('queue.build.depth.reported', { pending: 3 });
    },
  },

  'hooks-of-tasks': {
    shows:
      'Hooks are registered on a task at run time: they complete it, keep its worker or ask a person, in their order.',
    config: { policies: { default: { retries: null } } },
    async play(stage) {
      await stage.serve(
        'review',
        { action: 'continue', reason: 'No test yet', nextPrompt: 'Write a test' },
        { complete: true },
      );
      const hook = (task: string, fields: object) => stage.entry(`task.${task}.hook.registered`, fields);
      await stage.entry('task.T-1.task.created', { title: 'Fix the login' });
      await hook('T-1', { hook: 'rules', type: 'validation', when: { filesMatch: 'docs/**' } });
      await hook('T-1', { hook: 'review', type: 'remote', name: 'review' });
      await hook('T-1', { hook: 'off', type: 'promise', enabled: false });
      await hook('T-1', { hook: 'review', type: 'tdd' });
      await claim(stage, 'w1', 'T-1');
      await edit(stage, 'w1', 'src/login.ts');
      await stage.decide('w1', { attempt: 'a1', output: '<promise>COMPLETE</promise>' });
      await stage.entry('task.T-1.hook.disabled', { hook: 'review' });
      await stage.entry('task.T-1.hook.enabled', { hook: 'off' });
      await stage.decide('w1', { attempt: 'a2', output: 'Nearly.' });
      await stage.entry('task.T-1.hook.unregistered', { hook: 'off' });
      await stage.entry('task.T-1.hook.unregistered', { hook: 'never' });
      await stage.entry('task.T-1.hook.enabled', { hook: 'review' });
      await stage.decide('w1', { attempt: 'a3' });
      await claim(stage, 'w1', 'T-2');
      await hook('T-2', {
        hook: 'both',
        type: 'all',
        of: [{ type: 'tdd' }, { type: 'any', of: [{ type: 'default' }, { type: 'security' }] }],
      });
      await stage.decide('w1', { attempt: 'a4' });
      await stage.decide('w1', { attempt: 'a5', validation: passed('tests_pass') });
      await claim(stage, 'w1', 'T-3');
      await hook('T-3', { hook: 'gone', type: 'remote', name: 'nobody', onError: 'skip' });
      await stage.decide('w1', { attempt: 'a6' });
      await stage.entry('task.T-3.hooks.cleared');
      await hook('T-3', { type: 'promise' });
      await stage.decide('w1', { attempt: 'a7', output: 'No key.\n<promise>BLOCKED</promise>' });
    },
  },

  'iterations-of-a-loop': {
    shows: 'A loop evaluates the hooks of a task in each iteration, saves checkpoints, and ends by a promise.',
    config: {},
    async play(stage) {
      await stage.serve('suite', {
        complete: false,
        reason: '3 of 41 tests failed',
        checkpointData: { phase: 'test', n: 1 },
      });
      await stage.serve('silent', undefined);
      await stage.entry('task.T-1.iteration.started', {
        iteration: 1,
        maxIterations: 4,
        rules: ['types'],
        breakers: { failures: 2 },
        completionPromises: ['COMPLETE'],
      });
      await stage.entry('task.T-1.hook.registered', { hook: 'rules', type: 'validation' });
      await stage.entry('task.T-1.checkpoint.saved', {
        checkpoint: 'c1',
        phase: 'plan',
        step: 2,
        context: { notes: ['x'] },
      });
      await stage.ask('evaluate.T-1', { iteration: 1, attempt: 'i1', validation: [failed('types', 'login.ts:3')] });
      await stage.entry('task.T-1.iteration.advanced');
      await stage.ask('evaluate.T-1', { iteration: 2, attempt: 'i2', validation: [failed('types', 'login.ts:3')] });
      await stage.ask('evaluate.T-1', { iteration: 1, attempt: 'i3' });
      await stage.entry('task.T-1.iteration.advanced');
      await stage.entry('task.T-1.hook.registered', { hook: 'suite', type: 'remote', name: 'suite' });
      await stage.ask('evaluate.T-1', { iteration: 3, attempt: 'i4' });
      await stage.entry('task.T-1.iteration.advanced');
      await stage.ask('evaluate.T-1', { iteration: 4, attempt: 'i5' });
      await stage.entry('task.T-1.iteration.advanced');
      await stage.entry('task.T-1.hook.registered', { hook: 'word', type: 'promise' });
      await stage.ask('evaluate.T-1', { iteration: 4, attempt: 'i6', output: '<promise>COMPLETE</promise>' });
      await stage.entry('task.T-1.iteration.completed', { iteration: 4, promise: 'COMPLETE' });
    },
  },

  'hook-without-an-answer': {
    shows: 'A remote hook that gives no answer in its two minutes is in error: a person is asked, or the hook skipped.',
    config: {},
    async play(stage) {
      await stage.serve('silent', undefined);
      for (const [task, onError] of Object.entries({ 'T-1': 'escalate', 'T-2': 'skip' })) {
        await stage.entry(`task.${task}.iteration.started`, { iteration: 1, maxIterations: 4 });
        await stage.entry(`task.${task}.hook.registered`, { hook: 'ask', type: 'remote', name: 'silent', onError });
      }
      await stage.entry('task.T-2.hook.registered', { hook: 'word', type: 'promise' });
      for (const task of ['T-1', 'T-2'])
        await stage.entry(`task.${task}.iteration.validated`, { iteration: 1, attempt: 'i1', output: 'Nearly.' });
      await stage.seen('own.task.T-1.timer.fired');
    },
  },

  'release-after-silence': {
    shows:
      'A worker that was silent for two minutes is stale: its task goes back to its queue, unless a tool still runs.',
    config: { releaseAfter: '1s', policies: { default: { toolTime: '5m' } } },
    async play(stage) {
      await stage.entry('task.T-1.task.created', { title: 'Fix the login', plan: steps([], ['Fix the code']) });
      for (const worker of ['w1', 'w2']) await register(stage, worker);
      await claim(stage, 'w1', 'T-1');
      await claim(stage, 'w2', 'T-2');
      await plan(stage, 'w1', ['Read the code'], ['Fix the code']);
      await stage.entry('worker.w2.tool.started', { tool: 'Bash', call: 'c1' });
      await stage.seen('own.worker.w1.timer.fired', 2);
      await stage.entry('worker.w2.tool.used', { tool: 'Bash', call: 'c1' });
      await stage.ask('claim-next.w2');
      await stage.decide('w1', { attempt: 'a1' });
    },
  },
};
