/** Histories of checks: all kinds, checks that could not run, and events during an open check. */
import { edit, failed, passed, plan, prompt, register, type Scenarios } from './scenario.ts';

const shell = (script: string) => ({ run: ['sh', '-c', script], cwd: '.' });

export const checks: Scenarios = {
  'kinds-of-checks': {
    shows: 'A plan, files, rules, a command and a remote check, one after the other: the first that fails decides.',
    config: {
      policies: {
        default: {
          retries: null,
          checks: [
            { plan: {} },
            { files: ['report.md'] },
            { rules: ['types'] },
            { command: 'tests', when: { filesMatch: 'src/**' } },
            { remote: 'review' },
          ],
        },
        thorough: { failures: 'all', checks: [{ plan: {} }, { files: ['gone.md'] }, { rules: ['types'] }] },
      },
      commands: { tests: shell('test -f passed || { echo "login.test.ts fails"; exit 1; }') },
    },
    async play(stage) {
      await stage.serve('review', { complete: false, reason: 'No test for an empty password' }, { complete: true });
      await register(stage, 'w1');
      await edit(stage, 'w1', 'src/login.ts');
      await plan(stage, 'w1', [], ['Fix the code']);
      await stage.decide('w1', { attempt: 'a1' });
      await plan(stage, 'w1', ['Fix the code']);
      await stage.decide('w1', { attempt: 'a2' });
      await stage.write('report.md', 'All is well.');
      await stage.decide('w1', { attempt: 'a3', validation: [failed('types', 'login.ts:3')] });
      await stage.decide('w1', { attempt: 'a4', validation: passed('types') });
      await stage.write('passed', '');
      await stage.decide('w1', { attempt: 'a5', validation: passed('types') });
      await stage.decide('w1', { attempt: 'a6', validation: passed('types') });
      await register(stage, 'w2', { policy: 'thorough' });
      await plan(stage, 'w2', [], ['Fix the code']);
      await stage.decide('w2', { attempt: 'a1' });
    },
  },

  'not-judged': {
    shows:
      'A check that could not run is no verdict: its onError lets the stop go as not judged, blocks or asks a person.',
    config: {
      policies: {
        default: { checks: [{ command: 'missing' }] },
        strict: { retries: 1, checks: [{ remote: 'nobody', onError: 'block' }] },
        careful: { checks: [{ remote: 'silent', timeout: '1s', onError: 'escalate' }] },
        either: { checks: [{ any: [{ remote: 'nobody' }, { rules: ['types'] }] }] },
      },
      commands: { missing: { run: ['no-such-program'], cwd: '.' } },
    },
    async play(stage) {
      await stage.serve('silent', undefined);
      await register(stage, 'w1');
      await stage.decide('w1', { attempt: 'a1' });
      await register(stage, 'w2', { policy: 'strict' });
      await stage.decide('w2', { attempt: 'a1' });
      await stage.decide('w2', { attempt: 'a2' });
      await register(stage, 'w3', { policy: 'careful' });
      await stage.decide('w3', { attempt: 'a1' });
      await register(stage, 'w4', { policy: 'either' });
      await stage.decide('w4', { attempt: 'a1', validation: passed('types') });
    },
  },

  'any-and-all-groups': {
    shows: 'Groups of checks: any is met by one member, all by each of them, to any depth.',
    config: {
      policies: {
        default: {
          retries: null,
          checks: [
            { any: [{ files: ['a.md'] }, { rules: ['docs'] }], name: 'documented' },
            { all: [{ rules: ['lint'] }, { any: [{ command: 'fails' }, { remote: 'review' }] }] },
          ],
        },
      },
      commands: { fails: shell('exit 3') },
    },
    async play(stage) {
      await stage.serve('review', { complete: false, reason: 'Not yet' }, { complete: true });
      await register(stage, 'w1');
      await stage.decide('w1', { attempt: 'a1' });
      await stage.decide('w1', { attempt: 'a2', validation: passed('docs') });
      await stage.decide('w1', { attempt: 'a3', validation: passed('docs', 'lint') });
      await stage.write('a.md', 'How to log in.');
      await stage.decide('w1', { attempt: 'a4', validation: passed('lint') });
    },
  },

  warnings: {
    shows: 'A check with onFail: warn keeps nobody; with failures: all every failure is named.',
    config: {
      policies: {
        default: { failures: 'all', checks: [{ rules: ['lint'], onFail: 'warn' }, { plan: {} }, { rules: ['types'] }] },
      },
    },
    async play(stage) {
      await register(stage, 'w1');
      await plan(stage, 'w1', [], ['Fix the code']);
      await stage.decide('w1', {
        attempt: 'a1',
        validation: [failed('lint', 'unused'), failed('types', 'login.ts:3')],
      });
      await plan(stage, 'w1', ['Fix the code']);
      await stage.decide('w1', { attempt: 'a2', validation: [failed('lint', 'unused'), ...passed('types')] });
    },
  },

  'pending-check': {
    shows: 'A check that cannot tell yet is asked again until it answers, or until its time is up.',
    config: {
      policies: {
        default: { checks: [{ remote: 'pipeline', timeout: '60s' }] },
        hasty: { checks: [{ remote: 'queue', timeout: '1500ms', onError: 'block' }] },
      },
    },
    async play(stage) {
      const pending = { pending: true, reason: 'build 17 runs', retryAfterMs: 1_000 };
      await stage.serve('pipeline', pending, pending, { complete: true });
      await stage.serve('queue', { pending: true, reason: '4 builds before it', retryAfterMs: 1_000 });
      await register(stage, 'w1');
      await stage.decide('w1', { attempt: 'a1' });
      await register(stage, 'w2', { policy: 'hasty' });
      await stage.decide('w2', { attempt: 'a1' });
    },
  },

  'git-and-json-command': {
    shows:
      'git looks into the folder, a pass of a command is reused while nothing changes, and a command that speaks JSON answers.',
    config: {
      policies: { default: { checks: [{ git: { clean: true } }, { command: 'lint' }, { command: 'review' }] } },
      commands: {
        lint: { ...shell('true'), reuse: 'tree' },
        review: {
          ...shell(`cat > /dev/null
            used='"usage": {"input": 100, "cacheRead": 20, "output": 30, "model": "m1"}'
            if [ "$STOPGATE_ATTEMPT" = a2 ]; then printf '{"complete": false, "reason": "There is no test", %s}' "$used"
            else printf '{"complete": true, "reason": "login.test.ts has one", %s}' "$used"; fi`),
          speaks: 'json',
          diff: true,
        },
      },
    },
    async play(stage) {
      await stage.git('init', '--quiet', '--initial-branch', 'main');
      await register(stage, 'w1');
      await stage.decide('w1', { attempt: 'a1' });
      await stage.git('add', '.');
      await stage.git('commit', '--quiet', '--message', 'Fix the login');
      await stage.decide('w1', { attempt: 'a2' });
      await stage.decide('w1', { attempt: 'a3' });
    },
  },

  'policy-change-in-an-open-attempt': {
    shows: 'An open attempt keeps the policy that it began with; the next one has the new policy.',
    config: { policies: { default: { checks: [{ remote: 'review' }], retries: 5 } } },
    async play(stage) {
      await stage.serve('review', undefined, { complete: true });
      await register(stage, 'w1');
      await stage.entry('worker.w1.stop.attempted', { attempt: 'a1' });
      await stage.seen('check.review');
      await stage.configure({
        policies: { default: { retries: 1, checks: [{ rules: ['types'] }] }, strict: { checks: [{ plan: {} }] } },
        assign: [{ labels: { team: 'web' }, policy: 'strict' }],
      });
      await stage.entry('own.worker.w1.check.finished', { attempt: 'a1', check: 'review', outcome: 'pass' });
      await stage.seen('decision.w1');
      await prompt(stage, 'w1', 'Go on');
      await stage.decide('w1', { attempt: 'a2' });
      await register(stage, 'w2', { labels: { team: 'web' } });
      await plan(stage, 'w2', [], ['Fix the code']);
      await stage.decide('w2', { attempt: 'a1' });
    },
  },

  takeover: {
    shows: 'The replica that had an attempt was killed with its check open: another one accepts it and asks again.',
    config: { policies: { default: { checks: [{ rules: ['types'] }, { remote: 'review', timeout: '30s' }] } } },
    async play(stage) {
      await stage.serve('review', undefined, { complete: false, reason: 'No test for an empty password' });
      await register(stage, 'w1');
      await stage.decide('w1', { attempt: 'a1' });
      await stage.entry('worker.w1.stop.attempted', { attempt: 'a2', validation: passed('types') });
      await stage.seen('check.review');
      await stage.start('r2');
      await stage.kill('r1');
      await stage.seen('decision.w1', 2);
      await stage.seen('own.fleet.main.replica.left');
      await stage.decide('w1', { attempt: 'a3', validation: passed('types') });
    },
  },
};
