/** The sentence about a worker, task or decision that an operator reads first everywhere. */
import { describe, expect, test } from 'vitest';
import { sentenceOfDecision } from '../../../../machines/replay/sentence.ts';
import { replayLines } from '../../../support/fold-lines.ts';

type Entry = readonly [tail: string, data: object];

const fold = (...entries: readonly Entry[]) => replayLines(...entries).view().fleets.main ?? expect.unreachable();
const w1 = (...entries: readonly Entry[]) => fold(...entries).workers.w1 ?? expect.unreachable();
const sentence = (...entries: readonly Entry[]) => w1(...entries).sentence;

const policy = (fields: object): Entry => ['own.fleet.main.policy.set', { policies: { default: fields } }];
const plan = (...statuses: string[]): Entry => [
  'worker.w1.plan.updated',
  { steps: statuses.map((status, index) => ({ title: `Step ${index + 1}`, status })) },
];
const stop = (attempt: string, fields: object = {}): Entry => ['worker.w1.stop.attempted', { attempt, ...fields }];
const tested = (fields: object = {}) => policy({ checks: [{ command: 'tests' }], retries: 3, ...fields });
/** Returns a stop whose tests fail with this output. */
const fails = (attempt: string, feedback: unknown): Entry[] => [
  stop(attempt),
  [
    'own.worker.w1.check.finished',
    { attempt, check: 'tests', outcome: 'fail', reason: 'Command tests failed (exit 1)', feedback },
  ],
];
const vitest =
  ' FAIL  test/unit/login.test.ts > signs in\nAssertionError: expected 1 to be 2\n Tests  1 failed | 40 passed';

describe('a worker', () => {
  test('that a person has resumed says so, and no longer why it was escalated', () => {
    const stuck = [tested({ stuckAfter: 2 }), ...fails('a1', vitest), ...fails('a2', vitest)];
    expect(sentence(...stuck)).toMatch(/^Stuck on the same failure: /);
    const resolved: Entry = ['own.worker.w1.escalation.resolved', { by: 'Ann', verdict: 'resume' }];
    expect(sentence(...stuck, resolved)).toBe('Resumed by Ann');
  });

  test('that is blocked says how often, by which test of which check, and how many tries are left', () => {
    const [first, second, third] = ['a1', 'a2', 'a3'].map((attempt) => fails(attempt, vitest)) as Entry[][];
    expect(sentence(tested(), ...(first ?? []))).toBe('Blocked once: login.test.ts fails in tests; 2 tries left');
    expect(sentence(tested(), ...(first ?? []), ...(second ?? []))).toBe(
      'Blocked twice: login.test.ts fails in tests; 1 try left',
    );
    const all = [...(first ?? []), ...(second ?? []), ...(third ?? [])];
    expect(sentence(tested(), ...all)).toBe('Blocked 3 times: login.test.ts fails in tests; no try left');
    expect(sentence(tested({ retries: null }), ...(first ?? []))).toBe('Blocked once: login.test.ts fails in tests');
    expect(sentence(tested(), ...all, ...fails('a4', vitest))).toBe(
      'Allowed after 3 blocked stops: login.test.ts fails in tests',
    );
    expect(sentence(tested({ onCap: 'escalate' }), ...all, ...fails('a4', vitest))).toBe(
      'Needs a person after 3 blocked stops: login.test.ts fails in tests',
    );
  });

  test.each([
    ['FAIL src/a.test.ts\nPASS src/b.test.ts\nFAIL src/c.test.ts', 'a.test.ts and 1 more fail in tests'],
    ['FAILED tests/test_login.py::test_signs_in - assert 1 == 2', 'test_login.py fails in tests'],
    ['--- FAIL: TestLogin (0.00s)', 'TestLogin fails in tests'],
    ['test login::signs_in ... FAILED', 'login::signs_in fails in tests'],
    ['ok 1 - starts\nnot ok 2 - signs in', 'signs in fails in tests'],
    ['login.test.ts: 2 of 41 tests fail', 'login.test.ts fails in tests'],
    ['✓ login.test.ts (3 tests, 0 failed)\nno coverage', 'tests: no coverage'],
    [undefined, 'tests: Command tests failed (exit 1)'],
    [{ failed: 2 }, 'tests: Command tests failed (exit 1)'],
  ])('names what failed in the output of its tests: %j', (output, expected) => {
    expect(sentence(tested(), ...fails('a1', output))).toBe(`Blocked once: ${expected}; 2 tries left`);
  });

  // Root cause: the last line of the output was shown, and runners end with how many passed and how long it took.
  test('names the line that says what failed, not the last one', () => {
    const output = '  1 failed\n    [chromium] › e2e/login.spec.ts:3:1 › signs in\n  27 passed (48.3s)';
    expect(sentence(tested(), ...fails('a1', output))).toBe('Blocked once: login.spec.ts fails in tests; 2 tries left');
    expect(sentence(tested(), ...fails('a1', 'Error: no browser\n  27 passed (48.3s)'))).toBe(
      'Blocked once: tests: Error: no browser; 2 tries left',
    );
  });

  test('that fell silent or used its budget up says so of then: it may be back, and the budget raised', () => {
    const silent = [policy({ onStale: 'escalate' }), ['worker.w1.task.claimed', { task: 'T-1' }]] as const;
    const replay = replayLines(...silent);
    replay.fold(
      JSON.stringify({
        at: '2026-03-02T13:00:00Z',
        subject: 'stopgate.main.own.worker.w1.timer.fired',
        data: { timer: 'stale' },
      }),
    );
    const { workers, tasks } = replay.view().fleets.main ?? expect.unreachable();
    expect(workers.w1?.sentence).toBe('Worker w1 fell silent while it held T-1');
    expect(tasks['T-1']?.sentence).toBe('Worker w1 fell silent while it held T-1');
    const spent: Entry = ['worker.w1.usage.reported', { usd: 402 }];
    const limit = (onBudget: string): Entry => [
      'own.fleet.main.policy.set',
      { policies: { default: { onBudget } }, budget: { usd: 400, per: 'day' } },
    ];
    expect(sentence(limit('escalate'), spent, stop('a1'))).toBe(
      "The fleet's budget of the day was used up (usd 402 of 400): a person may grant it once more",
    );
    expect(sentence(limit('allow'), spent, stop('a1'))).toBe(
      "The fleet's budget of the day was used up (usd 402 of 400): the stop was not judged",
    );
  });

  test('names the steps that remain, and counts the checks beyond the first', () => {
    expect(sentence(policy({ checks: [{ plan: {} }], retries: 2 }), plan('done', 'pending'), stop('a1'))).toBe(
      'Blocked once: 1 of 2 plan steps remain: Step 2; 1 try left',
    );
    const both = policy({ checks: [{ plan: {} }, { command: 'tests' }], failures: 'all', retries: 2 });
    expect(sentence(both, plan('pending'), ...fails('a1', vitest))).toBe(
      'Blocked once: 1 of 1 plan steps remain: Step 1, and 1 more check; 1 try left',
    );
  });

  test('that waits for a person shows the question or request', () => {
    const asks: Entry = [
      'worker.w1.input.requested',
      { kind: 'permission', request: 'r1', tool: 'Bash', detail: 'ls' },
    ];
    expect(sentence(policy({ promises: true }), stop('a1', { output: 'Which key? <promise>ESCALATE</promise>' }))).toBe(
      'Which key?',
    );
    expect(sentence(asks)).toBe('Asks: Bash: ls');
  });

  test('that waits for a check, a task or background work says so', () => {
    expect(sentence(tested(), stop('a1'))).toBe('Waits for check tests');
    const held = policy({ persistence: { idle: '10m', hold: '5m' } });
    expect(sentence(held, stop('a1'))).toBe('Held: a task may still come');
    const started: Entry = ['worker.w1.background.started', { id: 'build' }];
    expect(sentence(policy({}), started, stop('a1'))).toBe('Waits for build in the background');
    const blocked = [policy({ background: { onStop: 'block' } }), started, stop('a1')];
    expect(sentence(...blocked)).toBe('Told to continue: 1 background task still runs: build. Wait for it, or end it');
    const ended: Entry = ['worker.w1.background.finished', { id: 'build' }];
    expect(sentence(...blocked, ended)).toBe('It has what it waited for, and can continue');
  });

  test('that works shows the progress of its plan, and that it was blocked before', () => {
    expect(sentence(plan('done', 'pending'))).toBe('1 of 2 steps done');
    const used: Entry = ['worker.w1.tool.used', { tool: 'Bash' }];
    expect(sentence(tested(), plan('done', 'pending'), ...fails('a1', vitest), used)).toBe(
      '1 of 2 steps done; blocked once before',
    );
    expect(sentence(['worker.w1.task.claimed', { task: 'T-1' }])).toBe('At work on T-1');
  });

  test('that is idle does not show the cause of its last stop once it no longer applies', () => {
    const limit = ['worker.w1.limit.reached', {}] as const;
    expect(sentence(limit, stop('a1'))).toBe('Paused: it has reached its usage limit');
    expect(sentence(limit, stop('a1'), ['worker.w1.limit.cleared', {}])).toBe(
      'Its usage limit is over: it can continue',
    );
    const asked = ['worker.w1.input.requested', { message: 'Which branch?' }] as const;
    expect(sentence(asked, stop('a1'))).toBe('Asks: Which branch?');
    expect(sentence(asked, stop('a1'), ['worker.w1.input.received', {}])).toBe(
      'It has what it waited for, and can continue',
    );
    const ended = [['worker.w1.session.ended', {}], stop('a1')] as const;
    expect(sentence(...ended)).toBe('The session has ended');
    expect(sentence(...ended, ['worker.w1.worker.registered', {}])).toBe('Back in service');
    const escalated = [policy({ promises: true }), stop('a1', { output: '<promise>ESCALATE</promise>' })] as const;
    expect(sentence(...escalated)).toBe('The agent asked for a person');
    expect(sentence(...escalated, ['own.worker.w1.escalation.resolved', { by: 'ann', verdict: 'resume' }])).toBe(
      'Resumed by ann',
    );
  });

  test('that is done shows the answer to its last stop', () => {
    expect(sentence(policy({}), stop('a1'))).toBe('Allowed: nothing was set to be checked');
    expect(sentence(policy({ checks: [{ plan: {} }] }), plan('done'), stop('a1'))).toBe(
      'Allowed: all that the policy asks for is done',
    );
    expect(sentence(['worker.w1.tool.used', { tool: 'Bash' }], ['own.worker.w1.worker.retired', { by: 'ann' }])).toBe(
      'Retired by an operator',
    );
  });
});

test('a decision has the same sentence as its worker', () => {
  const view = w1(tested(), ...fails('a1', vitest));
  expect(view.lastDecision === null ? null : sentenceOfDecision(view.lastDecision)).toBe(view.sentence);
});

test('a task shows its holder, the tasks before it, or who may claim it', () => {
  const { tasks } = fold(
    ['task.T-1.task.created', { queue: 'q' }],
    ['task.T-2.task.created', { queue: 'q', after: ['T-1'] }],
    ['task.T-3.task.created', {}],
    ['worker.w1.task.claimed', { task: 'T-3' }],
    ['task.T-4.task.created', {}],
    ['worker.w1.task.claimed', { task: 'T-4' }],
    ['worker.w1.task.completed', { task: 'T-4' }],
  );
  expect(Object.values(tasks).map((task) => task.sentence)).toEqual([
    'Waits for a worker of queue q',
    'Comes after T-1',
    'Held by w1',
    'Completed',
  ]);
});
