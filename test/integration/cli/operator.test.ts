/** ack, resolve, retire, pause and unpause show what they change, ask, publish, and print the result. */
import { Readable } from 'node:stream';
import { describe, expect, test } from 'vitest';
import { type Asked, Refusal, useStandIn } from '../../support/stand-in.ts';
import { runOnce, type TerminalOptions } from '../../support/terminal.ts';

const standIn = useStandIn();

const escalation = { since: '2026-03-02T12:00:00.000Z', reason: 'It needs\u001b[2J a key', acknowledgedBy: null };
const escalated = { worker: 'w1', state: 'escalated', escalation, refused: [] };
const idle = { ...escalated, state: 'idle', escalation: null };

/** Opens a terminal at which a person types `text`. '' is Ctrl-D. */
const typing = (text: string) => Object.assign(Readable.from(text === '' ? [] : [Buffer.from(text)]), { isTTY: true });

async function openLog(views: readonly object[] = [escalated, idle], entity = 'worker.w1') {
  const fleet = standIn.newFleet();
  await standIn.makeLog(fleet);
  let looks = 0;
  const asked: Asked[] = await standIn.answer(fleet, `get.${entity}`, () => {
    const view = views[Math.min(looks, views.length - 1)] as object;
    looks += 1;
    if (view instanceof Refusal) throw view;
    return view;
  });
  await standIn.answer(fleet, 'list.tasks', () => ({ items: [], next: null }));
  return {
    asked,
    run: (argv: readonly string[], options: TerminalOptions = {}) =>
      runOnce([...argv, '--nats', standIn.url(), '--fleet', fleet], options),
    stored: () => standIn.stored(fleet),
  };
}

describe('asks before it changes something', () => {
  test('showing what it changes, and accepts yes', async () => {
    const log = await openLog();
    const { code, stdout, stderr } = await log.run(['resolve', 'w1', '--resume', '--by', 'ann'], {
      stdin: typing('Yes\n'),
    });
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'w1: resolved; now idle\n' });
    expect(stderr).toMatch(/^worker w1 was escalated .* ago: It needs a key\. Resume\? \[y\/N\] $/);
    expect(await log.stored()).toEqual([['own.worker.w1.escalation.resolved', { by: 'ann', verdict: 'resume' }]]);
  });

  test('after a question in the reason, without a second punctuation mark', async () => {
    const asks = { ...escalated, escalation: { ...escalation, reason: 'Which key?' } };
    const log = await openLog([asks, asks]);
    const { stderr } = await log.run(['ack', 'w1', '--by', 'ann'], { stdin: typing('y\n') });
    expect(stderr).toMatch(/ ago: Which key\? Acknowledge\? \[y\/N\] $/);
  });

  test.each([
    ['no', 'n\n'],
    ['an empty line', '\n'],
    ['the end of the input', ''],
  ])('and changes nothing on %s', async (_, text) => {
    const log = await openLog();
    const { code, stdout, stderr } = await log.run(['retire', 'w1'], { stdin: typing(text) });
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toContain('nothing was changed');
    expect(await log.stored()).toEqual([]);
  });

  test('and without a terminal needs --yes', async () => {
    const log = await openLog();
    const { code, stderr } = await log.run(['retire', 'w1'], { stdin: 'y\n' });
    expect(code).toBe(2);
    expect(stderr).toBe('stopgate: this needs confirmation, but there is no terminal: add --yes\n');
    expect(await log.stored()).toEqual([]);
  });
});

test.each([
  { argv: ['ack', 'w1'], entry: ['own.worker.w1.escalation.acknowledged', { by: 'ann' }] },
  {
    argv: ['resolve', 'w1', '--resume', '--prompt', 'Use b'],
    entry: ['own.worker.w1.escalation.resolved', { by: 'ann', verdict: 'resume', prompt: 'Use b' }],
  },
  { argv: ['resolve', 'w1', '--stop'], entry: ['own.worker.w1.escalation.resolved', { by: 'ann', verdict: 'stop' }] },
  {
    argv: ['resolve', 'worker', 'w1', 'resume'],
    entry: ['own.worker.w1.escalation.resolved', { by: 'ann', verdict: 'resume' }],
  },
  { argv: ['resolve', 'w1', 'stop'], entry: ['own.worker.w1.escalation.resolved', { by: 'ann', verdict: 'stop' }] },
  { argv: ['retire', 'w1'], entry: ['own.worker.w1.worker.retired', { by: 'ann' }] },
  { argv: ['pause', 'w1'], entry: ['own.worker.w1.worker.paused', { by: 'ann' }] },
  { argv: ['pause', 'w1', '--for', '30m'], entry: ['own.worker.w1.worker.paused', { by: 'ann', forMs: 1_800_000 }] },
  { argv: ['pause', 'w1', '--for', '7d'], entry: ['own.worker.w1.worker.paused', { by: 'ann', forMs: 604_800_000 }] },
  { argv: ['unpause', 'w1'], entry: ['own.worker.w1.worker.unpaused', { by: 'ann' }] },
])('$argv stores one entry, and --json prints the new view', async ({ argv, entry }) => {
  const log = await openLog();
  const { code, stdout } = await log.run([...argv, '--by', 'ann', '--yes', '--json']);
  expect({ code, view: JSON.parse(stdout) }).toEqual({ code: 0, view: idle });
  expect(await log.stored()).toEqual([entry]);
});

test.each([
  [['pause', 'w1'], { by: 'ann', since: '…', until: null }, 'w1: paused by ann until its session ends\n'],
  [
    ['pause', 'w1', '--for', '1m'],
    { by: 'ann', since: '…', until: '2026-03-02T12:31:00.000Z' },
    'w1: paused by ann until 2026-03-02T12:31:00.000Z\n',
  ],
  [['unpause', 'w1'], null, 'w1: not paused; its stops are judged\n'],
])('%j prints the new state of the worker', async (argv, paused, says) => {
  const log = await openLog([idle, { ...idle, paused }]);
  expect(await log.run([...argv, '--yes'])).toMatchObject({ code: 0, stdout: says });
});

test('a policy that denies a pause is named', async () => {
  const reason = 'policy strict lets nobody pause its workers';
  const refused = [{ at: '2026-03-02T12:01:00.000Z', seq: 1, type: 'worker.paused', reason }];
  const log = await openLog([idle, { ...idle, refused }]);
  expect(await log.run(['pause', 'w1', '--yes'])).toMatchObject({ code: 1, stderr: `stopgate: ${reason}\n` });
});

test('--task selects a task', async () => {
  const log = await openLog(undefined, 'task.T-1');
  const { code } = await log.run(['ack', 'T-1', '--task', '--by', 'ann', '--yes']);
  expect(code).toBe(0);
  expect(await log.stored()).toEqual([['own.task.T-1.escalation.acknowledged', { by: 'ann' }]]);
});

describe('exit code 1', () => {
  test('an amount is granted only for a budget that was used up, and its own limits', async () => {
    const budgets = [{ per: 'session', kind: 'usd', used: 10, limit: 10 }];
    const over = { ...escalated, escalation: { ...escalation, budget: 'session' }, budgets };
    const grant = (amount: string) => ['resolve', 'w1', 'resume', '--grant', amount, '--by', 'ann'];
    const log = await openLog([over, { ...over, state: 'idle', escalation: null }]);
    const { code, stdout, stderr } = await log.run(grant('5usd'), { stdin: typing('y\n') });
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'w1: resolved, granted usd 5; now idle\n' });
    expect(stderr).toContain('Resume, and grant usd 5? [y/N]');
    expect(await log.stored()).toEqual([
      ['own.worker.w1.escalation.resolved', { by: 'ann', verdict: 'resume', grant: { usd: 5 } }],
    ]);
    const other = await openLog([over]);
    expect(await other.run([...grant('200000tokens,30m'), '--yes'])).toMatchObject({
      code: 1,
      stderr: 'stopgate: the budget of worker w1 limits usd, and not tokens\n',
    });
    const stuck = await openLog();
    expect(await stuck.run([...grant('5usd'), '--yes'])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('worker w1 was not escalated for a budget, so there is nothing to grant'),
    });
    expect([...(await other.stored()), ...(await stuck.stored())]).toEqual([]);
  });

  test('a worker that is not escalated cannot be resolved, and nothing is stored', async () => {
    const log = await openLog([idle]);
    const { code, stderr } = await log.run(['resolve', 'w1', '--stop', '--yes']);
    expect({ code, stderr }).toEqual({ code: 1, stderr: 'stopgate: worker w1 is not escalated: it is idle\n' });
    expect(await log.stored()).toEqual([]);
  });

  test('if somebody else was faster, the entry is refused', async () => {
    const reason = 'worker w1 is not escalated';
    const refused = [{ at: '2026-03-02T12:01:00.000Z', seq: 1, type: 'escalation.resolved', reason }];
    const log = await openLog([escalated, { ...idle, refused }]);
    const { code, stdout, stderr } = await log.run(['resolve', 'w1', '--resume', '--yes', '--json']);
    expect({ code, stderr }).toEqual({ code: 1, stderr: `stopgate: ${reason}\n` });
    expect(JSON.parse(stdout)).toMatchObject({ error: { code: 'REFUSED' } });
  });

  test('ack of an escalated task without --task says that --task is missing', async () => {
    const unknown = new Refusal(404, { error: { code: 'NOT_FOUND', message: 'unknown', issues: [] } });
    const log = await openLog([unknown, escalated], '>');
    const said = await log.run(['ack', 'T-3', '--yes']);
    expect(said).toMatchObject({ code: 1, stderr: expect.stringContaining('task T-3 is escalated: add --task') });
    expect(await log.stored()).toEqual([]);
  });

  test('the worker is unknown', async () => {
    const log = await openLog([new Refusal(404, { error: { code: 'NOT_FOUND', message: 'unknown', issues: [] } })]);
    expect(await log.run(['retire', 'w1', '--yes'])).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^stopgate: unknown \(fleet f\d+\); "npx stopgate workers" lists the known ones/),
    });
    expect(await log.stored()).toEqual([]);
  });
});

test.each([
  { argv: ['resolve', 'w1'], says: 'one of --resume and --stop' },
  { argv: ['resolve', 'w1', 'again'], says: `'again' is not understood; write "resume" or "stop" after the id` },
  { argv: ['resolve', 'w1', 'resume', '--stop'], says: 'one of --resume and --stop' },
  { argv: ['resolve', 'w1', '--resume', '--stop'], says: 'one of --resume and --stop' },
  { argv: ['resolve', 'w1', '--stop', '--prompt', 'x'], says: 'omit it with --stop' },
  { argv: ['resolve', 'T-1', '--task', '--resume', '--prompt', 'x'], says: 'a task has no agent' },
  { argv: ['resolve', 'w1', 'stop', '--grant', '5usd'], says: '--grant needs --resume; omit it with --stop' },
  { argv: ['resolve', 'w1', 'resume', '--grant', '5'], says: 'write 5usd, 200000tokens, 10turns or 30m' },
  { argv: ['resolve', 'w1', 'resume', '--grant=-5usd'], says: 'write 5usd, 200000tokens, 10turns or 30m' },
  { argv: ['resolve', 'w1', 'resume', '--grant', '1.5turns'], says: "'1.5turns' is not an amount" },
  {
    argv: ['resolve', 'w1', 'resume', '--grant', '0usd'],
    says: "'0usd' grants nothing; write more, or end it with --stop",
  },
  { argv: ['resolve', 'w1', 'resume', '--grant', '5usd,6usd'], says: 'names usd twice' },
  { argv: ['resolve', 'w1', 'resume', '--grant', '9000000usd'], says: "'9000000usd' is too much" },
  { argv: ['ack', 'w 1'], says: `'w 1' is not the id of a worker` },
  { argv: ['ack'], says: "missing required argument 'WORKER'" },
  { argv: ['pause', 'w1', '--for', '8d'], says: 'at most 7d' },
  { argv: ['pause', 'w1', '--for', '0s'], says: 'leaves no time' },
  { argv: ['pause', 'w1', '--for', '30'], says: `--for '30' would be 30 ms; write 30s for seconds, or 30ms` },
  { argv: ['pause', 'w1', '--for', 'ever'], says: "--for 'ever' is not a duration" },
  { argv: ['retire', 'w1', '--task'], says: `unknown option '--task'` },
])('bad usage: $argv', async ({ argv, says }) => {
  const { code, stderr } = await runOnce([...argv, '--yes']);
  expect(code).toBe(2);
  expect(stderr).toContain(says);
});
