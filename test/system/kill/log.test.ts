/**
 * The golden property: take a log written by two shipped services, one of them killed now and then, and export it with
 * `tail --json`. Then `replay` computes exactly the decisions that were published live.
 */
import { inspect } from 'node:util';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import type { Decision, WorkerView } from '../../../machines/index.ts';
import type { Answer } from '../../support/client.ts';
import { runCommand, startCommand } from '../../support/command.ts';
import { type Deployment, deploy, linesOf } from '../../support/deployment.ts';
import { type Service, serveShipped } from '../../support/service.ts';

type Line = { at: string; subject: string; data: Record<string, unknown>; seq: number };
const sh = (source: string) => ({ run: ['sh', '-c', source], cwd: '.' });
const policies = {
  default: { checks: [{ plan: {} }], stuckAfter: 2 },
  tested: { retries: 2, onCap: 'escalate', checks: [{ command: 'coin', onError: 'block', timeout: '5s' }] },
  late: { checks: [{ command: 'slow', timeout: '150ms', onError: 'block' }] },
  mixed: {
    checks: [
      { any: [{ files: ['never.md'] }, { remote: 'scan', timeout: '2s' }] },
      { rules: ['lint'], when: { filesMatch: 'src/**' } },
    ],
  },
  held: { persistence: { idle: '10m', hold: '300ms', queue: 'held' }, keepAlives: 3 },
  brief: { persistence: { idle: '400ms', hold: '20s', queue: 'brief' } },
  spoken: { promises: true },
};
const config = (retries: number) =>
  JSON.stringify({
    policies: { ...policies, default: { ...policies.default, retries } },
    assign: [{ policy: 'spoken', agent: 'talker' }],
    commands: {
      coin: sh(
        'case "$STOPGATE_ATTEMPT" in *[02468]) exit 0;; *5) exit 3;; *) echo "odd: $STOPGATE_ATTEMPT"; exit 1;; esac',
      ),
      slow: sh('exec sleep 20'),
    },
  });
const badLines = 2;

let at: Deployment;
let second: Service;
let live: Decision[];
let exported: Line[];

const start = () =>
  serveShipped(['serve', '--nats', at.server.url, '--http', 'off', '--replica', 'rb'], at.folder.path);
const entry = (tail: string, data: object = {}) => at.client.publish(tail, data);
const register = (worker: string, fields: object) => entry(`worker.${worker}.worker.registered`, fields);
/** Repeats a request whose connection was lost, as clients do. */
const decide = async (worker: string, attempt: string, fields: object = {}): Promise<Decision> => {
  const untilMs = performance.now() + 120_000;
  for (;;) {
    const answer = await at.client
      .ask(`decide.${worker}`, { attempt, ...fields }, 3_000)
      .catch((cause: Error) => cause);
    if ('code' in answer && answer.code === '') return (answer as Answer).body;
    const isPassing = answer instanceof Error ? !at.client.nc.isClosed() : answer.code === '503';
    if (!isPassing || performance.now() > untilMs) throw new Error(`${worker}:${attempt}: ${inspect(answer)}`);
  }
};
/** Polls outside a test, where `expect.poll` is unavailable. Repeats requests lost with a killed replica. */
const until = (holds: () => Promise<boolean>) =>
  vi.waitFor(async () => expect(await holds()).toBe(true), { timeout: 60_000 });
const isOpen = (worker: string) =>
  until(async () => (await at.client.ask(`get.worker.${worker}`, {}, 3_000)).body.state === 'validating');

beforeAll(async () => {
  at = await deploy({ config: config(3), args: ['--replica', 'ra'] });
  second = await start();
  at.client.nc.subscribe('stopgate.main.check.scan', {
    queue: 'stopgate-check',
    callback: (_error, message) => void message.respond('{"complete":false,"reason":"2 leaks","feedback":{"leaks":2}}'),
  });
  await Promise.all([
    ...stories.map((story) => story()),
    ...Array.from({ length: 12 }, (_, index) => bustle(index)),
    upset(),
  ]);
  await at.folder.write('stopgate.yaml', config(1));
  await until(async () => (await at.client.ask('probe.other', {}, 3_000)).body.retry.max === 1);
  await Promise.all(Array.from({ length: 6 }, (_, index) => bustle(index + 100)));
  exported = await exportLog();
  live = exported
    .filter(({ subject }) => subject.startsWith('stopgate.main.decision.'))
    .map(({ data }) => data as unknown as Decision);
});
afterAll(async () => {
  await second.kill('SIGKILL');
  await at.close();
});

/** Creates decisions that depend on more than one entry: effects, holds, timers, people, tasks and refused entries. */
const stories: (() => Promise<unknown>)[] = [
  async () => {
    await entry('worker.plans.plan.updated', { steps: [{ title: 'Write tests', status: 'pending' }] });
    for (const attempt of ['a1', 'a2', 'a3']) await decide('plans', attempt); // stuck, then escalated
    await entry('own.worker.plans.escalation.resolved', { by: 'ann', verdict: 'resume' });
    await decide('plans', 'a4');
  },
  async () => {
    await register('tests', { policy: 'tested' });
    for (const attempt of ['n1', 'n3', 'n2', 'n5', 'n7', 'n9']) await decide('tests', attempt);
    await register('slow', { policy: 'late' });
    await decide('slow', 'a1');
  },
  async () => {
    await register('mixes', { policy: 'mixed', cwd: at.folder.path });
    await decide('mixes', 'a1', { files: ['src/a.ts'] });
    await entry('worker.mixes.prompt.submitted', { text: 'go on' });
    await decide('mixes', 'a2', { validation: [{ rule: 'lint', passed: true }] });
  },
  async () => {
    await register('holds', { policy: 'held' });
    await decide('holds', 'a1'); // until the hold ends
    const open = decide('holds', 'a2', { holdMs: 20_000 });
    await isOpen('holds');
    await entry('task.T-held.task.created', { queue: 'held' });
    await open;
    await entry('worker.holds.task.claimed', { task: 'T-held' });
    await decide('holds', 'a3');
    await entry('worker.holds.task.completed', { task: 'T-held', result: 'done' });
    const ended = decide('holds', 'a4', { holdMs: 20_000 });
    await isOpen('holds');
    await entry('worker.holds.session.ended');
    await ended;
    await register('briefs', { policy: 'brief' });
    await decide('briefs', 'a1'); // until the idle timeout
  },
  async () => {
    await register('newer', { policy: 'held', queue: 'nothing' });
    const older = decide('newer', 'a1', { holdMs: 20_000 });
    await isOpen('newer');
    await Promise.all([older, decide('newer', 'a2')]);
  },
  async () => {
    const limit = (worker: string, forMs: number) =>
      entry(`worker.${worker}.limit.reached`, { scope: 'team', until: new Date(Date.now() + forMs).toISOString() });
    for (const worker of ['la', 'lb']) await limit(worker, 600_000);
    await decide('la', 'a1');
    await limit('la', 300); // the newest report applies to both, and expires
    await until(
      async () => ((await at.client.ask('get.worker.lb')).body as unknown as WorkerView).presence === 'active',
    );
    await decide('lb', 'a1');
    await entry('worker.la.background.started', { id: 'b1', kind: 'shell' });
    await decide('la', 'a2');
    await entry('worker.la.budget.exhausted');
    await decide('la', 'a3');
  },
  async () => {
    await entry('task.T-hooked.hook.registered', { hook: 'h1', type: 'default' });
    await entry('task.T-hooked.hook.registered', { hook: 'h2', type: 'remote', name: 'scan' });
    await entry('task.T-hooked.hook.registered', { hook: 'h1', type: 'promise' }); // refused
    await entry('worker.hooked.task.claimed', { task: 'T-hooked' });
    await entry('worker.thief.task.claimed', { task: 'T-hooked' }); // refused
    await decide('hooked', 'a1', { output: 'going on' });
    await decide('hooked', 'a2', { output: '<promise>COMPLETE</promise>' });
    await register('talks', { agent: 'talker' });
    await decide('talks', 'a0', { output: 'All is said.' });
    await decide('talks', 'a1', { output: 'I cannot.\n<promise>BLOCKED</promise>' });
  },
  async () => {
    await at.client.publish('worker.bad.tool.used', '{'); // two invalid lines
    await entry('worker.bad.plan.updated', { steps: 'all' });
    for (const id of ['x', 'x']) await at.client.publish('worker.bad.tool.used', { tool: 'Bash' }, id);
    await entry('worker.bad.stop.attempted', {});
    await register('gone', {});
    await entry('own.worker.gone.worker.retired', { by: 'ann' });
    await decide('gone', 'a1');
  },
];

/** Many random workers in parallel, so that their entries interleave. */
async function bustle(seed: number): Promise<void> {
  let state = seed * 7_919 + 1;
  const dice = (sides: number) => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return Math.floor((state / 2_147_483_648) * sides);
  };
  const worker = `bustle${seed}`;
  for (let turn = 0; turn < 25; turn += 1) {
    const status = ['pending', 'done', 'in_progress'][dice(3)];
    if (dice(3) === 0) await entry(`worker.${worker}.step.updated`, { step: String(dice(3)), status });
    else if (dice(5) === 0) await entry(`worker.${worker}.task.claimed`, { task: `T-${dice(6)}` });
    else if (dice(8) === 0) await entry(`worker.${worker}.prompt.submitted`, { text: 'go on' });
    else if (dice(9) === 0) await register(worker, { policy: Object.keys(policies)[dice(2)] ?? 'default' });
    else await decide(worker, `${seed}-${turn}`);
  }
}

/** Kills one replica repeatedly. The other one takes over its unfinished work. */
async function upset(): Promise<void> {
  for (let turn = 0; turn < 3; turn += 1) {
    await decide('upset', `u${turn}1`);
    await second.kill('SIGKILL');
    second = await start();
  }
}

const stored = async (subject: string): Promise<number> => {
  const { state } = await at.client.manager.streams.info('STOPGATE_main', {
    subjects_filter: `stopgate.main.${subject}`,
  });
  return Object.values(state.subjects ?? {}).reduce((sum, count) => sum + count, 0);
};

async function exportLog(): Promise<Line[]> {
  // A replica may reply before the other one has written the decision entry.
  await until(async () => (await stored('decision.*')) === (await stored('worker.*.stop.attempted')));
  const { seq } = await entry('worker.last.heartbeat.sent');
  const tail = startCommand(['tail', '--json', '--last', '100000', '--nats', at.server.url], { cwd: at.folder.path });
  await tail.printed(`"seq":${seq}}`);
  expect(await tail.kill('SIGINT')).toBe(0);
  await at.folder.write('log.jsonl', tail.stdout());
  return linesOf(tail.stdout()) as unknown as Line[];
}

const replay = (...argv: string[]) => runCommand(['replay', 'log.jsonl', ...argv], { cwd: at.folder.path });
const replayFleet = (...argv: string[]) =>
  runCommand(['replay', '--fleet', 'main', '--nats', at.server.url, ...argv], { cwd: at.folder.path });
const retriesOf = (data: Line['data']) =>
  (data.policies as Record<string, { retries?: number } | undefined>).default?.retries;
/** A decision without the replica's name and durations. */
const essence = ({ replica: _, tookMs: __, verdicts, ...decision }: Decision) => ({
  ...decision,
  verdicts: verdicts.map(({ tookMs: ___, ...verdict }) => verdict),
});
const keyOf = ({ worker, attempt }: Decision) => `${worker}:${attempt}`;

describe('a live log', () => {
  test('is exported completely and contains all kinds of difficult decisions', () => {
    expect(exported.map(({ seq }) => seq)).toEqual(exported.map((_, index) => index + 1));
    const kinds = new Set(exported.map(({ subject }) => subject.split('.').slice(-2).join('.')));
    for (const kind of ['timer.fired', 'check.finished', 'policy.set', 'worker.retired']) expect(kinds).toContain(kind);
    const causes = new Set(live.map(({ cause }) => cause));
    const wanted = [
      'incomplete',
      'capped',
      'stuck',
      'escalated',
      'waiting',
      'limited',
      'bypassed',
      'pending-tasks',
      'idle',
    ];
    for (const cause of [...wanted, 'idle-timeout', 'superseded', 'retired', 'complete', 'no-policy'])
      expect(causes).toContain(cause);
    expect(new Set(live.map(({ replica }) => replica))).toEqual(new Set(['ra', 'rb']));
  });

  test('has one decision for each attempt', () => {
    const keys = live.map(keyOf);
    expect(new Set(keys).size).toBe(keys.length);
    const attempted = exported
      .filter(({ subject }) => subject.endsWith('.stop.attempted'))
      .map(({ subject, data, seq }) => `${subject.split('.')[3]}:${data.attempt ?? `seq-${seq}`}`);
    expect(new Set(keys)).toEqual(new Set(attempted));
  });

  test('is replayed to the decisions that were published', async () => {
    const { code, stdout, stderr } = await replay();
    const folded = linesOf(stdout) as unknown as Decision[];
    const published = new Map(live.map((decision) => [keyOf(decision), essence(decision)]));
    for (const decision of folded) expect(essence(decision)).toEqual(published.get(keyOf(decision)));
    expect(folded).toHaveLength(live.length);
    expect(stderr.trimEnd().split('\n')).toHaveLength(badLines);
    expect(code).toBe(2); // because of the invalid lines
  });

  test('shows with --at the same workers as the service', async () => {
    const { stdout } = await replay('--at', exported.at(-1)?.at ?? '');
    const [{ fleets }] = linesOf(stdout) as unknown as [{ fleets: { main: { workers: Record<string, WorkerView> } } }];
    const { items } = (await at.client.ask('list.workers', { limit: 1_000 })).body as unknown as {
      items: WorkerView[];
    };
    // Ignore values that change with time, and the replica's name, which a replay does not know.
    const still = ({ idle: _, presence: __, attempt: ___, lastDecision, ...view }: WorkerView) => ({
      ...view,
      lastDecision: lastDecision === null ? null : essence(lastDecision),
    });
    expect(Object.keys(fleets.main.workers).sort()).toEqual(items.map(({ worker }) => worker));
    for (const view of items) expect(still(fleets.main.workers[view.worker] as WorkerView)).toEqual(still(view));
  });

  test('is replayed from the stream like from the file', async () => {
    const file = linesOf((await replay()).stdout);
    const { code, stdout, stderr } = await replayFleet();
    expect(linesOf(stdout)).toEqual(file);
    expect(stderr).toBe(`stopgate: skipped ${badLines} bad entries, as the service did\n`);
    expect(code).toBe(0);
  });

  test('has no --diff to its own policies', async () => {
    const changed = exported.findIndex(({ subject, data }) => subject.endsWith('.policy.set') && retriesOf(data) === 1);
    const until = exported.slice(0, changed).map((line) => `${JSON.stringify(line)}\n`);
    await at.folder.write('first.jsonl', until.join(''));
    await at.folder.write('first.yaml', config(3));
    const { stdout, stderr } = await runCommand(
      ['replay', 'first.jsonl', '--diff', '--policy', 'first.yaml', '--json'],
      { cwd: at.folder.path },
    );
    expect(linesOf(stdout)).toEqual([]);
    const attempts = live.filter(({ seq }) => (seq ?? 0) <= changed).length;
    expect(stderr).toContain(`${attempts} attempts compared: 0 would differ\n`);
  });

  test('shows with --diff what other policies would have decided, from the stream and from the file', async () => {
    await at.folder.write('new.yaml', config(0));
    const other = ['--diff', '--policy', 'new.yaml', '--json'];
    const file = linesOf((await replay(...other)).stdout);
    const { code, stdout, stderr } = await replayFleet(...other);
    expect(linesOf(stdout)).toEqual(file);
    expect(file).toContainEqual(
      expect.objectContaining({
        worker: 'plans',
        attempt: 'a1',
        before: expect.objectContaining({ cause: 'incomplete' }),
        after: expect.objectContaining({ cause: 'capped' }),
      }),
    );
    // The result equals a fold under the other policies.
    const alone = linesOf((await replay('--policy', 'new.yaml')).stdout) as unknown as Decision[];
    const decisions = new Map(alone.map((decision) => [keyOf(decision), decision]));
    const told = (file as unknown as { after: Decision | null }[]).flatMap(({ after }) => after ?? []);
    for (const after of told) expect(after).toEqual(decisions.get(keyOf(after)));
    expect(told.length).toBeGreaterThan(20);
    expect(stderr).toContain(`${live.length} attempts compared: `);
    expect(code).toBe(0);
  });
});
