/** Guard 10 over several stops: which failures count as the same. */
import { expect, test } from 'vitest';
import { createReplay } from '../../../../machines/index.ts';
import { timeOf } from '../../../support/case-times.ts';

/** Folds one stop per minute, each with the given failure, and returns their causes. */
function causesOf(stuckAfter: unknown, reasons: readonly string[]): string[] {
  const { fold, take } = createReplay();
  const policies = { default: { retries: null, stuckAfter, checks: [{ remote: 'judge' }] } };
  const lines = reasons.flatMap((reason, index): [string, object][] => {
    const attempt = `a${index}`;
    const answer = { attempt, check: 'judge', outcome: 'fail', reason };
    return [
      ['worker.w1.stop.attempted', { attempt }],
      ['own.worker.w1.check.finished', answer],
    ];
  });
  for (const [tail, data] of [['own.fleet.main.policy.set', { policies }] as const, ...lines])
    fold(JSON.stringify({ at: timeOf('12:00'), subject: `stopgate.main.${tail}`, data }));
  return take().map((line) => ('cause' in line ? line.cause : 'open'));
}
const failures = ['3 failed in 1.2s', '2 failed in 800ms', '2 failed in 3m'];

test('without mask, messages are compared literally', () => {
  expect(causesOf(3, failures)).toEqual(['incomplete', 'incomplete', 'incomplete']);
  expect(causesOf(3, Array(3).fill(failures[0]))).toEqual(['incomplete', 'incomplete', 'stuck']);
  expect(causesOf({ times: 3 }, failures)).toEqual(['incomplete', 'incomplete', 'incomplete']);
});

test('mask: the same failure with other numbers counts', () => {
  expect(causesOf({ times: 3, mask: true }, failures)).toEqual(['incomplete', 'incomplete', 'stuck']);
});

test('mask: a different failure starts a new streak', () => {
  const reasons = [failures[0], failures[1], 'cannot compile', failures[2]] as string[];
  expect(causesOf({ times: 3, mask: true }, reasons)).toEqual(Array(4).fill('incomplete'));
});

test('long messages are compared completely', () => {
  const long = (end: string) => `${'x'.repeat(900)}${end}${'y'.repeat(900)}`;
  expect(causesOf(2, [long('a'), long('b')])).toEqual(['incomplete', 'incomplete']);
  expect(causesOf(2, [long('a'), long('a')])).toEqual(['incomplete', 'stuck']);
});
