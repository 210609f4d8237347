/** Who waits for whom, and what is missing. It is derived from the current state, so it is never out of date. */
import { describe, expect, test } from 'vitest';
import { explainDecision } from '../../../../machines/index.ts';
import { describeOutcome } from '../../../../machines/replay/standing.ts';
import { replayLines } from '../../../support/fold-lines.ts';

type Entry = readonly [tail: string, data: object];

const fold = (...entries: readonly Entry[]) => replayLines(...entries).view().fleets.main ?? expect.unreachable();
const worker = (...entries: readonly Entry[]) => fold(...entries).workers.w1 ?? expect.unreachable();

const policy = (fields: object): Entry => ['own.fleet.main.policy.set', { policies: { default: fields } }];
const plan = (status: string): Entry => ['worker.w1.plan.updated', { steps: [{ title: 'Write tests', status }] }];
const stop = (attempt: string, fields: object = {}): Entry => ['worker.w1.stop.attempted', { attempt, ...fields }];
const asks: Entry = [
  'worker.w1.input.requested',
  { kind: 'permission', request: 'r1', tool: 'Bash', detail: 'make deploy' },
];
const escalates = [policy({ promises: true }), stop('a1', { output: 'Which key? <promise>ESCALATE</promise>' })];
const resolve: Entry = ['own.worker.w1.escalation.resolved', { by: 'ann', verdict: 'resume' }];

describe('a worker', () => {
  test('that was blocked lists the failures, and waits for its agent', () => {
    const { standing } = worker(policy({ checks: [{ plan: {} }] }), plan('pending'), stop('a1'));
    expect(standing).toMatchObject({
      waits: [{ kind: 'work', whom: 'its agent', since: '2026-03-02T12:00:02.000Z' }],
      missing: ['plan: 1 of 1 plan steps remain: Write tests'],
      note: null,
    });
  });

  test('that has worked since its block says that it may be done', () => {
    const blocked = [policy({ checks: [{ plan: {} }] }), plan('pending'), stop('a1')];
    const used: Entry = ['worker.w1.tool.used', { tool: 'Bash' }];
    expect(worker(...blocked, used).standing).toEqual({
      waits: [],
      missing: ['plan: 1 of 1 plan steps remain: Write tests'],
      note: 'That was so when it last tried to stop; it has worked since.',
    });
  });

  test('lists the plan steps that are open now, not those at the block', () => {
    const two = (...statuses: string[]): Entry => [
      'worker.w1.plan.updated',
      { steps: statuses.map((status, index) => ({ title: `step ${index}`, status })) },
    ];
    const blocked = [policy({ checks: [{ plan: {} }] }), two('pending', 'pending'), stop('a1')];
    const missing = (...entries: Entry[]) => worker(...blocked, ...entries).standing.missing;
    expect(missing(two('done', 'pending'))).toEqual(['plan: 1 of 2 plan steps remain: step 1']);
    expect(missing(two('done', 'done'))).toEqual([]);
  });

  test('that is idle after it completed its task with an entry needs nothing', () => {
    const claimed: Entry[] = [
      ['task.T-1.task.created', {}],
      ['worker.w1.task.claimed', { task: 'T-1' }],
    ];
    const completed: Entry = ['worker.w1.task.completed', { task: 'T-1' }];
    const view = worker(policy({ checks: [{ plan: {} }] }), ...claimed, plan('pending'), stop('a1'), completed);
    expect(view).toMatchObject({ state: 'idle', standing: { waits: [], missing: [] } });
  });

  test('that was allowed to stop at the retry limit was not complete', () => {
    const { standing } = worker(
      policy({ checks: [{ plan: {} }], retries: 1 }),
      plan('pending'),
      stop('a1'),
      stop('a2'),
    );
    expect(standing).toMatchObject({ waits: [], missing: [] });
    expect(standing.note).toMatch(/^It was allowed at the cap/);
    expect(standing.note).not.toMatch(/Nothing was missing/);
  });

  test.each<[string, readonly Entry[], string]>([
    ['was complete', [policy({ checks: [{ plan: {} }] }), plan('done'), stop('a1')], 'Nothing was missing.'],
    ['was not judged', [policy({}), stop('a1')], 'Nothing was judged: no check or hook was set.'],
    [
      'used its budget up',
      [policy({}), ['worker.w1.budget.exhausted', {}], stop('a1')],
      'It was allowed without being judged:',
    ],
    ['has not tried', [policy({}), plan('done')], 'It has not tried to stop yet.'],
    ['has ended', [['worker.w1.session.ended', {}]], 'Its session has ended.'],
  ])('that %s', (_, entries, note) => {
    expect(worker(...entries).standing.note).toContain(note);
    expect(worker(...entries).standing.missing).toEqual([]);
  });

  test('that asks waits for a person until the answer', () => {
    expect(worker(asks).standing).toMatchObject({
      waits: [{ kind: 'permission', whom: 'a person', text: 'Bash: make deploy', since: '2026-03-02T12:00:00.000Z' }],
      missing: ['a person answers: Bash: make deploy'],
    });
    const answered: Entry = ['own.worker.w1.input.answered', { by: 'ann', request: 'r1', verdict: 'allow' }];
    expect(worker(asks, answered).standing).toMatchObject({ waits: [], missing: [] });
  });

  test('that asks with the input of a tool shows the command, not the whole input', () => {
    const detail = { command: 'make deploy', timeout: 5 };
    const input: Entry = ['worker.w1.input.requested', { kind: 'permission', request: 'r1', tool: 'Bash', detail }];
    expect(worker(input).standing.missing).toEqual(['a person answers: Bash: make deploy']);
    expect(worker(input).standing.waits[0]?.text).toContain('"timeout":5');
  });

  test('that was over its budget says what was granted', () => {
    const over: Entry[] = [
      policy({ budget: { usd: 10, turns: 5 }, onBudget: 'escalate' }),
      ['worker.w1.usage.reported', { usd: 10.02 }],
      stop('a1'),
      ['own.worker.w1.escalation.resolved', { by: 'ann', verdict: 'resume', grant: { usd: 5 } }],
    ];
    const { lastDecision, budgets, ...now } = worker(...over);
    expect(now.standing.note).toBe('It asked for a person: ann resumed it and granted usd 5.');
    expect(budgets).toMatchObject([
      { kind: 'usd', used: 0, limit: 5, configured: 10 },
      { kind: 'turns', limit: 5 },
    ]);
    expect(explainDecision(lastDecision ?? expect.unreachable(), { ...now, lastDecision }).join(' ')).toContain(
      'ann resumed it and granted usd 5 at 2026-03-02T',
    );
  });

  test('that is escalated waits for a person until it is resolved', () => {
    expect(worker(...escalates).standing).toMatchObject({
      waits: [{ kind: 'escalation', whom: 'a person', text: 'Which key?' }],
      missing: ['a person resumes it, or lets it stop'],
    });
    expect(worker(...escalates, resolve).standing).toEqual({
      waits: [],
      missing: [],
      note: 'It asked for a person: ann resumed it.',
    });
  });

  test('with an open stop waits for the check', () => {
    const tests = policy({ checks: [{ command: 'tests' }] });
    expect(worker(tests, ['worker.w1.worker.registered', {}], stop('a1')).standing.waits).toMatchObject([
      { kind: 'check', whom: 'check tests', since: '2026-03-02T12:00:02.000Z' },
    ]);
    expect(worker(tests, stop('a1')).standing).toMatchObject({ missing: [], note: 'It is trying to stop now.' });
  });

  test('that stopped with background work waits for it, but for nothing while it works', () => {
    const started: Entry = ['worker.w1.background.started', { id: 'build' }];
    expect(worker(policy({}), started, stop('a1')).standing.waits).toMatchObject([
      { kind: 'background', whom: 'background work build' },
    ]);
    expect(worker(policy({}), started, stop('a1'), plan('pending')).standing.waits).toEqual([]);
  });

  test('that was blocked for background work lists the work that still runs', () => {
    const started = (id: string): Entry => ['worker.w1.background.started', { id }];
    const ended = (id: string): Entry => ['worker.w1.background.finished', { id }];
    const blocked = [policy({ background: { onStop: 'block' } }), started('build'), started('lint'), stop('a1')];
    const still = ['1 background task still runs: lint. Wait for it, or end it'];
    expect(worker(...blocked, ended('build')).standing).toMatchObject({
      waits: [{ kind: 'work', whom: 'its agent', text: still[0] }],
      missing: still,
    });
    expect(worker(...blocked, ended('build'), ended('lint')).standing).toEqual({
      waits: [],
      missing: [],
      note: 'It was blocked when it last tried to stop, and waits for nothing now.',
    });
  });

  test('that a person paused needs nothing, unless a stop was already open', () => {
    const paused: Entry = ['own.worker.w1.worker.paused', { by: 'ann' }];
    const blocked = [policy({ checks: [{ plan: {} }] }), plan('pending'), stop('a1')];
    expect(worker(...blocked, paused).standing).toEqual({
      waits: [],
      missing: [],
      note: 'It is paused by ann: its stops are not judged.',
    });
    expect(worker(policy({}), asks, paused).standing.missing).toEqual(['a person answers: Bash: make deploy']);
    const open = [policy({ checks: [{ command: 'tests' }] }), stop('a1'), paused];
    expect(worker(...open).standing.note).toBe('It is trying to stop now.');
  });

  test('that continues after a complete stop does not claim that nothing is missing', () => {
    const complete = [policy({ checks: [{ plan: {} }] }), plan('done'), stop('a1')];
    const { state, standing } = worker(...complete, ['worker.w1.prompt.submitted', {}], plan('pending'));
    expect(state).toBe('working');
    expect(standing).toEqual({
      waits: [],
      missing: [],
      note: 'It has continued since its last stop, which was allowed.',
    });
  });

  test('that has stopped waits for nothing', () => {
    const checks = policy({ checks: [{ plan: {} }] });
    const ended: Entry = ['worker.w1.session.ended', {}];
    expect(worker(checks, plan('pending'), stop('a1'), asks, ended).standing).toMatchObject({ waits: [], missing: [] });
  });
});

describe('a task', () => {
  const created = (task: string, fields: object = {}): Entry => [`task.${task}.task.created`, fields];
  const claim: Entry = ['worker.w1.task.claimed', { task: 'T-1' }];
  const standingOf = (...entries: readonly Entry[]) => fold(...entries).tasks['T-1']?.standing;

  test.each<[string, readonly Entry[], object]>([
    ['in a queue', [created('T-1', { queue: 'q' })], { kind: 'claim', text: 'one of queue q claims it' }],
    [
      'in none',
      [['task.T-1.hook.registered', { hook: 'h1', type: 'tdd' }]],
      { kind: 'claim', text: 'it is in no queue, so no worker will take it' },
    ],
    [
      'after another',
      [created('T-0'), created('T-1', { queue: 'q', after: ['T-0'] })],
      { kind: 'task', whom: 'task T-0' },
    ],
    [
      'after three',
      [created('T-1', { queue: 'q', after: ['A', 'B', 'C'] })],
      { kind: 'task', whom: 'task A, task B, task C' },
    ],
    [
      'after many',
      [created('T-1', { queue: 'q', after: ['A', 'B', 'C', 'D'] })],
      { kind: 'task', whom: 'task A, task B, task C, …' },
    ],
    ['that is held', [created('T-1'), claim], { kind: 'worker', whom: 'worker w1' }],
  ])('%s shows what it waits for', (_, entries, wait) => {
    expect(standingOf(...entries)?.waits).toMatchObject([wait]);
  });

  test('after a completed one waits for a worker', () => {
    const first = [created('T-0'), created('T-1', { after: ['T-0'], queue: 'q' })];
    const done: Entry[] = [
      ['worker.w0.task.claimed', { task: 'T-0' }],
      ['worker.w0.task.completed', { task: 'T-0' }],
    ];
    expect(standingOf(...first, ...done)?.waits).toMatchObject([{ kind: 'claim' }]);
  });

  // Root cause: the state was compared, which a further attempt changes.
  test('whose worker tries to stop again still waits with it, and says if it waits for something else', () => {
    const held = [
      policy({ promises: true, checks: [{ command: 'tests' }] }),
      created('T-1'),
      claim,
      stop('a1', { output: 'Which key? <promise>ESCALATE</promise>' }),
    ];
    expect(standingOf(...held, stop('a2'))).toMatchObject({ waits: [{ kind: 'escalation' }], note: null });
    const again = [
      ['worker.w1.prompt.submitted', { text: 'A' }],
      stop('a2', { output: '<promise>ESCALATE</promise>' }),
    ];
    expect(standingOf(...held, ...(again as Entry[]))?.note).toBe(
      'Worker w1 waits for something else now; the task still waits.',
    );
  });

  test('whose worker was answered says so, and still waits', () => {
    const held = [created('T-1'), claim, ...escalates];
    expect(standingOf(...held)).toMatchObject({ waits: [{ kind: 'escalation' }], note: null });
    expect(standingOf(...held, resolve)).toMatchObject({
      waits: [{ kind: 'escalation' }],
      note: 'Worker w1 was resumed by ann; the task still waits.',
    });
    expect(standingOf(...held, ['worker.w1.prompt.submitted', { text: 'Use A' }])?.note).toBe(
      'Worker w1 is no longer escalated; the task still waits.',
    );
    expect(standingOf(...held, ['own.task.T-1.escalation.resolved', { by: 'ann', verdict: 'stop' }])).toEqual({
      waits: [],
      missing: [],
      note: 'It is cancelled.',
    });
  });
});

test('a dry run says what would be, because nothing was decided', () => {
  const { lastDecision } = worker(policy({ checks: [{ plan: {} }], retries: 0 }), plan('pending'), stop('a1'));
  const decision = lastDecision ?? expect.unreachable();
  expect(describeOutcome(decision)).toMatch(/^It was allowed at the cap, and/);
  expect(describeOutcome({ ...decision, dryRun: true })).toMatch(/^It would be allowed at the cap, although/);
  expect(describeOutcome({ ...decision, dryRun: true, action: 'escalate' })).toBe('A person would be asked.');
});

describe('the explanation of a decision', () => {
  const explained = (...entries: readonly Entry[]) => {
    const view = worker(...entries);
    return explainDecision(view.lastDecision ?? expect.unreachable(), view).join(' ');
  };

  test('asks for an answer only until there is one', () => {
    expect(explained(...escalates)).toMatch(/a person still has to answer/);
    expect(explained(...escalates, resolve)).not.toMatch(/has to answer/);
    expect(explained(...escalates, resolve)).toMatch(/ann resumed it at 2026-03-02T12:00:02.000Z\./);
  });

  test('names checks that did not run, and lists no blocking guard as passed', () => {
    const checks = policy({ checks: [{ plan: {} }, { command: 'lint' }], stuckAfter: 1 });
    const text = explained(checks, plan('pending'), stop('a1'));
    expect(text).toMatch(/Checks that were not run: lint\./);
    expect(text).toMatch(/The guard "stuck" decided/);
    expect(text).toMatch(/Before it, "checks" found \(block\): /);
    expect(text).not.toMatch(/passed before it: [^.]*checks/);
  });
});
