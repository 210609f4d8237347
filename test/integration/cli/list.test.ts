/** workers, tasks, queues, worker, task: lists over all pages, filters, `--watch`, and the details of one actor. */
import { describe, expect, test } from 'vitest';
import { createReplay, parseIsoTime } from '../../../machines/index.ts';
import { type Asked, Refusal, useStandIn } from '../../support/stand-in.ts';
import { controlsIn, jsonLines, openTerminal, runOnce, type TerminalOptions } from '../../support/terminal.ts';

const standIn = useStandIn();

/** Folds a short log into real views. */
function fold(entries: readonly [tail: string, data: object][], until = '2026-03-02T12:03:00.000Z') {
  const replay = createReplay({ untilMs: parseIsoTime(until) as number });
  for (const [tail, data] of entries) {
    const fault = replay.fold(
      JSON.stringify({ at: '2026-03-02T12:00:00.000Z', subject: `stopgate.main.${tail}`, data }),
    );
    expect(fault).toBeNull();
  }
  const { main } = replay.view().fleets;
  return main ?? expect.unreachable();
}

const story = fold([
  ['own.fleet.main.policy.set', { policies: { default: { checks: [{ plan: {} }], persistence: 'default' } } }],
  ['worker.w1.worker.registered', { agent: 'claude', labels: { repo: 'api' }, cwd: '/home/ann/api' }],
  ['task.T-1.task.created', { title: 'Fix the login', queue: 'main' }],
  ['worker.w1.task.claimed', { task: 'T-1' }],
  [
    'worker.w1.plan.updated',
    {
      steps: [
        { title: 'Write tests', status: 'done' },
        { title: 'Fix lint', status: 'doing' },
      ],
    },
  ],
  ['worker.w1.stop.attempted', { attempt: 'a1' }],
  ['worker.w1.usage.reported', { output: 900, usd: 0.42 }],
  ['worker.w2.prompt.submitted', { text: 'Review the login' }],
  ['worker.w2.task.claimed', { task: 'T-1' }],
  ['task.T-2.task.created', { title: 'Next', queue: 'main' }],
  ['task.T-1.hook.registered', { hook: 'h1', type: 'tdd' }],
  ['task.T-1.iteration.started', { iteration: 2, maxIterations: 5 }],
  ['task.T-1.checkpoint.saved', { checkpoint: 'c1', phase: 'green' }],
]);

async function serve(tail: string, handler: (asked: Asked) => object) {
  const fleet = standIn.newFleet();
  const asked = await standIn.answer(fleet, tail, handler);
  const place = ['--nats', standIn.url(), '--fleet', fleet];
  return {
    asked,
    fleet,
    place,
    run: (argv: string[], options: TerminalOptions = {}) => runOnce([...argv, ...place], options),
  };
}
const page = (items: readonly object[]) => () => ({ items, next: null });

describe('workers', () => {
  test('are printed as a table', async () => {
    const { run } = await serve('list.workers', page(Object.values(story.workers)));
    const { code, stdout } = await run(['workers']);
    const [headings, w1, w2] = stdout.split('\n').map((line) => line.split(/ {2,}/));
    expect(headings).toEqual([
      'WORKER',
      'STATE',
      'PRESENCE',
      'RETRIES',
      'IDLE',
      'USD',
      'TOKENS',
      'TASK',
      'AGENT',
      'FOLDER',
      'LAST DECISION',
      'SEEN',
      'DOING',
    ]);
    expect(w1?.slice(0, 11)).toEqual([
      'w1',
      'blocked',
      'stale',
      '1/3',
      '0s/10m',
      '0.42',
      '900',
      'T-1',
      'claude',
      'api',
      'block incomplete',
    ]);
    expect(w1?.[11]).toMatch(/ ago$/);
    expect(w1?.[12]).toBe('Fix lint');
    // Without a plan, what a person asked for.
    expect(w2?.[12]).toBe('Review the login');
    expect(w2?.slice(0, 11)).toEqual(['w2', 'working', 'stale', '0/3', '3m/10m', '-', '-', '-', '-', '-', '-']);
    expect(code).toBe(0);
  });

  test('filters are sent to the service, and all pages are read', async () => {
    const ids = Array.from({ length: 250 }, (_, index) => `w${String(index).padStart(3, '0')}`);
    const pages = ({ body }: Asked) => {
      const after = (body.after as string | undefined) ?? '';
      const rest = ids.filter((id) => id > after).slice(0, body.limit as number);
      const next = rest.at(-1) === ids.at(-1) ? null : rest.at(-1);
      return { items: rest.map((worker) => ({ ...story.workers.w1, worker })), next };
    };
    const { run, asked } = await serve('list.workers', pages);
    const filters = ['--state', 'blocked', '--stale', '--queue', 'main', '--agent', 'claude'];
    const { stdout } = await run(['workers', '--json', ...filters]);
    const shown = JSON.parse(stdout) as { worker: string }[];
    expect(shown.map(({ worker }) => worker)).toEqual(ids);
    expect(asked.map(({ body }) => body)).toEqual(
      [{}, { after: 'w099' }, { after: 'w199' }].map((more) => ({
        state: 'blocked',
        presence: 'stale',
        queue: 'main',
        agent: 'claude',
        limit: 100,
        ...more,
      })),
    );
    const limited = await run(['workers', '--json', '--limit', '130']);
    expect(JSON.parse(limited.stdout)).toHaveLength(130);
    expect(asked.slice(3).map(({ body }) => body.limit)).toEqual([100, 30]);
  });

  test('an empty fleet prints how to start a worker; an empty filter does not', async () => {
    const { run, fleet } = await serve('list.workers', page([]));
    const { code, stdout } = await run(['workers']);
    const [first, ...more] = stdout.trimEnd().split('\n');
    expect(first).toContain(`No workers in fleet '${fleet}' yet`);
    expect(more).toHaveLength(3);
    for (const line of more) expect(line).toMatch(new RegExp(`^ {2}npx stopgate (publish|decide) .*--fleet ${fleet}$`));
    expect((await run(['workers', '--stale'])).stdout).toBe(`No worker in fleet '${fleet}' matches.\n`);
    expect((await run(['workers', '--json'])).stdout).toBe('[]\n');
    expect(code).toBe(0);
  });

  test('hostile names are cleaned, and lines fit the terminal', async () => {
    const hostile = {
      ...story.workers.w1,
      agent: `\u001b[31m${'界'.repeat(80)}`,
      worker: 'w\u0007\u001b]0;x\u0007',
    };
    const { run } = await serve('list.workers', page([hostile]));
    const { stdout } = await run(['workers'], { isTTY: true, columns: 100, env: { NO_COLOR: '1' } });
    expect(controlsIn(stdout)).toEqual([]);
    for (const line of stdout.split('\n'))
      expect([...line].reduce((sum, char) => sum + (char === '界' ? 2 : 1), 0)).toBeLessThanOrEqual(100);
    const json = await run(['workers', '--json']);
    expect(JSON.parse(json.stdout)).toEqual([hostile]);
  });

  test('without a service: 3', async () => {
    const { code, stderr } = await runOnce(['workers', '--nats', standIn.url(), '--fleet', 'nobody']);
    expect(stderr).toContain('no stopgate service serves fleet');
    expect(code).toBe(3);
  });
});

test('tasks are printed as a table', async () => {
  const { run } = await serve('list.tasks', page(Object.values(story.tasks)));
  const { stdout } = await run(['tasks', '--state', 'blocked', '--queue', 'main']);
  expect(
    stdout
      .trimEnd()
      .split('\n')
      .map((line) => line.split(/ {2,}/)),
  ).toEqual([
    ['TASK', 'STATE', 'WORKER', 'QUEUE', 'PRIORITY', 'PLAN', 'USD', 'TOKENS', 'ITERATION', 'HOOKS', 'TITLE'],
    ['T-1', 'blocked', 'w1', 'main', '0', '-', '0.42', '900', '2/5', '1 on', 'Fix the login'],
    ['T-2', 'idle', '-', 'main', '0', '-', '-', '-', '-', '-', 'Next'],
  ]);
});

test('tasks: the filter accepts the words that the list shows for stopped tasks', async () => {
  const ended = (outcome: string) => ({ ...story.tasks['T-2'], state: 'stopped', outcome });
  const done = ended('completed');
  const { run, asked } = await serve('list.tasks', page([done, ended('cancelled')]));
  const { stdout } = await run(['tasks', '--state', 'completed', '--json']);
  expect(jsonLines(stdout)).toEqual([[done]]);
  expect(asked[0]?.body).toMatchObject({ state: 'stopped' });
});

/** Returns a queue as the service lists it. */
const queueOf = (queue: string, fields: object = {}) => ({
  queue,
  pending: 0,
  reported: 0,
  next: [],
  workers: 0,
  unattended: null,
  ...fields,
});

test('queues are printed as a table', async () => {
  const { run } = await serve(
    'list.queues',
    page([queueOf('main', { pending: 3, reported: 2, next: [{ task: 'T-1', title: null }] })]),
  );
  expect((await run(['queues'])).stdout).toBe(
    'QUEUE  PENDING  REPORTED  WORKERS  NEXT\nmain   3        2         0        T-1\n',
  );
});

describe('escalations', () => {
  const permission = {
    entity: 'worker',
    id: 'asks',
    kind: 'permission',
    since: '2026-03-02T12:00:00.000Z',
    note: null,
    seq: 3,
    reason: 'Bash: make deploy',
    request: 'r1',
    isHeld: true,
  };
  const input = { ...permission, kind: 'input', reason: 'Your name?', request: null, isHeld: false, seq: 4 };
  const task = {
    entity: 'task',
    id: 'T-1',
    kind: 'escalation',
    since: '2026-03-02T11:00:00.000Z',
    cause: 'stuck',
    seq: 1,
    reason: 'No progress',
    sentence: 'Stuck',
    note: 'Worker w1 was resumed by ann; the task still waits.',
    acknowledgedBy: 'bob',
    notified: 2,
  };

  test('are listed longest first, with their kind and progress', async () => {
    const { run } = await serve('list.escalations', page([permission, input, task]));
    const { stdout } = await run(['escalations'], { columns: 160 });
    const [headings, ...rows] = stdout
      .trimEnd()
      .split('\n')
      .map((line) => line.split(/ {2,}/));
    expect(headings).toEqual(['WHO', 'SINCE', 'KIND', 'CAUSE', 'ACKNOWLEDGED', 'NOTIFIED', 'REASON']);
    const rest = rows.map(([who, _since, ...more]) => [who, ...more]);
    expect(rest).toEqual([
      [
        'task T-1',
        'escalation',
        'stuck',
        'by bob',
        '2x',
        'Stuck · Worker w1 was resumed by ann; the task still waits.',
      ],
      ['worker asks', 'permission', 'held', '-', '-', 'Bash: make deploy'],
      ['worker asks', 'input', 'at its terminal', '-', '-', 'Your name?'],
    ]);
  });

  test('filters are sent to the service', async () => {
    const { run, asked } = await serve('list.escalations', page([]));
    const filters = ['--kind', 'permission', '--state', 'working', '--stale', '--queue', 'main', '--agent', 'claude'];
    await run(['escalations', ...filters]);
    expect(asked.map(({ body }) => body)).toEqual([
      { kind: 'permission', state: 'working', presence: 'stale', queue: 'main', agent: 'claude', limit: 100 },
    ]);
    expect((await run(['escalations', '--kind', 'nonsense'])).code).toBe(2);
  });
});

test('queues filters by queue, not by state', async () => {
  const { run, asked } = await serve('list.queues', page([]));
  await run(['queues', '--queue', 'main']);
  expect(asked.map(({ body }) => body)).toEqual([{ queue: 'main', limit: 100 }]);
  const refused = await run(['queues', '--state', 'idle']);
  expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining('--state')]);
});

describe('one actor', () => {
  test('worker: state, clocks, plan, last decision and refusals', async () => {
    const { run } = await serve('get.worker.w1', () => story.workers.w1 ?? {});
    const { code, stdout } = await run(['worker', 'w1']);
    expect(stdout).toMatch(
      /^w1 · blocked · stale\n {2}agent {6}claude\n {2}folder {5}\/home\/ann\/api\n {2}labels {5}repo=api\n {2}policy {5}default\n/,
    );
    expect(stdout).toContain('\n  retries    1 of 3\n');
    expect(stdout).toContain('\n  idle       0s of 10m, 10m left\n');
    expect(stdout).toContain('\nplan 1 of 2 done\n  ✓ Write tests\n  ☐ Fix lint (doing)\n');
    expect(stdout).toContain('\n  block · continue · incomplete\n  1 of 2 plan steps remain: Fix lint\n');
    expect(code).toBe(0);
  });

  test('worker: an open attempt and what was refused', async () => {
    const held = fold(
      [
        ['own.fleet.main.policy.set', { policies: { default: { checks: [{ remote: 'scan' }] } } }],
        ['worker.w1.task.completed', { task: 'T-9' }],
        ['worker.w1.stop.attempted', { attempt: 'a1' }],
      ],
      '2026-03-02T12:00:01.000Z',
    );
    const { run } = await serve('get.worker.w1', () => held.workers.w1 ?? {});
    const { stdout } = await run(['worker', 'w1']);
    expect(stdout).toMatch(/^w1 · validating · active\n/);
    expect(stdout).toMatch(/\nopen attempt\n {2}attempt {4}a1 \(#3\)\n {2}waits for {2}check scan\n {2}since/);
    expect(stdout).toMatch(/\nrefused entries\n {2}12:00:00.000 {2}task.completed {2}.*T-9/);
  });

  test('worker: what its check waits for, and the time of the next poll', async () => {
    const held = fold(
      [
        ['own.fleet.main.policy.set', { policies: { default: { checks: [{ remote: 'ci' }] } } }],
        ['worker.w1.stop.attempted', { attempt: 'a1' }],
      ],
      '2026-03-02T12:00:01.000Z',
    );
    const pending = { check: 'ci', reason: 'build 7 runs', askedAgainAt: '2026-03-02T12:00:30.000Z' };
    const view = held.workers.w1;
    const { run } = await serve('get.worker.w1', () => ({ ...view, attempt: { ...view?.attempt, pending } }));
    const { stdout } = await run(['worker', 'w1']);
    expect(stdout).toMatch(
      /waits for {2}check ci\n {2}pending {4}build 7 runs\n {2}next try {3}at 2026-03-02T12:00:30/,
    );
  });

  test('task: worker, queue, hooks and checkpoints', async () => {
    const { run } = await serve('get.task.T-1', () => story.tasks['T-1'] ?? {});
    const { stdout } = await run(['task', 'T-1']);
    expect(stdout).toMatch(/^T-1 · blocked\n {2}title {6}Fix the login\n {2}worker {5}w1\n {2}queue {6}main\n/);
    expect(stdout).toContain('\n  iteration  2 of 5\n  phase      green\n');
    expect(stdout).toContain('\nhooks\n  h1  tdd  on\n\ncheckpoints\n  c1  2026-03-02T12:00:00.000Z  green\n');
  });

  test('--json prints the unchanged view and the timeline; a missing actor is exit code 1', async () => {
    const { run } = await serve('get.>', ({ subject }) => {
      if (subject.endsWith('.w1')) return story.workers.w1 ?? {};
      const place = subject.endsWith('.w8')
        ? `worker w8 is unknown in fleet ${subject.split('.')[1]}`
        : 'w9 is unknown';
      throw new Refusal(404, { error: { code: 'NOT_FOUND', message: place, issues: [] } });
    });
    const { code, stdout, stderr } = await run(['worker', 'w1', '--json']);
    expect(jsonLines(stdout)).toEqual([{ ...story.workers.w1, timeline: null }]);
    expect(stderr).toMatch(/^stopgate: no timeline: there is no stream 'STOPGATE_f\d+' here: .*\n$/);
    expect(code).toBe(0);
    expect(await run(['worker', 'w9'])).toEqual({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(
        /^stopgate: w9 is unknown \(fleet f\d+\); "npx stopgate workers" lists the known ones\n$/,
      ),
    });
    // The service's own message already names the fleet.
    expect(await run(['worker', 'w8'])).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^stopgate: worker w8 is unknown in fleet f\d+; "npx stopgate/),
    });
    expect(await run(['task', 'T-9'])).toMatchObject({ code: 1, stderr: expect.stringContaining('stopgate tasks"') });
  });
});

// The list is read once per second, so the tests run concurrently.
describe.concurrent('--watch', () => {
  /** Shared, because a temporary folder per test needs a vitest hook, and concurrent tests have none. */
  const openAtRoot = (options: TerminalOptions) => openTerminal({ ...options, cwd: '/' });
  /** Serves a queue whose view the test changes. */
  async function watchQueues(argv: string[], options: TerminalOptions) {
    const state = { pending: 1, idleMs: 0, present: true };
    const { place, asked } = await serve('list.queues', () => ({
      items: state.present ? [queueOf('q1', { pending: state.pending })] : [],
      next: null,
    }));
    const terminal = await openAtRoot(options);
    return { state, asked, terminal, ended: terminal.run('queues', '--watch', ...argv, ...place) };
  }

  test('redraws a terminal, and restores it at the end', async ({ expect }) => {
    const { state, terminal, ended } = await watchQueues([], { isTTY: true, env: { NO_COLOR: '1' } });
    await terminal.printed('q1     1');
    state.pending = 22;
    await terminal.printed('q1     22');
    terminal.pressCtrlC();
    expect(await ended).toBe(0);
    const text = terminal.stdout();
    expect(text.startsWith('\u001b[?1049h\u001b[?25l\u001b[H')).toBe(true);
    expect(text.endsWith('\u001b[?25h\u001b[?1049l')).toBe(true);
    expect(text.split('\u001b[?1049h')).toHaveLength(2);
  });

  test('never scrolls a small terminal', async ({ expect }) => {
    const items = Array.from({ length: 50 }, (_, index) => queueOf(`q${index}`));
    const { place } = await serve('list.queues', page(items));
    const terminal = await openAtRoot({ isTTY: true, rows: 10, env: { NO_COLOR: '1' } });
    const ended = terminal.run('queues', '--watch', ...place);
    await terminal.printed('more lines');
    terminal.pressCtrlC();
    await ended;
    expect(terminal.stdout().split('\u001b[J')[0]?.split('\r\n').length).toBeLessThanOrEqual(10);
  });

  test('prints a table for each change without a terminal', async ({ expect }) => {
    const { state, asked, terminal, ended } = await watchQueues([], {});
    await terminal.printed('q1     1');
    const before = asked.length;
    await expect.poll(() => asked.length).toBeGreaterThan(before);
    state.pending = 2;
    await terminal.printed('q1     2');
    terminal.pressCtrlC();
    expect(await ended).toBe(0);
    const table = (pending: number) =>
      `QUEUE  PENDING  REPORTED  WORKERS  NEXT\nq1     ${pending}        0         0        -\n`;
    expect(terminal.stdout()).toBe(`${table(1)}\n${table(2)}`);
  });

  test('prints a line for each change or removal with --json', async ({ expect }) => {
    const { state, terminal, ended } = await watchQueues(['--json'], { isTTY: true });
    await terminal.printed('"pending":1');
    state.pending = 2;
    await terminal.printed('"pending":2');
    state.present = false;
    await terminal.printed('gone');
    terminal.pressCtrlC();
    await ended;
    expect(jsonLines(terminal.stdout())).toEqual([
      queueOf('q1', { pending: 1 }),
      queueOf('q1', { pending: 2 }),
      { queue: 'q1', gone: true },
    ]);
  });

  test('exits with 3 if no service runs at the start, but waits for one that goes away', async ({ expect }) => {
    const nobody = await openAtRoot({ isTTY: true });
    expect(await nobody.run('queues', '--watch', '--nats', standIn.url(), '--fleet', 'nobody')).toBe(3);
    expect(nobody.stdout()).toBe('');
    let away = false;
    const { place } = await serve('list.queues', () => {
      if (away) throw new Refusal(503, { error: { code: 'UNAVAILABLE', message: 'gone for a moment', issues: [] } });
      return { items: [queueOf('back', { pending: 5 })], next: null };
    });
    const terminal = await openAtRoot({ isTTY: true, env: { NO_COLOR: '1' } });
    const ended = terminal.run('queues', '--watch', ...place);
    await terminal.printed('back   5');
    away = true;
    await terminal.printed('outdated: gone for a moment');
    away = false;
    const before = terminal.stdout().length;
    await expect.poll(() => terminal.stdout().slice(before).includes('queues of')).toBe(true);
    terminal.pressCtrlC();
    expect(await ended).toBe(0);
  });
});
