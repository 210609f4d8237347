/** Entries that cost as much as an entry can, and what stands in the log before them. */

export type Publication = readonly [tail: string, data: object];
export type HostileEntry = { readonly before: readonly Publication[]; readonly entry: Publication };

const list = <Item>(length: number, make: (index: number) => Item): Item[] =>
  Array.from({ length }, (_, it) => make(it));
const claimed: Publication = ['worker.w.task.claimed', { task: 'T' }];
const started: Publication = ['task.T.iteration.started', { iteration: 1, maxIterations: 9 }];
const begun = (fields: object): Publication => [
  'task.T.iteration.started',
  { iteration: 1, maxIterations: 9, ...fields },
];
const policy = (fields: object): Publication => ['own.fleet.main.policy.set', { policies: { default: fields } }];

/** 512 KiB of paths, in eight entries. */
const manyFiles = (path: (index: number) => string, count: number): Publication[] =>
  list(Math.ceil(count / 600), (part) => [
    'worker.w.tool.used',
    { tool: 'Edit', files: list(600, (it) => path(part * 600 + it)) },
  ]);
const paths = manyFiles((it) => `${it}/${'a'.repeat(90)}`, 5_000);
const rules = list(256, (it) => `${'r'.repeat(100)}${it}`);
const failedRules = rules.map((rule) => ({ rule, passed: false, message: 'm'.repeat(90) }));
const failed = failedRules.map(({ rule, passed }) => ({ rule, passed }));

const hooks = (make: (index: number) => object): Publication[] =>
  list(64, (it) => [
    'task.T.hook.registered',
    { hook: `h${it}`, type: 'any', of: list(4, (member) => make(4 * it + member)) },
  ]);
const glob = (it: number) => `${'?*a'.repeat(80)}*${it}b`;
const globHooks = hooks((it) => ({ type: 'promise', when: { filesMatch: glob(it) } }));
const shortGlobHooks = hooks((it) => ({ type: 'promise', when: { filesMatch: `*/*${it}z*` } }));
const ruleHooks = hooks(() => ({ type: 'validation' }));
const arrays = (count: number) => list(count, () => []);
const objects = (count: number) => list(count, () => ({}));

export const hostileEntries: Readonly<Record<string, HostileEntry>> = {
  'a stop, 256 globs over 5,000 files': {
    before: [claimed, ...globHooks, ...paths],
    entry: ['worker.w.stop.attempted', {}],
  },
  'a stop, 256 short globs over 5,000 files': {
    before: [claimed, ...shortGlobHooks, ...paths],
    entry: ['worker.w.stop.attempted', {}],
  },
  'an iteration, 256 globs over 5,000 files': {
    before: [claimed, started, ...globHooks, ...paths],
    entry: ['task.T.iteration.validated', { iteration: 1 }],
  },
  'a stop, 256 hooks over 256 rules': {
    before: [claimed, ...ruleHooks, begun({ rules })],
    entry: ['worker.w.stop.attempted', { validation: failedRules }],
  },
  'an iteration, 256 hooks over 256 rules': {
    before: [claimed, ...ruleHooks, begun({ rules })],
    entry: ['task.T.iteration.validated', { iteration: 1, validation: failedRules }],
  },
  'a stop, 256 mixed hooks over 256 rules': {
    before: [
      claimed,
      ...hooks((it) => ({ type: ['tdd', 'security', 'default', 'validation'][it % 4] })),
      begun({ rules }),
    ],
    entry: ['worker.w.stop.attempted', { validation: failed, output: '`'.repeat(30_000) }],
  },
  'a stop, checks of 100 rules each': {
    before: [
      policy({
        checks: list(4, (part) => ({ any: [{ rules: list(100, (it) => `${part}${'x'.repeat(120)}${it}`) }] })),
      }),
    ],
    entry: ['worker.w.stop.attempted', { validation: failed }],
  },
  'a tool, 5,000 new files': {
    before: paths,
    entry: ['worker.w.tool.used', { tool: 'Edit', files: list(5_000, (it) => `f${it}`) }],
  },
  'a stop, 5,000 files': {
    before: [claimed, ...globHooks.slice(0, 4), ...paths],
    entry: ['worker.w.stop.attempted', { files: list(5_000, (it) => `f${it}`) }],
  },
  'an iteration that waits, 5,000 files': {
    before: [claimed, ['task.T.hook.registered', { type: 'remote', name: 'scan' }], started],
    entry: ['task.T.iteration.validated', { iteration: 1, files: list(5_000, (it) => `f${it}`) }],
  },
  'a checkpoint of 21,000 empty arrays': {
    before: [],
    entry: ['task.T.checkpoint.saved', { checkpoint: 'c', context: arrays(21_000) }],
  },
  'a checkpoint of 21,000 empty objects': {
    before: [],
    entry: ['task.T.checkpoint.saved', { checkpoint: 'c', context: objects(21_000) }],
  },
  'a hook with metadata of 21,000 empty objects': {
    before: [],
    entry: ['task.T.hook.registered', { type: 'promise', metadata: { it: objects(21_000) } }],
  },
  'a hook of 4,000 members': {
    before: [],
    entry: ['task.T.hook.registered', { type: 'any', of: list(4_000, () => ({ type: 'tdd' })) }],
  },
  'an answer with feedback of 21,000 empty objects': {
    before: [
      policy({ checks: [{ any: [{ command: 'tests' }, { command: 'lint' }] }] }),
      ['worker.w.stop.attempted', { attempt: 'a' }],
    ],
    entry: [
      'own.worker.w.check.finished',
      { attempt: 'a', check: 'tests', outcome: 'fail', feedback: objects(21_000) },
    ],
  },
  'the last of 60 answers of 60 KB each': {
    before: [
      policy({ checks: [{ any: list(60, (it) => ({ command: `c${it}` })) }] }),
      ['worker.w.stop.attempted', { attempt: 'a' }],
      ...list(
        59,
        (it): Publication => [
          'own.worker.w.check.finished',
          { attempt: 'a', check: `c${it}`, outcome: 'fail', feedback: { it: 'x'.repeat(60_000) } },
        ],
      ),
    ],
    entry: [
      'own.worker.w.check.finished',
      { attempt: 'a', check: 'c59', outcome: 'fail', feedback: { it: 'x'.repeat(60_000) } },
    ],
  },
  'the answer of a remote hook, 21,000 empty objects': {
    before: [
      claimed,
      [
        'task.T.hook.registered',
        {
          type: 'all',
          of: [
            { type: 'remote', name: 'a' },
            { type: 'remote', name: 'b' },
          ],
        },
      ],
      ['worker.w.stop.attempted', { attempt: 'a' }],
    ],
    entry: [
      'own.worker.w.check.finished',
      { attempt: 'a', check: 'a', outcome: 'pass', metadata: { it: objects(10_000) }, checkpointData: objects(10_000) },
    ],
  },
  'the last answer, 256 remote hooks of 60 KB each': {
    before: [
      claimed,
      ...hooks((it) => ({ type: 'remote', name: `n${it}` })),
      ['worker.w.stop.attempted', { attempt: 'a' }],
      ...list(
        255,
        (it): Publication => [
          'own.worker.w.check.finished',
          {
            attempt: 'a',
            check: `n${it}`,
            outcome: 'fail',
            reason: `${it}`.repeat(500),
            metadata: { it: 'x'.repeat(55_000) },
          },
        ],
      ),
    ],
    entry: [
      'own.worker.w.check.finished',
      { attempt: 'a', check: 'n255', outcome: 'fail', metadata: { it: 'x'.repeat(60_000) } },
    ],
  },
  'a task after 7,000 others': {
    before: [],
    entry: ['task.T.task.created', { after: list(7_000, (it) => `${it}`) }],
  },
  'a task with 1,000 dependents ends': {
    before: [
      ...list(
        1_000,
        (it): Publication => [`task.D${it}.task.created`, { after: ['T', ...list(20, (other) => `O${other}`)] }],
      ),
      claimed,
    ],
    entry: ['worker.w.task.completed', { task: 'T' }],
  },
  'a task with 1,000 dependents is created again, after others': {
    before: [
      ...list(1_000, (it): Publication => [`task.D${it}.task.created`, { after: ['T'] }]),
      ['task.T.task.created', {}],
    ],
    entry: ['task.T.task.created', { after: list(900, (it) => `O${it}`) }],
  },
  'a stop of a worker that holds 1,000 tasks': {
    before: list(1_000, (it): Publication => ['worker.w.task.claimed', { task: `T${it}` }]),
    entry: ['worker.w.stop.attempted', {}],
  },
  'a stop kept alive, with 1,000 tasks of 128 characters': {
    before: [
      policy({ persistence: 'default' }),
      ...list(1_000, (it): Publication => ['worker.w.task.claimed', { task: `T${it}${'x'.repeat(120)}` }]),
    ],
    entry: ['worker.w.stop.attempted', {}],
  },
  'background work with a long id': {
    before: list(999, (it): Publication => ['worker.w.background.started', { id: `${it}${'x'.repeat(3_000)}` }]),
    entry: ['worker.w.background.started', { id: 'x'.repeat(60_000) }],
  },
  'a plan of 500 steps': {
    before: [],
    entry: [
      'worker.w.plan.updated',
      { steps: list(500, (it) => ({ title: 't'.repeat(60), status: 'pending', step: `s${it}` })) },
    ],
  },
  'a policy of 5,000 checks': { before: [], entry: policy({ checks: list(5_000, () => ({ plan: {} })) }) },
  '256 checks in 256 policies': {
    before: [],
    entry: [
      'own.fleet.main.policy.set',
      {
        policies: Object.fromEntries(list(256, (it) => [`p${it}`, { checks: [{ rules: ['x'.repeat(60)] }] }])),
      },
    ],
  },
  'a validation of 2,000 numbers': {
    before: [],
    entry: ['worker.w.stop.attempted', { validation: list(250, (it) => it), files: list(20_000, (it) => it % 10) }],
  },
  'an answer with 5,000 fields of metadata': {
    before: [],
    entry: [
      'own.worker.w.check.finished',
      { attempt: 'a', check: 'b', outcome: 'pass', metadata: Object.fromEntries(list(5_000, (it) => [`k${it}`, 1])) },
    ],
  },
  'a field of 60 KB that nobody knows': {
    before: [],
    entry: ['worker.w.heartbeat.sent', Object.fromEntries(list(5_000, (it) => [`k${it}`, [1]]))],
  },
  '6,000 policies': {
    before: [],
    entry: ['own.fleet.main.policy.set', { policies: Object.fromEntries(list(6_000, (it) => [`p${it}`, {}])) }],
  },
  '3,500 rows of assign': {
    before: [],
    entry: ['own.fleet.main.policy.set', { policies: {}, assign: list(3_500, (it) => ({ policy: `p${it}` })) }],
  },
  'a policy set over 2,000 workers': {
    before: list(2_000, (it): Publication => [`worker.w${it}.task.claimed`, { task: `T${it}` }]),
    entry: policy({ onStale: 'escalate' }),
  },
  'a limit of a scope that 2,000 workers reported': {
    before: list(2_000, (it): Publication => [`worker.w${it}.limit.reached`, { scope: 's' }]),
    entry: ['worker.w.limit.reached', { scope: 's', until: '2026-01-01T00:00:00.000Z' }],
  },
  'a promise among 60,000 backticks': {
    before: [policy({ promises: true })],
    entry: ['worker.w.stop.attempted', { output: `<promise>COMPLETE</promise>${'` `` '.repeat(12_000)}` }],
  },
  'a failure of 60,000 characters, masked': {
    before: [
      policy({
        stuckAfter: { times: 2, mask: true },
        checks: [
          { rules: list(100, (it) => `${'1s '.repeat(40)}${it}`) },
          { rules: list(256, (it) => `${it}`.padEnd(120, '1')) },
        ],
      }),
    ],
    entry: ['worker.w.stop.attempted', { validation: failed }],
  },
  'labels of 60 KB': {
    before: [],
    entry: [
      'worker.w.worker.registered',
      { labels: Object.fromEntries(list(64, (it) => [`l${it}`, 'x'.repeat(900)])) },
    ],
  },
  '4,000 labels': {
    before: [],
    entry: ['worker.w.worker.registered', { labels: Object.fromEntries(list(4_000, (it) => [`l${it}`, 'x'])) }],
  },
  'an iteration with 1,000 promises': {
    before: [claimed, ['task.T.hook.registered', { type: 'remote', name: 'scan' }], started],
    entry: [
      'task.T.iteration.validated',
      { iteration: 1, promises: list(1_000, () => ({ type: 'COMPLETE', detected: true, content: 'x' })) },
    ],
  },
};
