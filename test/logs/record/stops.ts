/** Histories of blocked and allowed stops. */
import { edit, failed, passed, plan, prompt, register, type Scenarios } from './scenario.ts';

export const stops: Scenarios = {
  'retries-and-cap': {
    shows: 'A stop is blocked as often as the policy says; work that is finished after the last block is complete.',
    config: {
      policies: {
        default: { retries: 2, checks: [{ plan: {} }] },
        watched: { retries: 1, onCap: 'escalate', checks: [{ plan: {} }] },
        lenient: { retries: 0, checks: [{ plan: {} }] },
      },
    },
    async play(stage) {
      await register(stage, 'w1');
      await prompt(stage, 'w1', 'Fix the login');
      await plan(stage, 'w1', ['Read the code'], ['Fix the code', 'Write a test']);
      await stage.decide('w1', { attempt: 'a1' });
      await edit(stage, 'w1', 'src/login.ts');
      await stage.decide('w1', { attempt: 'a2' });
      await stage.decide('w1', { attempt: 'a2' });
      await stage.decide('w1', { attempt: 'a3' });
      await prompt(stage, 'w1', 'Go on');
      await stage.decide('w1', { attempt: 'a4' });
      await stage.decide('w1', { attempt: 'a5' });
      await plan(stage, 'w1', ['Read the code', 'Fix the code', 'Write a test']);
      await stage.decide('w1', { attempt: 'a6' });
      await register(stage, 'w2', { policy: 'watched' });
      await plan(stage, 'w2', [], ['Write docs']);
      await stage.decide('w2', { attempt: 'a1' });
      await stage.decide('w2', { attempt: 'a2' });
      await register(stage, 'w3', { policy: 'lenient' });
      await plan(stage, 'w3', [], ['Write docs']);
      await stage.decide('w3');
    },
  },

  'same-failure-repeated': {
    shows: 'The same failure several times in a row goes to a person; another one, or a pass, begins again.',
    config: {
      policies: {
        default: { retries: null, stuckAfter: 3, checks: [{ rules: ['types', 'lint'] }] },
        masked: { retries: null, stuckAfter: { times: 2, mask: true }, checks: [{ remote: 'suite' }] },
      },
    },
    async play(stage) {
      await stage.serve(
        'suite',
        { complete: false, reason: '3 of 41 tests failed after 512 ms' },
        { complete: false, reason: '3 of 41 tests failed after 497 ms' },
      );
      await register(stage, 'w1');
      const stop = (attempt: string, ...validation: object[]) => stage.decide('w1', { attempt, validation });
      await stop('a1', failed('types', 'login.ts:3'), ...passed('lint'));
      await stop('a2', failed('types', 'login.ts:3'), ...passed('lint'));
      await stop('a3', ...passed('types'), failed('lint', 'unused'));
      await stop('a4', ...passed('types', 'lint'));
      await prompt(stage, 'w1', 'Now the logout');
      await stop('a5', ...passed('types'), failed('lint', 'unused'));
      await stop('a6', ...passed('types'), failed('lint', 'unused'));
      await stop('a7', ...passed('types'), failed('lint', 'unused'));
      await register(stage, 'w2', { policy: 'masked' });
      await stage.decide('w2', { attempt: 'a1' });
      await stage.decide('w2', { attempt: 'a2' });
    },
  },

  'promises-and-verification': {
    shows: 'A promise in the output asks for a person or says that all is done; what is done is verified all the same.',
    config: { policies: { default: { promises: true, checks: [{ plan: {} }] } } },
    async play(stage) {
      await stage.entry('task.T-1.task.created', {
        title: 'Fix the login',
        plan: [{ title: 'Write a test', status: 'pending', step: 'test' }],
      });
      await stage.entry('worker.w1.task.claimed', { task: 'T-1' });
      await stage.decide('w1', { attempt: 'a1', output: 'I could say `<promise>ESCALATE</promise>`, but go on.' });
      await stage.decide('w1', { attempt: 'a2', output: '> <promise>BLOCKED</promise>\n<promise>COMPLETE</promise>' });
      await stage.ask('verify.w1');
      await stage.entry('worker.w1.plan.updated', {
        steps: [{ title: 'Write a test', status: 'done', step: 'test' }],
      });
      await stage.ask('verify.w1');
      await stage.decide('w1', { attempt: 'a3', output: 'All is done.\n<promise> COMPLETE </promise>' });
      await stage.ask('verify-task.T-1');
      await prompt(stage, 'w1', 'Now deploy it');
      await stage.decide('w1', { attempt: 'a4', output: 'No key.\n<promise>BLOCKED</promise>' });
      await stage.entry('own.worker.w1.escalation.resolved', {
        by: 'ann',
        verdict: 'resume',
        prompt: 'Use the new key',
      });
      await stage.decide('w1', {
        attempt: 'a5',
        promises: [{ type: 'ESCALATE', detected: true, content: 'the key does not work' }],
      });
    },
  },

  'evidence-and-pause': {
    shows:
      'A command must have run since the last change; background work keeps a session without a person; a person pauses it.',
    config: {
      policies: {
        default: {
          keepAlives: 2,
          background: { max: '1h', ignore: ['npm run dev*'] },
          checks: [{ ran: 'npm test' }, { rules: ['types'], when: { filesMatch: 'docs/**' } }],
        },
        strict: { pause: 'deny' },
      },
    },
    async play(stage) {
      const used = (tool: object) => stage.entry('worker.w1.tool.used', tool);
      const operator = (tail: string, data: object = {}) => stage.entry(`own.worker.${tail}`, { by: 'ann', ...data });
      await register(stage, 'w1', { cwd: '/repo', interactive: false });
      await stage.entry('worker.w1.worker.moved', { cwd: '/repo/.worktrees/login' });
      await prompt(stage, 'w1', 'Fix the login');
      await edit(stage, 'w1', 'src/login.ts');
      await used({ tool: 'Bash', ok: false, command: 'npm test', changes: 'unknown' });
      await stage.decide('w1', { attempt: 'a1', validation: passed('types') });
      await used({ tool: 'Bash', ok: true, command: 'cd app && npm test | tee log', changes: 'unknown' });
      await stage.entry('worker.w1.background.started', { id: 'b1', kind: 'shell', command: 'npm run dev' });
      await stage.entry('worker.w1.background.started', { id: 'b2', kind: 'shell', command: 'npm run e2e' });
      await stage.decide('w1', { attempt: 'a2', validation: passed('types') });
      await stage.entry('worker.w1.background.finished', { id: 'b2' });
      await stage.entry('worker.w1.prompt.submitted', { by: 'system', text: 'b2 has ended' });
      await stage.entry('worker.w1.usage.reported', { input: 100, usd: 0.01, source: 'hook' });
      await stage.entry('worker.w1.usage.reported', { input: 100, usd: 0.01, source: 'metrics' });
      await stage.decide('w1', { attempt: 'a3' });
      await operator('w1.worker.paused', { forMs: 1_800_000 });
      await stage.decide('w1', { attempt: 'a4' });
      await operator('w1.worker.unpaused');
      await stage.decide('w1', { attempt: 'a5', validation: passed('types') });
      await register(stage, 'w2', { policy: 'strict' });
      await operator('w2.worker.paused');
    },
  },

  'ends-and-bypass': {
    shows:
      'Stops that are not judged: a bypassed reason, a used up budget, an ended session; and what ends an open attempt.',
    config: { policies: { default: { checks: [{ plan: {} }, { remote: 'review', timeout: '60s' }] } } },
    async play(stage) {
      await stage.serve('review', undefined);
      await register(stage, 'w1');
      await plan(stage, 'w1', [], ['Fix the code']);
      await stage.decide('w1', { attempt: 'a1', stopReason: 'user_interrupt' });
      await prompt(stage, 'w1', 'Go on');
      await stage.entry('worker.w1.budget.exhausted', { kind: 'turns' });
      await stage.decide('w1', { attempt: 'a2' });
      await prompt(stage, 'w1', 'Go on');
      await plan(stage, 'w1', ['Fix the code']);
      const opened = async (count: number) => stage.seen('check.review', count);
      await stage.entry('worker.w1.stop.attempted', { attempt: 'a3' });
      await opened(1);
      await stage.entry('worker.w1.stop.attempted', { attempt: 'a4' });
      await opened(2);
      await prompt(stage, 'w1', 'One thing more');
      await stage.entry('worker.w1.stop.attempted', { attempt: 'a5' });
      await opened(3);
      await stage.entry('worker.w1.session.ended', { reason: 'logout' });
      await stage.seen('decision.w1', 5);
      await stage.decide('w1', { attempt: 'a6' });
      await stage.entry('worker.w1.tool.used', { tool: 'Bash' });
      await stage.entry('worker.w1.task.claimed', { task: 'T-1' });
      await prompt(stage, 'w1', 'Back again');
    },
  },

  'idle-and-persistence': {
    shows: 'A persistent worker is kept while tasks wait and until it was idle for long; a held stop ends with a task.',
    config: {
      policies: {
        default: { persistence: { idle: '3s', hold: '1s', queue: 'build' } },
        capped: { persistence: { idle: null }, keepAlives: 1 },
      },
    },
    async play(stage) {
      await stage.entry('task.T-1.task.created', { title: 'Fix the login', queue: 'build' });
      await register(stage, 'w1');
      await stage.decide('w1', { attempt: 'a1' });
      await stage.entry('worker.w1.task.claimed', { task: 'T-1' });
      await stage.entry('worker.w1.task.completed', { task: 'T-1' });
      await stage.decide('w1', { attempt: 'a2' });
      await stage.entry('worker.w1.stop.attempted', { attempt: 'a3', holdMs: 60_000 });
      await stage.entry('task.T-2.task.created', { title: 'Write docs', queue: 'build' });
      await stage.seen('decision.w1', 3);
      await stage.entry('task.T-2.task.cancelled', { reason: 'nobody reads them' });
      await stage.entry('queue.build.depth.reported', { pending: 2 });
      await stage.decide('w1', { attempt: 'a4', holdMs: 0 });
      await stage.entry('queue.build.depth.reported', { pending: 0 });
      await stage.decide('w1', { attempt: 'a5', holdMs: 60_000 });
      await register(stage, 'w2', { policy: 'capped', profile: 'critical' });
      await stage.decide('w2', { attempt: 'a1' });
      await stage.decide('w2', { attempt: 'a2' });
    },
  },

  'background-and-sub-agents': {
    shows: 'A stop waits for work in the background; a sub-agent is a worker of its own, with its parent named.',
    config: { policies: { default: { checks: [{ plan: {} }] } } },
    async play(stage) {
      await register(stage, 'w1', { labels: { team: 'web' } });
      await prompt(stage, 'w1', 'Review the login');
      await stage.entry('worker.w1.background.started', { id: 'reviewer', kind: 'subagent' });
      await stage.entry('worker.w1.background.started', { id: 'npm run dev', kind: 'shell' });
      await register(stage, 'w1-reviewer', { parent: 'w1' });
      await plan(stage, 'w1-reviewer', [], ['Read the code']);
      await stage.decide('w1', { attempt: 'a1' });
      await stage.decide('w1-reviewer', { attempt: 'a1' });
      await plan(stage, 'w1-reviewer', ['Read the code']);
      await stage.decide('w1-reviewer', { attempt: 'a2' });
      await stage.entry('worker.w1.background.finished', { id: 'reviewer' });
      await stage.decide('w1', { attempt: 'a2' });
      await stage.entry('worker.w1.background.finished', { id: 'npm run dev' });
      await stage.decide('w1', { attempt: 'a3' });
    },
  },

  'steps-and-calls': {
    shows: 'Steps of a plan by their ids, and calls of tools while they run.',
    config: { policies: { default: { checks: [{ plan: { required: true } }], toolTime: '1h' } } },
    async play(stage) {
      await register(stage, 'w1');
      await stage.decide('w1', { attempt: 'a1' });
      await stage.entry('worker.w1.step.updated', { step: '1', title: 'Fix the code' });
      await stage.entry('worker.w1.step.updated', { step: '2', title: 'Write a test', status: 'in_progress' });
      await stage.entry('worker.w1.step.updated', { step: '3' });
      await stage.entry('worker.w1.tool.started', { tool: 'Bash', call: 'c1' });
      await stage.entry('worker.w1.tool.started', { tool: 'Edit', call: 'c2' });
      await stage.entry('worker.w1.tool.used', { tool: 'Edit', call: 'c2', ok: true, files: ['src/login.ts'] });
      await stage.entry('worker.w1.tool.used', { tool: 'Bash', call: 'c3', ok: false });
      await stage.entry('worker.w1.heartbeat.sent');
      await stage.entry('worker.w1.step.updated', { step: '1', status: 'done' });
      await stage.entry('worker.w1.step.updated', { step: '3', status: 'deleted' });
      await stage.decide('w1', { attempt: 'a2' });
      await stage.entry('worker.w1.step.updated', { step: '2', status: 'cancelled' });
      await stage.decide('w1', { attempt: 'a3' });
      await stage.entry('worker.w1.tool.started', { tool: 'Bash', call: 'c4' });
    },
  },
};
