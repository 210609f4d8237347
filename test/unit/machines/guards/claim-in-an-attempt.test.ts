/** If the worker claims another task while its stop waits for an answer, the new task is judged too. */
import { expect, test } from 'vitest';
import { createReplay, type Decision } from '../../../../machines/index.ts';

const policies = {
  default: { checks: [{ plan: { required: false } }, { remote: 'tests' }] },
  strict: { checks: [{ plan: { required: false } }, { remote: 'tests', timeout: '5s' }] },
};
const steps = (status: string) => [{ title: 'Write docs', status, step: 's1' }];

type Line = readonly [tail: string, data: object];

const start: readonly Line[] = [
  ['own.fleet.main.policy.set', { policies }],
  ['task.T-1.hook.registered', { type: 'remote', name: 'review' }],
  ['worker.w1.task.claimed', { task: 'T-1' }],
  ['worker.w1.stop.attempted', { attempt: 'a' }],
];
const claim: Line = ['worker.w1.task.claimed', { task: 'T-2' }];
const passes = (check: string): Line => ['own.worker.w1.check.finished', { attempt: 'a', check, outcome: 'pass' }];
const plans = (data: object): Line => ['task.T-2.task.created', data];

/** Returns the decision about the stop, or what it waits for. */
function judge(lines: readonly Line[]): Decision | string | null {
  const atMs = (index: number) => Date.parse('2026-03-02T12:00:00.000Z') + index * 100;
  const replay = createReplay({ untilMs: atMs(lines.length) });
  for (const [index, [tail, data]] of lines.entries()) {
    const at = new Date(atMs(index)).toISOString();
    expect(replay.fold(JSON.stringify({ at, subject: `stopgate.main.${tail}`, data }))).toBeNull();
  }
  const worker = replay.view().fleets.main?.workers.w1;
  return worker?.attempt?.waitsFor ?? worker?.lastDecision ?? null;
}

test.each([
  ['a check is asked', [plans({ plan: steps('open') }), claim, passes('tests')]],
  ['a hook is asked', [plans({ plan: steps('open') }), passes('tests'), claim, passes('review')]],
])('open steps of a task that is claimed while %s block', (_, lines) => {
  expect(judge([...start, ...lines])).toMatchObject({
    decision: 'block',
    cause: 'incomplete',
    reason: '1 of 1 plan steps remain: Write docs',
    tasks: ['T-1', 'T-2'],
  });
});

test('additional checks of its policy are requested, and no check is requested twice', () => {
  const claimed = [...start, plans({ policy: 'strict', plan: steps('done') }), passes('tests'), claim];
  expect(judge(claimed)).toBe('check review');
  expect(judge([...claimed, passes('review')])).toBe('check tests-2');
  const decision = judge([...claimed, passes('review'), passes('tests-2')]);
  expect(decision).toMatchObject({ cause: 'complete', tasks: ['T-1', 'T-2'], policy: { name: 'default' } });
  expect((decision as Decision).verdicts.filter(({ guard }) => guard === 'checks')).toHaveLength(1);
});

test('a claimed task without checks changes nothing', () => {
  expect(judge([...start, claim, passes('tests'), passes('review')])).toMatchObject({ cause: 'complete' });
});
