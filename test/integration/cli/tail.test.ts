/** `stopgate tail` prints the newest entries and then new ones as readable lines, until Ctrl-C. */
import { stripVTControlCharacters } from 'node:util';
import { jetstreamManager } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createNewestEntries } from '../../../src/cli/commands/inspect/tail.ts';
import { startNatsServer } from '../../support/nats-server.ts';
import { allowed, blocked, useStandIn } from '../../support/stand-in.ts';
import { controlsIn, jsonLines, openTerminal, runOnce, type TerminalOptions } from '../../support/terminal.ts';

const standIn = useStandIn();

async function openLog() {
  const fleet = standIn.newFleet();
  await standIn.makeLog(fleet);
  const js = standIn.connection();
  return {
    fleet,
    put: async (tail: string, data: object | string) => {
      await js.request(`stopgate.${fleet}.${tail}`, typeof data === 'string' ? data : JSON.stringify(data));
    },
    tail: async (argv: readonly string[], options: TerminalOptions = {}) => {
      const terminal = await openTerminal(options);
      return { terminal, ended: terminal.run('tail', ...argv, '--nats', standIn.url(), '--fleet', fleet) };
    },
  };
}

test('--no-follow ends with the newest entry', async () => {
  const log = await openLog();
  for (const tool of ['Bash', 'Edit', 'Read']) await log.put('worker.w1.tool.used', { tool, ok: true });
  await log.put('worker.w2.tool.used', { tool: 'Grep', ok: true });
  const { terminal, ended } = await log.tail(['--no-follow', '--last', '2', '--worker', 'w1']);
  expect(await ended).toBe(0);
  expect(terminal.stdout()).toMatch(/^.*#2 .*Edit.*\n.*#3 .*Read.*\n$/);
});

test.each([
  [true, 'stopgate: no entries about worker nobody\n'],
  [false, ''],
])('without a match, it prints a note on a terminal (%s)', async (isTTY, says) => {
  const log = await openLog();
  await log.put('worker.w1.tool.used', { tool: 'Bash', ok: true });
  const { terminal, ended } = await log.tail(['--no-follow', '--worker', 'nobody'], { isTTY });
  expect({ code: await ended, stdout: terminal.stdout(), stderr: terminal.stderr() }).toEqual({
    code: 0,
    stdout: '',
    stderr: says,
  });
});

test('while it follows, a terminal learns that nothing has matched yet', async () => {
  const log = await openLog();
  const { terminal, ended } = await log.tail(['--worker', 'nobody'], { isTTY: true });
  await expect.poll(terminal.stderr).toMatch('stopgate: no entries about worker nobody yet');
  terminal.pressCtrlC();
  expect(await ended).toBe(0);
});

test('prints old entries, then new ones, a line each; Ctrl-C ends it with 0', async () => {
  const log = await openLog();
  await log.put('worker.w1.tool.used', { tool: 'Bash', ok: true });
  await log.put('worker.w1.tool.used', { tool: 'Edit', ok: false, files: ['a.ts', 'b.ts'] });
  await log.put('worker.w1.plan.updated', {
    steps: [
      { title: 'x', status: 'done' },
      { title: 'y', status: 'pending' },
    ],
  });
  await log.put('task.T-1.task.created', { title: 'Fix it', queue: 'main' });
  await log.put(`own.fleet.${log.fleet}.policy.set`, { policies: { default: {}, strict: {} } });
  await log.put('queue.main.depth.reported', { pending: 3 });
  await log.put('own.worker.w1.check.finished', { attempt: 'a1', check: 'tests', outcome: 'fail', reason: '3 failed' });
  const { terminal, ended } = await log.tail([]);
  await terminal.printed('#7');
  await log.put('decision.w1', blocked);
  await terminal.printed('#8');
  terminal.pressCtrlC();
  expect(await ended).toBe(0);
  const lines = terminal.stdout().trimEnd().split('\n');
  for (const line of lines) expect(line).toMatch(/^\d\d:\d\d:\d\d\.\d{3} {2}#\d/);
  expect(lines.map((line) => line.split(/ {2,}/).slice(1))).toEqual([
    ['#1', 'w1', 'tool.used', 'Bash (ok)'],
    ['#2', 'w1', 'tool.used', 'Edit (failed), files a.ts b.ts'],
    ['#3', 'w1', 'plan.updated', '1 of 2 steps done'],
    ['#4', 'task T-1', 'task.created', 'Fix it', 'main'],
    ['#5', 'fleet', 'policy.set', 'policies default, strict'],
    ['#6', 'queue main', 'depth.reported', '{"pending":3}'],
    ['#7', 'w1', 'check.finished', 'tests', 'fail', '3 failed'],
    ['#8', 'w1', 'decision', 'block · continue · incomplete', blocked.reason],
  ]);
  expect(terminal.stderr()).toBe('');
});

test('--last and --worker select the newest matching entries, however old', async () => {
  const log = await openLog();
  for (const worker of ['w2', 'w1', 'w2', 'w2']) await log.put(`worker.${worker}.heartbeat.sent`, {});
  await log.put('decision.w2', allowed);
  await log.put('task.w2.task.created', {});
  for (let count = 0; count < 30; count += 1) await log.put('worker.w1.heartbeat.sent', {});
  const { terminal, ended } = await log.tail(['--last', '3', '--worker', 'w2']);
  await terminal.printed('#5');
  await log.put('own.worker.w2.worker.retired', { by: 'me' });
  await terminal.printed('#37');
  terminal.pressCtrlC();
  await ended;
  expect(terminal.stdout().match(/#\d+/g)).toEqual(['#3', '#4', '#5', '#37']);
});

test('the service’s own entries are shown only with --all or --json', async () => {
  const log = await openLog();
  await log.put('worker.w1.heartbeat.sent', {});
  await log.put(`own.fleet.${log.fleet}.replica.joined`, { replica: 'r1' });
  await log.put('own.worker.w1.timer.fired', { timer: 'hold' });
  const shown = async (...argv: string[]) => {
    const { terminal, ended } = await log.tail(argv);
    await terminal.printed('heartbeat.sent');
    terminal.pressCtrlC();
    await ended;
    return terminal.stdout().trimEnd().split('\n').length;
  };
  expect(await shown()).toBe(1);
  expect(await shown('--all')).toBe(3);
  expect(await shown('--json')).toBe(3);
});

test('shows the newest entries of a log that grows all the time', () => {
  const shown: number[] = [];
  const recent = createNewestEntries<number>(2, 10, (item) => shown.push(item));
  for (let seq = 5; seq < 14; seq += 1) recent.push(seq, seq);
  expect(shown).toEqual([]);
  for (let seq = 14; seq < 17; seq += 1) recent.push(seq % 2 === 0 ? seq : null, seq);
  expect(shown).toEqual([13, 14, 16]);
});

test('--last 0 shows only what is new', async () => {
  const log = await openLog();
  await log.put('worker.w1.heartbeat.sent', {});
  const { terminal, ended } = await log.tail(['--last', '0']);
  // Nothing is printed until it listens.
  await expect
    .poll(async () => {
      await log.put('worker.w1.heartbeat.sent', {});
      return terminal.stdout();
    })
    .not.toBe('');
  terminal.pressCtrlC();
  await ended;
  expect(terminal.stdout()).not.toContain('#1 ');
});

test('--json prints lines that replay reads', async () => {
  const log = await openLog();
  await log.put('worker.w1.worker.registered', { agent: 'claude' });
  await log.put('worker.w1.heartbeat.sent', '');
  await log.put('worker.w1.heartbeat.sent', 'no json');
  await log.put('worker.w1.stop.attempted', { attempt: 'a1' });
  const { terminal, ended } = await log.tail(['--json']);
  await terminal.printed('"seq":4');
  terminal.pressCtrlC();
  await ended;
  const lines = jsonLines(terminal.stdout());
  expect(lines.map(({ seq, data }) => [seq, data])).toEqual([
    [1, { agent: 'claude' }],
    [2, {}],
    [3, 'no json'],
    [4, { attempt: 'a1' }],
  ]);
  const replayed = await runOnce(['replay', '-'], { stdin: terminal.stdout() });
  expect(jsonLines(replayed.stdout)).toMatchObject([{ fleet: log.fleet, attempt: 'a1', seq: 4, decision: 'allow' }]);
  expect(replayed.stderr).toMatch(/^line 3: /);
});

test('decisions are coloured, and texts of agents are cleaned and cut', async () => {
  const log = await openLog();
  await log.put('worker.w1.prompt.submitted', { text: `\u001b[2J\u0007${'y'.repeat(300)}\n\nnext` });
  await log.put('worker.w1.x\u001b[2J.y', 'no\u0007pe');
  await log.put('decision.w1', { ...blocked, reason: 'z'.repeat(300) });
  const { terminal, ended } = await log.tail([], { isTTY: true, columns: 100 });
  await terminal.printed('#3');
  terminal.pressCtrlC();
  await ended;
  expect(terminal.stdout()).toContain('\u001b[31mblock · continue · incomplete\u001b[39m');
  const plain = stripVTControlCharacters(terminal.stdout());
  expect(controlsIn(plain)).toEqual([]);
  for (const line of plain.split('\n')) expect(line.length).toBeLessThanOrEqual(100);
});

describe('exits with 3', () => {
  test('for a fleet without a log', async () => {
    const { code, stderr } = await runOnce(['tail', '--nats', standIn.url(), '--fleet', 'none']);
    expect(stderr).toMatch(/^stopgate: the log of fleet 'none' cannot be read: .*\n$/);
    expect(code).toBe(3);
  });

  test('if the server does not come back', async () => {
    const server = await startNatsServer();
    onTestFinished(() => server.stop());
    const nc = await connect({ servers: server.url });
    await (await jetstreamManager(nc)).streams.add({ name: 'STOPGATE_main', subjects: ['stopgate.main.worker.>'] });
    await nc.request('stopgate.main.worker.w1.heartbeat.sent', '{}');
    await nc.close();
    const terminal = await openTerminal();
    const ended = terminal.run('tail', '--nats', server.url);
    await terminal.printed('#1');
    await server.kill();
    expect(await ended).toBe(3);
    expect(terminal.stderr()).toBe('stopgate: the connection to NATS was lost; run it again\n');
  });
});
