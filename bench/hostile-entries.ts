/** The most expensive entries possible, and the log before them. */

export type Publication = readonly [tail: string, data: object];
export type HostileEntry = { readonly before: readonly Publication[]; readonly entry: Publication };

const list = <Item>(length: number, make: (index: number) => Item): Item[] =>
  Array.from({ length }, (_, index) => make(index));
const after = (before: readonly Publication[], entry: Publication): HostileEntry => ({ before, entry });
const alone = (entry: Publication): HostileEntry => after([], entry);

const worker = (type: string, data: object): Publication => [`worker.w.${type}`, data];
const task = (type: string, data: object): Publication => [`task.T.${type}`, data];
const claimed = worker('task.claimed', { task: 'T' });
const stop = (fields: object = {}) => worker('stop.attempted', fields);
const attempted = stop({ attempt: 'a' });
const started = (fields: object = {}) => task('iteration.started', { iteration: 1, maxIterations: 9, ...fields });
const validated = (fields: object) => task('iteration.validated', { iteration: 1, ...fields });
const hook = (fields: object) => task('hook.registered', fields);
const policies = (all: object, fields: object = {}): Publication => [
  'own.fleet.main.policy.set',
  { policies: all, ...fields },
];
const policy = (fields: object) => policies({ default: fields });
const answer = (check: string, outcome: 'pass' | 'fail', fields: object): Publication => [
  'own.worker.w.check.finished',
  { attempt: 'a', check, outcome, ...fields },
];
const forEach = (count: number, make: (index: number) => Publication): Publication[] => list(count, make);
const named = <Value>(count: number, prefix: string, value: Value): Record<string, Value> =>
  Object.fromEntries(list(count, (index) => [`${prefix}${index}`, value]));
const x = (count: number) => 'x'.repeat(count);

const edited = (paths: readonly string[]) => worker('tool.used', { tool: 'Edit', files: paths });
/** 512 KiB of paths, in nine entries. */
const paths = list(9, (part) => edited(list(600, (index) => `${part * 600 + index}/${'a'.repeat(90)}`)));
const rules = list(256, (index) => `${'r'.repeat(100)}${index}`);
const failedRules = rules.map((rule) => ({ rule, passed: false, message: 'm'.repeat(90) }));
const failed = failedRules.map(({ rule, passed }) => ({ rule, passed }));

const hooks = (make: (index: number) => object): Publication[] =>
  list(64, (index) => hook({ hook: `h${index}`, type: 'any', of: list(4, (member) => make(4 * index + member)) }));
const remote = hook({ type: 'remote', name: 'scan' });
const glob = (index: number) => `${'?*a'.repeat(80)}*${index}b`;
const globHooks = hooks((index) => ({ type: 'promise', when: { filesMatch: glob(index) } }));
const shortGlobHooks = hooks((index) => ({ type: 'promise', when: { filesMatch: `*/*${index}z*` } }));
const ruleHooks = hooks(() => ({ type: 'validation' }));
const arrays = (count: number) => list(count, () => []);
const objects = (count: number) => list(count, () => ({}));
const files = (count: number) => list(count, (index) => `f${index}`);

export const hostileEntries: Readonly<Record<string, HostileEntry>> = {
  'a stop, 256 globs over 5,000 files': after([claimed, ...globHooks, ...paths], stop()),
  'a stop, 256 short globs over 5,000 files': after([claimed, ...shortGlobHooks, ...paths], stop()),
  'an iteration, 256 globs over 5,000 files': after([claimed, started(), ...globHooks, ...paths], validated({})),
  'a stop, 256 hooks over 256 rules': after(
    [claimed, ...ruleHooks, started({ rules })],
    stop({ validation: failedRules }),
  ),
  'an iteration, 256 hooks over 256 rules': after(
    [claimed, ...ruleHooks, started({ rules })],
    validated({ validation: failedRules }),
  ),
  'a stop, 256 mixed hooks over 256 rules': after(
    [
      claimed,
      ...hooks((index) => ({ type: ['tdd', 'security', 'default', 'validation'][index % 4] })),
      started({ rules }),
    ],
    stop({ validation: failed, output: '`'.repeat(30_000) }),
  ),
  'a stop, checks of 100 rules each': after(
    [policy({ checks: list(4, (part) => ({ any: [{ rules: list(100, (index) => `${part}${x(120)}${index}`) }] })) })],
    stop({ validation: failed }),
  ),
  'a tool, 5,000 new files': after(paths, edited(files(5_000))),
  'a stop, 5,000 files': after([claimed, ...globHooks.slice(0, 4), ...paths], stop({ files: files(5_000) })),
  'an iteration that waits, 5,000 files': after([claimed, remote, started()], validated({ files: files(5_000) })),
  'a checkpoint of 21,000 empty arrays': alone(task('checkpoint.saved', { checkpoint: 'c', context: arrays(21_000) })),
  'a checkpoint of 21,000 empty objects': alone(
    task('checkpoint.saved', { checkpoint: 'c', context: objects(21_000) }),
  ),
  'a hook with metadata of 21,000 empty objects': alone(hook({ type: 'promise', metadata: { more: objects(21_000) } })),
  'a hook of 4,000 members': alone(hook({ type: 'any', of: list(4_000, () => ({ type: 'tdd' })) })),
  'an answer with feedback of 21,000 empty objects': after(
    [policy({ checks: [{ any: [{ command: 'tests' }, { command: 'lint' }] }] }), attempted],
    answer('tests', 'fail', { feedback: objects(21_000) }),
  ),
  'the last of 60 answers of 60 KB each': after(
    [
      policy({ checks: [{ any: list(60, (index) => ({ command: `c${index}` })) }] }),
      attempted,
      ...forEach(59, (index) => answer(`c${index}`, 'fail', { feedback: { more: x(60_000) } })),
    ],
    answer('c59', 'fail', { feedback: { more: x(60_000) } }),
  ),
  'the answer of a remote hook, 21,000 empty objects': after(
    [claimed, hook({ type: 'all', of: ['a', 'b'].map((name) => ({ type: 'remote', name })) }), attempted],
    answer('a', 'pass', { metadata: { more: objects(10_000) }, checkpointData: objects(10_000) }),
  ),
  'the last answer, 256 remote hooks of 60 KB each': after(
    [
      claimed,
      ...hooks((index) => ({ type: 'remote', name: `n${index}` })),
      attempted,
      ...forEach(255, (index) =>
        answer(`n${index}`, 'fail', { reason: `${index}`.repeat(500), metadata: { more: x(55_000) } }),
      ),
    ],
    answer('n255', 'fail', { metadata: { more: x(60_000) } }),
  ),
  'a task after 7,000 others': alone(task('task.created', { after: list(7_000, (index) => `${index}`) })),
  'a task with 1,000 dependents ends': after(
    [
      ...forEach(1_000, (index) => [
        `task.D${index}.task.created`,
        { after: ['T', ...list(20, (other) => `O${other}`)] },
      ]),
      claimed,
    ],
    worker('task.completed', { task: 'T' }),
  ),
  'a task with 1,000 dependents is created again, after others': after(
    [...forEach(1_000, (index) => [`task.D${index}.task.created`, { after: ['T'] }]), task('task.created', {})],
    task('task.created', { after: list(900, (index) => `O${index}`) }),
  ),
  'a stop of a worker that holds 1,000 tasks': after(
    forEach(1_000, (index) => worker('task.claimed', { task: `T${index}` })),
    stop(),
  ),
  'a stop kept alive, with 1,000 tasks of 128 characters': after(
    [
      policy({ persistence: 'default' }),
      ...forEach(1_000, (index) => worker('task.claimed', { task: `T${index}${x(120)}` })),
    ],
    stop(),
  ),
  'background work with a long id': after(
    forEach(999, (index) => worker('background.started', { id: `${index}${x(3_000)}` })),
    worker('background.started', { id: x(60_000) }),
  ),
  'a plan of 500 steps': alone(
    worker('plan.updated', {
      steps: list(500, (index) => ({ title: 't'.repeat(60), status: 'pending', step: `s${index}` })),
    }),
  ),
  'a policy of 5,000 checks': alone(policy({ checks: list(5_000, () => ({ plan: {} })) })),
  '256 checks in 256 policies': alone(policies(named(256, 'p', { checks: [{ rules: [x(60)] }] }))),
  'a validation of 2,000 numbers': alone(
    stop({ validation: list(250, (index) => index), files: list(20_000, (index) => index % 10) }),
  ),
  'an answer with 5,000 fields of metadata': alone(answer('b', 'pass', { metadata: named(5_000, 'k', 1) })),
  'a field of 60 KB that nobody knows': alone(worker('heartbeat.sent', named(5_000, 'k', [1]))),
  '6,000 policies': alone(policies(named(6_000, 'p', {}))),
  '3,500 rows of assign': alone(policies({}, { assign: list(3_500, (index) => ({ policy: `p${index}` })) })),
  'a policy set over 2,000 workers': after(
    forEach(2_000, (index) => [`worker.w${index}.task.claimed`, { task: `T${index}` }]),
    policy({ onStale: 'escalate' }),
  ),
  'a limit of a scope that 2,000 workers reported': after(
    forEach(2_000, (index) => [`worker.w${index}.limit.reached`, { scope: 's' }]),
    worker('limit.reached', { scope: 's', until: '2026-01-01T00:00:00.000Z' }),
  ),
  'a promise among 60,000 backticks': after(
    [policy({ promises: true })],
    stop({ output: `<promise>COMPLETE</promise>${'` `` '.repeat(12_000)}` }),
  ),
  'a failure of 60,000 characters, masked': after(
    [
      policy({
        stuckAfter: { times: 2, mask: true },
        checks: [
          { rules: list(100, (index) => `${'1s '.repeat(40)}${index}`) },
          { rules: list(256, (index) => `${index}`.padEnd(120, '1')) },
        ],
      }),
    ],
    stop({ validation: failed }),
  ),
  'labels of 60 KB': alone(worker('worker.registered', { labels: named(64, 'l', x(900)) })),
  '4,000 labels': alone(worker('worker.registered', { labels: named(4_000, 'l', 'x') })),
  'an iteration with 1,000 promises': after(
    [claimed, remote, started()],
    validated({ promises: list(1_000, () => ({ type: 'COMPLETE', detected: true, content: 'x' })) }),
  ),
};
