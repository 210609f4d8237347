/** Which workers and tasks need the same answer from a person. */
import { expect, test } from 'vitest';
import type { Decision } from '../../../../machines/index.ts';
import { matterOfTask, matterOfWorker } from '../../../../machines/replay/matter.ts';
import type { Escalation } from '../../../../machines/values/escalation.ts';

type Fields = { readonly reason?: string; readonly details?: string; readonly attempt?: string };

function matter({ reason = 'Retry limit reached', details = '', attempt = 'a1' }: Fields): number | null {
  const escalation = { cause: 'capped', reason, attempt, seq: 1, since: '', worker: 'w1' } as unknown as Escalation;
  const feedback = [{ check: 'tests', outcome: 'fail', message: 'Command npm test failed (exit 1)', details }];
  return matterOfWorker({ escalation, inputs: [], lastDecision: { attempt: 'a1', feedback } as unknown as Decision });
}

test('equal questions and failures are one matter, whatever the timings in the output', () => {
  const login = matter({ details: 'FAIL login.test.ts\n1 failed (3.2s)' });
  expect(matter({ details: 'FAIL login.test.ts\n1 failed (4.8s)' })).toBe(login);
  expect(matter({ details: 'FAIL cart.test.ts\n1 failed (3.2s)' })).not.toBe(login);
  expect(matter({ details: 'FAIL login.test.ts\nFAIL cart.test.ts' })).not.toBe(login);
});

test('questions that differ only where lists cut them are different matters', () => {
  const long = (middle: string) => `${'Which one? '.repeat(40)}${middle}${' Say so.'.repeat(40)}`;
  expect(matter({ reason: long('staging') })).not.toBe(matter({ reason: long('production') }));
});

test('a request is a matter with its whole input', () => {
  const asks = (detail: string) =>
    matterOfWorker({
      escalation: null,
      inputs: [{ request: 'p1', kind: 'permission', message: 'Clean up?', tool: 'Bash', detail, since: '', seq: 1 }],
      lastDecision: null,
    });
  expect(asks('rm -rf dist')).toBe(asks('rm -rf dist'));
  expect(asks('rm -rf dist')).not.toBe(asks('rm -rf .git'));
  expect(matterOfWorker({ escalation: null, inputs: [], lastDecision: null })).toBeNull();
});

test('tasks with equal reasons are one matter only if the reason says what failed, or the attempt is the same', () => {
  const task = (cause: Escalation['cause'], worker: string) =>
    matterOfTask({
      cause,
      worker,
      reason: 'Retry limit reached',
      attempt: 'a1',
      seq: 1,
      since: '',
      acknowledgedBy: null,
      acknowledgedAt: null,
      notified: 0,
      notifiedAt: null,
      withWorker: true,
    });
  expect(task('capped', 'w1')).toBe(task('capped', 'w1'));
  expect(task('capped', 'w1')).not.toBe(task('capped', 'w2'));
  expect(task('failed', 'w1')).toBe(task('failed', 'w2'));
  expect(matterOfTask(null)).toBeNull();
});
