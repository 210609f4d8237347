/** Histories of the log itself: refused entries, forgotten actors, and changes of the rules. */
import { claim, plan, prompt, register, type Scenarios } from './scenario.ts';

export const fleets: Scenarios = {
  'dead-entries': {
    shows:
      'Entries that are not JSON, or have another shape, type or id, change nothing and stay in the log as they came.',
    config: { policies: { default: { checks: [{ plan: {} }] } } },
    async play(stage) {
      await register(stage, 'w1');
      await stage.entry('worker.w1.plan.updated', '{"steps":[{"title":"Fix the code"');
      await stage.entry('worker.w1.plan.updated', { steps: [{ title: 'Fix the code' }] });
      await stage.entry('worker.w1.plan.replaced', { steps: [] });
      await stage.entry('worker.w1.stop.attempted', { attempt: 'a 1' });
      await stage.entry('worker.w1.stop.attempted', { attempt: 'seq-99' });
      await stage.entry('worker.w1.tool.used', `${'['.repeat(101)}${']'.repeat(101)}`);
      await stage.entry('worker.w1.prompt.submitted', Uint8Array.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]));
      await stage.entry('task.T-9.task.cancelled');
      await stage.entry('own.worker.w1.check.finished', { attempt: 'a1', check: 'tests', outcome: 'maybe' });
      await plan(stage, 'w1', [], ['Fix the code']);
      await stage.decide('w1', { attempt: 'a1' });
      await stage.seen('dead.worker.w1', 6);
    },
  },

  forgetting: {
    shows:
      'Stopped workers and tasks are forgotten after a while, with the ids of their attempts; held tasks keep a worker.',
    // Longer than NATS remembers the message ids of attempts.
    config: { forget: '121s' },
    async play(stage) {
      for (const worker of ['w1', 'w2']) await register(stage, worker);
      await claim(stage, 'w1', 'T-1');
      await stage.entry('worker.w1.task.completed', { task: 'T-1' });
      await stage.decide('w1', { attempt: 'a1' });
      await stage.entry('task.T-2.task.created', { title: 'Deploy', after: ['T-3'] });
      await claim(stage, 'w2', 'T-3');
      await stage.entry('worker.w2.task.completed', { task: 'T-3' });
      await stage.decide('w1', { attempt: 'a1' });
      await stage.pass(122_000);
      await prompt(stage, 'w2', 'Go on');
      await stage.decide('w1', { attempt: 'a1' });
    },
  },

  'rules-set': {
    shows: 'The version of the rules is in force from its entry on; setting the same one again changes nothing.',
    config: { policies: { default: { retries: 1, checks: [{ plan: {} }] } } },
    async play(stage) {
      await register(stage, 'w1');
      await plan(stage, 'w1', [], ['Fix the code']);
      await stage.decide('w1', { attempt: 'a1' });
      await stage.entry('own.fleet.main.rules.set', { version: 1 });
      await stage.decide('w1', { attempt: 'a2' });
      await stage.entry('own.fleet.main.rules.set', { version: 1 });
      await prompt(stage, 'w1', 'Go on');
      await stage.decide('w1', { attempt: 'a3' });
    },
  },
};
