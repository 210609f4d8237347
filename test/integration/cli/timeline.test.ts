/** The timeline of a worker or task has its newest entries and decisions, read from a real log. */
import { stripVTControlCharacters } from 'node:util';
import { describe, expect, test } from 'vitest';
import { formatTimeline } from '../../../src/cli/text/timeline.ts';
import type { LogLine } from '../../../src/nats/log/log-line.ts';
import { createOutput } from '../../../src/terminal/output.ts';
import { allowed, blocked, useStandIn } from '../../support/stand-in.ts';
import { controlsIn, openTerminal, runOnce, type TerminalOptions } from '../../support/terminal.ts';

const standIn = useStandIn();

/** Opens a log whose service knows the worker w1 and the task T-1. */
async function openLog() {
  const fleet = standIn.newFleet();
  await standIn.makeLog(fleet);
  const none = { tokens: 0, usd: 0, turns: 0 };
  const idle = { ms: 0, limitMs: null, remainingMs: null };
  const views = {
    w1: {
      worker: 'w1',
      filesModified: { count: 0, dropped: 0, unknown: false },
      usage: { session: none, prompt: none, task: null },
      state: 'idle',
      presence: 'active',
      retry: { count: 0, max: 3 },
      tasks: [],
      plan: [],
      refused: [],
      escalation: null,
      resolution: null,
      inputs: [],
    },
    'T-1': {
      task: 'T-1',
      usage: none,
      priority: 0,
      state: 'idle',
      after: [],
      hooks: [],
      hookStats: [],
      escalation: null,
      checkpoints: [],
      refused: [],
    },
  };
  const standing = { waits: [], missing: [], note: null };
  const more = {
    standing,
    sentence: 'It works.',
    paused: null,
    budgets: [],
    calls: [],
    labels: {},
    background: [],
    idle,
    lastSeen: '',
    attempt: null,
    lastDecision: null,
    title: null,
  };
  await standIn.answer(fleet, 'get.>', ({ subject }) => {
    const id = subject.split('.').at(-1) as keyof typeof views;
    const nulls = ['agent', 'profile', 'parent', 'cwd', 'policy', 'queue', 'outcome', 'iteration', 'phase', 'worker'];
    return { ...Object.fromEntries(nulls.map((name) => [name, null])), ...more, ...views[id] };
  });
  const put = (tail: string, data: object = {}) =>
    standIn.connection().request(`stopgate.${fleet}.${tail}`, JSON.stringify(data));
  const run = (argv: readonly string[], options: TerminalOptions = {}) =>
    runOnce([...argv, '--nats', standIn.url(), '--fleet', fleet], options);
  const timeline = async (argv: readonly string[]): Promise<LogLine[]> =>
    JSON.parse((await run([...argv, '--json'])).stdout).timeline;
  return { put, run, timeline };
}
const tailsOf = (lines: readonly LogLine[]) => lines.map(({ subject }) => subject.split('.').slice(2).join('.'));

describe('of a worker', () => {
  test('has only its entries, those of the service about it, and its decisions, oldest first', async () => {
    const log = await openLog();
    await log.put('worker.w1.worker.registered', { agent: 'claude' });
    await log.put('worker.w2.worker.registered');
    await log.put('worker.w1.stop.attempted', { attempt: 'a1' });
    await log.put('own.worker.w1.timer.fired', { timer: 'hold' });
    await log.put('own.worker.w1.check.finished', { attempt: 'a1', check: 'tests', outcome: 'fail' });
    await log.put('decision.w1', blocked);
    await log.put('decision.w2', allowed);
    const { code, stdout, stderr } = await log.run(['worker', 'w1']);
    const lines = stdout.slice(stdout.indexOf('\ntimeline\n')).trimEnd().split('\n').slice(3);
    expect(lines.map((line) => line.trim().split(/ {2,}/).slice(1))).toEqual([
      ['#1', 'worker.registered', 'claude'],
      ['#3', 'stop.attempted', 'a1'],
      ['#5', 'check.finished', 'tests', 'fail'],
      ['#6', 'decision', 'block · continue · incomplete', '(checks)', blocked.reason],
    ]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  });

  test('has the newest n; --json prints them unchanged', async () => {
    const log = await openLog();
    for (let index = 1; index <= 25; index += 1) await log.put('worker.w1.tool.used', { tool: `t${index}` });
    expect(await log.timeline(['worker', 'w1'])).toHaveLength(20);
    const two = await log.timeline(['worker', 'w1', '--entries', '2']);
    expect(two).toMatchObject([
      { seq: 24, data: { tool: 't24' } },
      { seq: 25, data: { tool: 't25' }, at: expect.stringMatching(/Z$/) },
    ]);
    expect(await log.timeline(['worker', 'w1', '--entries', '0'])).toEqual([]);
  });

  test.each(['-1', 'all', '10001'])('--entries %s is none', async (count) => {
    expect((await runOnce(['worker', 'w1', `--entries=${count}`])).code).toBe(2);
  });
});

describe('of a task', () => {
  test('has its entries, its claims, and the results of its hooks from decisions about its holder', async () => {
    const log = await openLog();
    const hooks = { guard: 'hooks', verdict: 'block', detail: 'h1: continue (Tests still failing)' } as const;
    await log.put('task.T-1.task.created', { title: 'Fix it' });
    await log.put('worker.w1.task.claimed', { task: 'T-1' });
    await log.put('worker.w2.task.claimed', { task: 'T-2' });
    await log.put('decision.w1', { ...blocked, verdicts: [hooks] });
    await log.put('decision.w1', { ...blocked, task: 'T-2', tasks: ['T-2'] });
    await log.put('own.task.T-1.escalation.acknowledged', { by: 'ann' });
    expect(tailsOf(await log.timeline(['task', 'T-1']))).toEqual([
      'task.T-1.task.created',
      'worker.w1.task.claimed',
      'decision.w1',
      'own.task.T-1.escalation.acknowledged',
    ]);
    const { stdout } = await log.run(['task', 'T-1']);
    expect(stdout).toMatch(/task\.claimed +w1: T-1\n/);
    expect(stdout).toMatch(
      /decision +w1: block · continue · incomplete {2}\(hooks\) .*\n +hooks block: h1: continue \(Tests/,
    );
  });
});

describe('as text', () => {
  const line = (at: string, seq: number, tail = 'worker.w1.tool.used', data: unknown = { tool: 'Bash' }): LogLine => ({
    at,
    seq,
    subject: `stopgate.main.${tail}`,
    data,
  });
  async function format(lines: readonly LogLine[], width = 100) {
    const { colors } = createOutput((await openTerminal({ env: { NO_COLOR: '1' } })).io);
    return formatTimeline(lines, { entity: 'worker', id: 'w1' }, colors, width);
  }

  test('names each day and collapses quiet times', async () => {
    const lines = await format([
      line('2026-03-02T23:30:00.000Z', 1),
      line('2026-03-02T23:30:59.999Z', 2),
      line('2026-03-02T23:43:10.000Z', 3),
      line('2026-03-03T01:43:10.000Z', 4),
    ]);
    expect(lines.map((each) => each.split('  ')[0])).toEqual([
      '2026-03-02',
      '23:30:00.000',
      '23:30:59.999',
      '… 12m idle',
      '23:43:10.000',
      '… 2h idle',
      '2026-03-03',
      '01:43:10.000',
    ]);
  });

  test('fits the width, and contains no control characters of the log', async () => {
    const rude = '\u001b[2J\u0007'.repeat(3) + 'x'.repeat(300);
    const lines = await format(
      [
        line('2026-03-02T23:30:00.000Z', 1, 'worker.w1.tool.used', { tool: rude }),
        line('2026-03-02T23:30:00.000Z', 2, 'worker.w1.tool.used', rude),
        line('2026-03-02T23:30:00.000Z', 3, 'decision.w1', { ...blocked, reason: rude }),
        line('2026-03-02T23:30:00.000Z', 4, 'decision.w1', { decision: rude }),
      ],
      90,
    );
    for (const each of lines) expect(stripVTControlCharacters(each).length).toBeLessThanOrEqual(90);
    expect(controlsIn(lines.join(''))).toEqual([]);
  });
});
