/** In the fold, a `git` check waits for a slot on a runner and takes the answer from the log. */
import { expect, test } from 'vitest';
import { createReplay, policySetSchema } from '../../../../machines/index.ts';
import { timeOf } from '../../../support/case-times.ts';

const policies = { default: { checks: [{ git: { clean: true }, timeout: '60s', onError: 'block' }] } };

function replay(lines: readonly (readonly [string, string, object])[]) {
  const { fold, take } = createReplay();
  const all = [['12:00', 'own.fleet.main.policy.set', { policies }] as const, ...lines];
  for (const [at, tail, data] of all) fold(JSON.stringify({ at: timeOf(at), subject: `stopgate.main.${tail}`, data }));
  return take();
}
const attempted = ['12:00', 'worker.w1.stop.attempted', { attempt: 'a1' }] as const;
const started = ['12:09', 'own.worker.w1.check.started', { attempt: 'a1', check: 'git' }] as const;
const later = ['12:30', 'worker.w1.heartbeat.sent', {}] as const;

test('aspects that are not requested are not evaluated', () => {
  const check = policySetSchema.parse({ policies }).policies.get('default')?.checks[0];
  expect(check).toMatchObject({ kind: 'git', name: 'git', clean: true, pushed: false, unchanged: [], since: null });
});

test.each([
  [{}, 'git needs clean: true, pushed: true or unchanged: [globs]'],
  [{ clean: true, since: 'main' }, 'since needs unchanged: [globs]'],
  [{ unchanged: ['a'], since: '--output=x' }, 'a ref does not begin with -'],
  [{ unchanged: ['a'], since: 'a b' }, 'a ref has no spaces'],
  [{ unchanged: [] }, 'Too small'],
  [{ unchanged: Array.from({ length: 65 }, () => 'a') }, 'Too big'],
])('%j is refused', (git, message) => {
  const { error } = policySetSchema.safeParse({ policies: { default: { checks: [{ git }] } } });
  expect(error?.issues.map((issue) => issue.message).join()).toContain(message);
});

test('an entry answers the check', () => {
  const reason = 'Uncommitted changes: a.md';
  const answer = { attempt: 'a1', check: 'git', outcome: 'fail', reason };
  expect(replay([attempted, started, ['12:09:59', 'own.worker.w1.check.finished', answer]])).toMatchObject([
    { decision: 'block', cause: 'incomplete', reason },
  ]);
});

test('its timeout starts with the check, after waiting for a slot', () => {
  expect(replay([attempted, started, later])).toMatchObject([
    { at: timeOf('12:10'), reason: 'Check git gave no answer within 1m' },
  ]);
  expect(replay([attempted, later])).toMatchObject([
    { at: timeOf('12:10'), reason: 'Check git had no place on its runner within 10m' },
  ]);
});
