/** Comparison of attempts: repeated failures, and what changed since the previous attempt. */
import { describe, expect, test } from 'vitest';
import type { Decision } from '../../../machines/index.ts';
import { changesBetween, patternOf, promptAdditions } from '../../../src/inspector/attempt-changes.ts';
import type { AttemptRecord } from '../../../src/inspector/messages.ts';

const decided = (message: string, fields: Partial<Decision> = {}) =>
  ({
    decision: 'block',
    action: 'continue',
    cause: 'incomplete',
    reason: 'Command tests failed (exit 1)',
    feedback: [{ check: 'tests', outcome: 'fail', message }],
    verdicts: [{ guard: 'checks', verdict: 'block' }],
    ...fields,
  }) as unknown as Decision;
const attempt = (decision: Decision | null, output = 'done'): AttemptRecord => ({
  attempt: 'a',
  seq: 1,
  atMs: 0,
  stopReason: null,
  checks: [],
  work: null,
  decision,
  output,
});
const completed = decided('', { decision: 'allow', action: 'complete', cause: 'complete', feedback: [] });
const allowedBy = (cause: string, verdicts: object[]) =>
  decided('', { decision: 'allow', action: 'complete', cause, feedback: [], verdicts } as never);
const patternsOf = (...messages: string[]) => patternOf(messages.map((message) => attempt(decided(message))));

describe('a pattern in the last attempts', () => {
  test('is the same failure, even if numbers and paths differ', () => {
    expect(patternsOf('2 of 41 fail in 1.3 s at /a/x.ts', '3 of 40 fail in 2.1 s at /b/y.ts', 'no build')).toEqual({
      kind: 'same',
      times: 2,
    });
  });

  test('is not made of questions, used budgets or waits, however often they come', () => {
    const asks = (cause: string) =>
      attempt(
        decided('', { decision: 'allow', action: 'escalate', cause, feedback: [], reason: 'Which key?' } as never),
      );
    const waits = attempt(decided('', { cause: 'waiting', feedback: [] } as never));
    for (const again of [asks('escalated'), asks('budget'), waits]) expect(patternOf([again, again])).toBeNull();
    expect(patternOf([asks('stuck'), asks('stuck')])).toEqual({ kind: 'same', times: 2 });
  });

  test('is a circle of two failures in turn', () => {
    expect(patternsOf('lint', 'types', 'lint', 'types', 'lint')).toEqual({ kind: 'circle', length: 2, times: 2 });
    expect(patternsOf('lint', 'types', 'lint')).toBeNull();
  });

  test('ends with an allowed stop', () => {
    expect(patternOf([attempt(completed), attempt(decided('a')), attempt(decided('a'))])).toBeNull();
    expect(patternOf([attempt(decided('a')), attempt(completed), attempt(decided('a'))])).toBeNull();
    expect(patternOf([])).toBeNull();
  });
});

describe('a check that only one of two attempts reached', () => {
  const lintFirst = (notRun: readonly string[]) => [{ guard: 'checks', verdict: 'block', input: { notRun } }];
  const fails = (check: string, verdicts: object[], fields: object = {}) =>
    attempt(
      decided('x', { feedback: [{ check, outcome: 'fail', message: `${check} fails` }], verdicts, ...fields } as never),
    );
  const tests = fails('tests', lintFirst([]));
  const lint = fails('lint', lintFirst(['tests']));

  test('counts as not run: neither resolved nor new', () => {
    expect(changesBetween(lint, tests).findings).toEqual([
      { sign: '+', text: 'lint: fail' },
      { sign: '+', text: 'lint fails' },
      { sign: ' ', text: 'tests: not run' },
    ]);
    expect(changesBetween(tests, lint).findings).toEqual([
      { sign: '-', text: 'lint: fail' },
      { sign: '-', text: 'lint fails' },
      { sign: ' ', text: 'tests: fail, and was not run before' },
    ]);
  });

  test('is not resolved if no check ran', () => {
    const waits = attempt(allowedBy('waiting', [{ guard: 'waiting', verdict: 'allow' }]));
    expect(changesBetween(waits, tests).findings).toEqual([{ sign: ' ', text: 'tests: not run' }]);
  });

  test('is resolved if it passed', () => {
    const passed = attempt(allowedBy('complete', [{ guard: 'checks', verdict: 'pass' }]));
    expect(changesBetween(passed, tests).findings).toEqual([
      { sign: '-', text: 'tests: fail' },
      { sign: '-', text: 'tests fails' },
    ]);
    expect(changesBetween(lint, { ...tests, checks: [] }).findings).not.toContainEqual({
      sign: '-',
      text: 'tests: fail',
    });
  });

  test('a hook is resolved only by an attempt that reached the hooks', () => {
    const hook = fails('h1', [
      { guard: 'checks', verdict: 'pass' },
      { guard: 'hooks', verdict: 'block' },
    ]);
    expect(changesBetween(lint, hook).findings).toContainEqual({ sign: ' ', text: 'h1: not run' });
    const passed = attempt(
      allowedBy(
        'complete',
        ['checks', 'hooks'].map((guard) => ({ guard, verdict: 'pass' })),
      ),
    );
    expect(changesBetween(passed, hook).findings).toContainEqual({ sign: '-', text: 'h1: fail' });
  });
});

test('a failure at the retry cap counts as the same failure', () => {
  const verdicts = [{ guard: 'checks', verdict: 'block' }];
  const capped = decided('a', {
    decision: 'allow',
    action: 'escalate',
    cause: 'capped',
    verdicts: [...verdicts, { guard: 'retries', verdict: 'allow' }],
  } as never);
  expect(patternOf([attempt(capped), attempt(decided('a'))])).toEqual({ kind: 'same', times: 2 });
});

test('shows changes of the answer, the findings and the output', () => {
  const older = attempt(decided('a fails\nb fails'), 'I am done.\nAll of it.');
  const newer = attempt(
    decided('b fails', { decision: 'allow', action: 'complete', cause: 'capped' }),
    'I am done.\nReally.',
  );
  expect(changesBetween(newer, older)).toEqual({
    answer: ['blocked', 'allowed at the cap'],
    findings: [{ sign: '-', text: 'a fails' }],
    output: [
      { sign: '-', text: 'All of it.' },
      { sign: '+', text: 'Really.' },
    ],
  });
  expect(changesBetween(older, older)).toEqual({ answer: null, findings: [], output: [] });
});

test('a failure that differs only in numbers is neither better nor worse', () => {
  const [older, newer] = ['2 of 41 fail\nb fails', '1 of 41 fail\nc fails'].map((message) => attempt(decided(message)));
  expect(newer && older && changesBetween(newer, older).findings).toEqual([
    { sign: '-', text: 'b fails' },
    { sign: ' ', text: '1 of 41 fail (before: 2 of 41 fail)' },
    { sign: '+', text: 'c fails' },
  ]);
});

test('compares the lists of a check that lists its failures', () => {
  const fails = (message: string, ...details: string[]) =>
    attempt(decided(message, { feedback: [{ check: 'tests', outcome: 'fail', message, details }] } as never));
  expect(changesBetween(fails('1 of 41: b', 'b'), fails('2 of 41: a', 'a', 'b')).findings).toEqual([
    { sign: '-', text: 'a' },
  ]);
});

test('shows only the lines of a prompt that do not repeat the reason or findings', () => {
  const prompt = 'Not done yet: Command tests failed (exit 1). Finish.\n\n- a fails\nRead the plan again.';
  expect(promptAdditions(decided('a fails\nb fails', { nextPrompt: prompt }))).toBe('Read the plan again.');
  expect(promptAdditions(decided('a fails', { nextPrompt: 'a fails' }))).toBe('');
});
