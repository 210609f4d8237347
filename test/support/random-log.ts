/**
 * Random logs with all kinds of entries and jumps in time. There are few workers, tasks and queues, so entries
 * interact.
 */
import fc from 'fast-check';
import { type Entry, readEntry, type StoredEntry } from '../../machines/index.ts';

type Line = readonly [tail: string, data: object];

/**
 * A value with dependent values. Their arbitraries are created once, because that costs more than generating values.
 */
function choice<Value, Made>(values: readonly Value[], make: (value: Value) => fc.Arbitrary<Made>): fc.Arbitrary<Made> {
  const made = values.map(make);
  return fc.constantFrom(...made).chain((it) => it);
}

const tasks = ['T-1', 'T-2', 'T-3', 'T-4'];
const queues = ['main', 'q'];
const task = fc.constantFrom(...tasks);
const queue = fc.constantFrom(...queues);
const attempt = fc.constantFrom('a1', 'a2', 'a3', 'a4', 'a5');
const scope = fc.constantFrom('team a', 'org/ü');
const replica = fc.constantFrom('r1', 'r2');
const maybe = <Value>(arbitrary: fc.Arbitrary<Value>) => fc.option(arbitrary, { nil: undefined });
const validation = maybe(
  fc.array(fc.record({ rule: fc.constantFrom('tests', 'lint'), passed: fc.boolean() }), { maxLength: 2 }),
);
const output = maybe(fc.constantFrom('done', '<promise>COMPLETE</promise>', 'un été\n"so"\u2028'));

const request = fc.constantFrom('r1', 'r2');

const policies = fc.constantFrom<object>(
  { policies: {} },
  {
    policies: { default: { persistence: { idle: '10m', hold: '5m' }, toolTime: '8m' } },
    releaseAfter: '3m',
    forget: '20m',
    escalation: { waiting: '4m', unattended: '2m' },
  },
  {
    policies: {
      default: {
        persistence: { idle: '10m', queue: 'q' },
        budget: { tokens: 500, per: 'prompt' },
        onBudget: 'escalate',
      },
      other: { budget: { usd: 1, turns: 3, per: 'task' } },
    },
    budget: { usd: 3, per: 'day' },
    escalation: { waiting: null },
  },
  { policies: { default: { checks: [{ command: 'tests' }, { remote: 'review' }], retries: 2 } }, forget: '1m' },
  {
    policies: {
      default: {
        checks: [{ ran: 'npm test' }, { rules: ['tests'], when: { filesMatch: 'src/**' } }],
        background: { max: '5m', ignore: ['npm run *'], onStop: 'block' },
        keepAlives: 2,
      },
      other: { checks: [{ ran: { command: ['npm test'], since: 'claim' } }], pause: 'deny' },
    },
  },
  {
    policies: {
      default: { checks: [{ rules: ['tests'] }, { files: ['a.md'] }], stuckAfter: 2, promises: true },
      other: { checks: [{ any: [{ plan: {} }, { remote: 'review' }] }], onStale: 'escalate', onCap: 'escalate' },
    },
    assign: [{ agent: 'codex', policy: 'other' }],
    forget: null,
  },
);

const ofWorker = choice(['w1', 'w2', 'w3'], (w): fc.Arbitrary<Line> => {
  const entry = (type: string, data: fc.Arbitrary<object> = fc.constant({})) =>
    data.map((it): Line => [`worker.${w}.${type}`, it]);
  const own = (type: string, data: fc.Arbitrary<object>) => data.map((it): Line => [`own.worker.${w}.${type}`, it]);
  return fc.oneof(
    entry(
      'worker.registered',
      fc.record({
        agent: maybe(fc.constantFrom('claude', 'codex')),
        queue: maybe(queue),
        profile: maybe(fc.constantFrom('patient', 'aggressive')),
        labels: maybe(fc.constant({ 1: 'one', team: 'a' })),
        cwd: maybe(fc.constant('/repo')),
        interactive: maybe(fc.boolean()),
      }),
    ),
    entry('heartbeat.sent'),
    entry('prompt.submitted', fc.record({ by: maybe(fc.constantFrom('person', 'agent', 'system')) })),
    entry('worker.moved', fc.constant({ cwd: '/repo/ü' })),
    entry(
      'tool.started',
      fc.record({ tool: fc.constantFrom('Edit', 'Bash'), call: maybe(fc.constantFrom('c1', 'c2')) }),
    ),
    entry(
      'tool.used',
      fc.record({
        tool: fc.constant('Bash'),
        call: maybe(fc.constantFrom('c1', 'c2')),
        command: maybe(fc.constantFrom('npm test', 'cd a && npm test | tee "ü"')),
        changes: maybe(fc.constantFrom('none', 'files', 'unknown', 'more')),
        ok: maybe(fc.boolean()),
      }),
    ),
    entry('tool.used', fc.record({ tool: fc.constant('Edit'), files: maybe(fc.constant(['a.md', 'src/ü.ts'])) })),
    entry('plan.updated', fc.constant({ steps: [{ title: 'Write', status: 'pending', step: '1' }] })),
    entry(
      'step.updated',
      fc.record({ step: fc.constant('1'), status: fc.constantFrom('completed', 'pending', 'deleted') }),
    ),
    entry('task.claimed', fc.record({ task })),
    entry('task.claimed', fc.record({ task })),
    choice(['task.completed', 'task.failed', 'task.released'], (type) => entry(type, fc.record({ task }))),
    entry(
      'background.started',
      fc.record({
        id: fc.constantFrom('b', 'c'),
        kind: maybe(fc.constant('shell')),
        command: maybe(fc.constant('npm run dev')),
      }),
    ),
    entry('background.finished', fc.constant({ id: 'b' })),
    entry('input.requested', fc.record({ request: maybe(request) })),
    entry('input.received', fc.record({ request: maybe(request) })),
    entry(
      'usage.reported',
      fc.record({
        input: maybe(fc.nat(300)),
        usd: maybe(fc.nat(8).map((it) => it / 10)),
        model: maybe(fc.constant('m')),
        source: maybe(fc.constantFrom('hook', 'metrics')),
      }),
    ),
    entry('limit.reached', fc.record({ scope: maybe(scope), until: maybe(fc.constant('2026-03-02T13:00:00.000Z')) })),
    entry('limit.cleared', fc.record({ scope: maybe(scope) })),
    entry('budget.exhausted'),
    entry('session.ended'),
    entry('stop.attempted', fc.record({ attempt: maybe(attempt), validation, output, holdMs: maybe(fc.nat(600_000)) })),
    entry('stop.attempted', fc.record({ attempt: maybe(attempt), validation, output })),
    entry('stop.attempted', fc.record({ attempt: maybe(attempt) })),
    own('attempt.accepted', fc.record({ attempt, replica })),
    own('check.started', fc.record({ attempt, check: fc.constantFrom('tests', 'files') })),
    own(
      'check.finished',
      fc.record({
        attempt,
        check: fc.constantFrom('tests', 'review', 'files'),
        outcome: fc.constantFrom('pass', 'fail', 'error'),
        reason: maybe(fc.constant('3 failed')),
      }),
    ),
    own('timer.fired', fc.constant({ timer: 'stale' })),
    own('escalation.acknowledged', fc.constant({ by: 'ann' })),
    own('escalation.resolved', fc.record({ by: fc.constant('ann'), verdict: fc.constantFrom('resume', 'stop') })),
    own('input.answered', fc.record({ by: fc.constant('ann'), request, verdict: fc.constantFrom('allow', 'deny') })),
    own('worker.retired', fc.constant({ by: 'ann' })),
    own('worker.paused', fc.record({ by: fc.constant('ann'), forMs: maybe(fc.constantFrom(1, 300_000)) })),
    own('worker.unpaused', fc.constant({ by: 'bob' })),
  );
});

const ofTask = choice(tasks, (t): fc.Arbitrary<Line> => {
  const entry = (type: string, data: fc.Arbitrary<object> = fc.constant({})) =>
    data.map((it): Line => [`task.${t}.${type}`, it]);
  return fc.oneof(
    entry(
      'task.created',
      fc.record({
        title: maybe(fc.constant('Tests')),
        queue: maybe(queue),
        after: maybe(fc.array(task, { maxLength: 2 })),
        policy: maybe(fc.constantFrom('other', 'none')),
        plan: maybe(
          fc.constant([
            { title: 'Test', status: 'pending', step: '1' },
            { title: 'Ship', status: 'done' },
          ]),
        ),
      }),
    ),
    entry('task.cancelled'),
    entry(
      'hook.registered',
      fc.oneof(
        fc.record({ hook: fc.constantFrom('h1', 'h2'), type: fc.constant('remote'), name: fc.constant('review') }),
        fc.record({ hook: fc.constantFrom('h1', 'h2'), type: fc.constantFrom('promise', 'validation', 'default') }),
      ),
    ),
    entry('hook.disabled', fc.constant({ hook: 'h1' })),
    entry('hook.unregistered', fc.constant({ hook: 'h1' })),
    entry('hooks.cleared'),
    entry('iteration.started', fc.constant({ iteration: 1, maxIterations: 3 })),
    entry('iteration.validated', fc.record({ iteration: fc.constant(1), attempt: maybe(attempt), validation, output })),
    entry('iteration.advanced'),
    entry('checkpoint.saved', fc.constant({ checkpoint: 'c', phase: 'p', context: { n: 1 } })),
    fc
      .record({ attempt, check: fc.constant('review'), outcome: fc.constantFrom('pass', 'fail') })
      .map((it): Line => [`own.task.${t}.check.finished`, it]),
    fc.constant<Line>([`own.task.${t}.escalation.resolved`, { by: 'ann', verdict: 'resume' }]),
  );
});

const ofFleet: fc.Arbitrary<Line> = fc.oneof(
  policies.map((it): Line => ['own.fleet.main.policy.set', it]),
  replica.map((it): Line => ['own.fleet.main.replica.joined', { replica: it, rules: [1, 1] }]),
  replica.map((it): Line => ['own.fleet.main.replica.left', { replica: it }]),
  queue.map((q): Line => [`own.queue.${q}.escalation.acknowledged`, { by: 'ann' }]),
  choice(queues, (q) => fc.nat(2).map((pending): Line => [`queue.${q}.depth.reported`, { pending }])),
);

/** In milliseconds: mostly short, sometimes beyond a check's timeout, staleness or forgetting. */
const pause = fc.oneof(
  { weight: 8, arbitrary: fc.nat(2_000) },
  { weight: 2, arbitrary: fc.nat(400_000) },
  { weight: 1, arbitrary: fc.nat(3_000_000) },
);

type LogLine = { readonly at: string; readonly subject: string; readonly data: object };

/** A log of fleet `main`, in order, in the format of `stopgate replay`. */
export const randomLines = (length: number): fc.Arbitrary<readonly LogLine[]> =>
  fc
    .array(
      fc.tuple(
        pause,
        fc.oneof(
          { weight: 6, arbitrary: ofWorker },
          { weight: 3, arbitrary: ofTask },
          { weight: 1, arbitrary: ofFleet },
        ),
      ),
      { minLength: Math.ceil(length / 2), maxLength: length },
    )
    .map((lines) => {
      let atMs = Date.parse('2026-03-02T12:00:00.000Z');
      return lines.map(([pauseMs, [tail, data]]) => {
        atMs += pauseMs;
        return { at: new Date(atMs).toISOString(), subject: `stopgate.main.${tail}`, data };
      });
    });

export const randomLog = (length: number): fc.Arbitrary<readonly StoredEntry[]> =>
  randomLines(length).map((lines) =>
    lines.map(({ at, subject, data }, index) => ({
      seq: index + 1,
      atMs: Date.parse(at),
      entry: entryOf(subject, JSON.stringify(data)),
      owner: 'r1',
    })),
  );

function entryOf(subject: string, text: string): Entry {
  const entry = readEntry(subject, text, text.length);
  if (entry === null || !('data' in entry)) throw new Error(`no entry: ${subject} ${text} ${entry?.message}`);
  return entry;
}
