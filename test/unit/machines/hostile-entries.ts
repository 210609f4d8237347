/** Random entries of every type, as large as they may be, and the logs that hostile entries have filled before. */
import fc from 'fast-check';
import type { entrySchemas } from '../../../machines/index.ts';

export type Line = readonly [tail: string, data: object];
const list = <Item>(length: number, make: (index: number) => Item) => Array.from({ length }, (_, index) => make(index));

const text = (max: number) =>
  fc
    .tuple(fc.integer({ min: 1, max }), fc.constantFrom('a', 'é', '😀', '`', '\u0007', '1 s /x '))
    .map(([length, it]) => it.repeat(length).slice(0, max));
const id = (...ids: string[]) => fc.constantFrom(...ids);
const few = <Of>(of: fc.Arbitrary<Of>, max: number) => fc.array(of, { minLength: 0, maxLength: max });
const maybe = <Of>(of: fc.Arbitrary<Of>) => fc.option(of, { nil: undefined });
const glob = few(id('*a', '**/', '*', '?', 'a', 'src/'), 60).map((parts) => `${parts.join('')}*`);
const files = fc.oneof(
  few(text(900), 60),
  fc.constant(list(5_000, (n) => `f${n}`)),
  fc.constant(list(600, (n) => `${n}`.padEnd(95, 'a'))),
);
const anything = fc.oneof(
  text(60_000),
  fc.constantFrom(
    list(21_000, () => []),
    list(20_000, () => ({})),
    Object.fromEntries(list(5_000, (n) => [`k${n}`, n])),
  ),
);
const fields = (of: unknown) => (typeof of === 'object' && !Array.isArray(of) ? of : { of }) as object;
const ruleNames = list(256, (n) => `${n}`.padEnd(110, 'r'));
const rule = id(...ruleNames.slice(0, 8), 'tests_pass', 'x');
const validation = fc.oneof(
  few(fc.record({ rule, passed: fc.boolean(), message: maybe(text(200)) }, { requiredKeys: ['rule', 'passed'] }), 200),
  fc.constant(ruleNames.map((name) => ({ rule: name, passed: false }))),
);
const when = fc.record({ filesMatch: glob, iterationAtLeast: fc.constantFrom(1, 2) }, { requiredKeys: [] });
const simpleHook = fc.record(
  {
    type: fc.constantFrom('promise', 'validation', 'default', 'tdd', 'security', 'checkpoint'),
    when,
    onError: fc.constantFrom('skip', 'escalate'),
  },
  { requiredKeys: ['type'] },
);
const remoteHook = fc.record({ type: fc.constant('remote'), name: id('n0', 'n1', 'n2') });
const hook = fc.oneof(
  simpleHook,
  remoteHook,
  fc.record({
    type: fc.constantFrom('any', 'all'),
    of: fc.array(fc.oneof(simpleHook, remoteHook), { minLength: 1, maxLength: 200 }),
  }),
  anything.map((of) => ({ type: 'promise', metadata: fields(of) })),
);
const attempt = id('a0', 'a1', 'a2', 'a3');
const attempted = fc.record(
  { attempt, output: text(20_000), files, validation, holdMs: fc.constantFrom(0, 60_000) },
  { requiredKeys: [] },
);
const answer = fc.record(
  {
    attempt,
    check: id('tests', 'n0', 'n1', 'n2', 'c0', 'c1'),
    outcome: fc.constantFrom('pass', 'fail', 'error', 'timeout'),
    reason: text(2_000),
    feedback: anything,
    nextPrompt: text(20_000),
    metadata: anything.map(fields),
    checkpointData: anything,
  },
  { requiredKeys: ['attempt', 'check', 'outcome'] },
);
const steps = few(fc.record({ title: text(100), status: id('done', 'open') }), 500);
const check = fc.oneof(
  fc.constantFrom<object>({ plan: {} }, { command: 'tests' }, { remote: 'n0' }, { rules: ruleNames.slice(0, 100) }),
  when.map((condition) => ({ rules: ['tests_pass'], when: condition })),
  fc.constant({ any: list(40, (n) => ({ command: `c${n}`, onError: 'block' })) }),
);
const policy = fc.record(
  {
    checks: few(check, 20),
    promises: fc.boolean(),
    stuckAfter: fc.constantFrom<unknown>(2, { times: 2, mask: true }),
    persistence: fc.constantFrom<unknown>('default', { idle: '10m', hold: '1m' }),
    onStale: id('wait', 'escalate'),
  },
  { requiredKeys: [] },
);
const empty = fc.constant({});
const by = fc.constant({ by: 'ann' });
const task = fc.record({ task: id('T', 'T1', 'T2') });
const worker = (type: string) => `worker.w.${type}`;

/** The fields of each type of entry: one that is missing does not compile. */
const arbitraries: {
  readonly [Area in keyof typeof entrySchemas]: {
    readonly [Type in keyof (typeof entrySchemas)[Area]]: fc.Arbitrary<object>;
  };
} = {
  worker: {
    'worker.registered': fc.record(
      {
        agent: text(60_000),
        cwd: text(4_096),
        interactive: fc.boolean(),
        labels: fc.constant(Object.fromEntries(list(64, (n) => [`l${n}`, 'x'.repeat(900)]))),
      },
      { requiredKeys: [] },
    ),
    'worker.moved': fc.record({ cwd: text(4_096) }),
    'heartbeat.sent': empty,
    'prompt.submitted': fc.record(
      { text: text(60_000), by: id('person', 'agent', 'system') },
      { requiredKeys: ['text'] },
    ),
    'tool.started': fc.record({ tool: text(1_024), call: text(1_024) }, { requiredKeys: ['tool'] }),
    'tool.used': fc.record(
      {
        tool: text(100),
        files,
        changes: id('none', 'files', 'unknown', 'more'),
        command: text(60_000),
        ok: fc.boolean(),
      },
      { requiredKeys: ['tool'] },
    ),
    'plan.updated': fc.record({ steps }),
    'step.updated': fc.record({ step: id('s1', 's2'), title: text(2_000), status: text(60_000) }),
    'task.claimed': task,
    'task.completed': task,
    'task.failed': fc.record({ task: id('T', 'T1'), reason: text(2_000) }),
    'task.released': task,
    'background.started': fc.record(
      { id: text(1_024), kind: text(60_000), command: text(60_000) },
      { requiredKeys: ['id'] },
    ),
    'background.finished': fc.record({ id: text(1_024) }),
    'input.requested': fc.record(
      { message: text(60_000), request: id('q1', 'q2'), detail: anything },
      { requiredKeys: [] },
    ),
    'input.received': fc.record({ request: id('q1', 'q2') }, { requiredKeys: [] }),
    'limit.reached': fc.record({ scope: text(60_000) }),
    'limit.cleared': fc.record({ scope: text(60_000) }),
    'budget.exhausted': empty,
    'usage.reported': fc.record(
      {
        input: fc.double({ min: 0, noNaN: true }),
        usd: fc.double({ min: 0, noNaN: true }),
        model: text(1_024),
        source: text(128),
      },
      { requiredKeys: [] },
    ),
    'stop.attempted': attempted,
    'session.ended': empty,
  },
  task: {
    'task.created': fc.record(
      { title: text(2_000), plan: steps, after: few(id('T1', 'T2', ...list(900, (n) => `O${n}`)), 1_000) },
      { requiredKeys: [] },
    ),
    'task.cancelled': empty,
    'hook.registered': hook,
    'hook.enabled': fc.record({ hook: id('hook-1', 'h1') }),
    'hook.disabled': fc.record({ hook: id('hook-1', 'h1') }),
    'hook.unregistered': fc.record({ hook: id('hook-1', 'h1') }),
    'hooks.cleared': empty,
    'iteration.started': fc.record(
      { iteration: fc.constant(1), maxIterations: fc.constantFrom(1, 3), rules: fc.constant(ruleNames) },
      { requiredKeys: ['iteration', 'maxIterations'] },
    ),
    'iteration.validated': attempted.map((fields) => ({ iteration: 1, ...fields })),
    'iteration.advanced': empty,
    'iteration.completed': fc.constant({ iteration: 1, promise: 'COMPLETE' }),
    'checkpoint.saved': fc.record(
      { checkpoint: id('c'), phase: text(60_000), context: anything },
      { requiredKeys: ['checkpoint'] },
    ),
  },
  queue: { 'depth.reported': fc.record({ pending: fc.integer({ min: 0, max: 3 }) }) },
  ownWorker: {
    'attempt.accepted': fc.record({ attempt, replica: id('r1') }),
    'check.started': fc.record({ attempt, check: id('tests', 'c0') }),
    'check.finished': answer,
    'timer.fired': fc.record({ timer: text(100) }),
    'escalation.acknowledged': by,
    'escalation.resolved': fc.record({ by: id('ann'), verdict: id('resume', 'stop'), prompt: text(60_000) }),
    'escalation.notified': fc.record({ count: fc.constant(1), delivery: text(100) }),
    'worker.retired': by,
    'worker.paused': fc.record({ by: text(200), forMs: fc.constantFrom(1, 60_000) }, { requiredKeys: ['by'] }),
    'worker.unpaused': by,
    'input.answered': fc.record({ by: id('ann'), request: id('q1', 'q2'), verdict: id('allow', 'deny') }),
  },
  ownTask: {
    'check.finished': answer,
    'timer.fired': fc.record({ timer: text(100) }),
    'escalation.acknowledged': by,
    'escalation.resolved': fc.record({ by: id('ann'), verdict: id('resume', 'stop') }),
    'escalation.notified': fc.record({ count: fc.constant(1), delivery: text(100) }),
  },
  ownQueue: {
    'timer.fired': fc.record({ timer: text(100) }),
    'escalation.acknowledged': by,
    'escalation.notified': fc.record({ count: fc.constant(1), delivery: text(100) }),
  },
  ownFleet: {
    'replica.joined': fc.record({ replica: id('r1', 'r2') }),
    'replica.left': fc.record({ replica: id('r1', 'r2') }),
    'rules.set': fc.constant({ version: 1 }),
    'policy.set': policy.map((form) => ({ policies: { default: form } })),
  },
};
const prefixes = {
  worker: 'worker.w',
  task: 'task.T',
  queue: 'queue.main',
  ownWorker: 'own.worker.w',
  ownTask: 'own.task.T',
  ownQueue: 'own.queue.main',
  ownFleet: 'own.fleet.main',
} as const;
/** Each type as often as any other, but those that judge more often. */
const judging = new Set(['stop.attempted', 'iteration.validated', 'check.finished', 'task.claimed', 'hook.registered']);
export const line: fc.Arbitrary<Line> = fc.oneof(
  ...Object.entries(arbitraries).flatMap(([area, types]) =>
    Object.entries(types as Record<string, fc.Arbitrary<object>>).map(([type, arbitrary]) => ({
      weight: judging.has(type) ? 5 : 1,
      arbitrary: arbitrary.map((data): Line => [`${prefixes[area as keyof typeof prefixes]}.${type}`, data]),
    })),
  ),
);

const claimed: Line = [worker('task.claimed'), { task: 'T' }];
const started: Line = ['task.T.iteration.started', { iteration: 1, maxIterations: 3, rules: ruleNames }];
const hooks = (member: (index: number) => object): Line[] =>
  list(64, (n) => ['task.T.hook.registered', { hook: `h${n}`, type: 'any', of: list(4, (of) => member(4 * n + of)) }]);
const manyFiles: Line[] = list(9, (part) => [
  worker('tool.used'),
  { tool: 'Edit', files: list(600, (n) => `${part * 600 + n}`.padEnd(95, 'a')) },
]);
/** What may stand in the log before. */
export const worlds: readonly (readonly Line[])[] = [
  [],
  [
    claimed,
    started,
    ...hooks((n) => ({ type: 'promise', when: { filesMatch: `${'?*a'.repeat(80)}*${n}` } })),
    ...manyFiles,
  ],
  [claimed, started, ...hooks((n) => ({ type: 'tdd', when: { filesMatch: `*/*${n}z*` } })), ...manyFiles],
  [claimed, started, ...hooks(() => ({ type: 'validation' }))],
  [claimed, started, ...hooks((n) => ({ type: 'remote', name: `n${n}` }))],
  list(1_000, (n): Line => [worker('task.claimed'), { task: `T${n}` }]),
  [...list(1_000, (n): Line => [`task.D${n}.task.created`, { after: ['T', 'T1'] }]), claimed],
  list(1_000, (n): Line => [worker('background.started'), { id: `${n}`.padEnd(1_000, 'x') }]),
];
