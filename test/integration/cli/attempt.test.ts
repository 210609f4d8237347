/** decide, probe and verify: the request, the printed answer and the exit code. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Msg } from '@nats-io/nats-core';
import { describe, expect, test } from 'vitest';
import type { Decision } from '../../../machines/index.ts';
import { allowed, blocked, Refusal, useStandIn } from '../../support/stand-in.ts';
import { controlsIn, jsonLines, openTerminal, runOnce, type TerminalOptions } from '../../support/terminal.ts';

const standIn = useStandIn();
const refuse =
  (status: number, code: string, message: string, more: object = {}) =>
  () => {
    throw new Refusal(status, { error: { code, message, issues: [] }, ...more });
  };

/** Asks a fleet whose service gives this answer. */
async function ask(argv: readonly string[], handler: () => object, options: TerminalOptions = {}) {
  const fleet = standIn.newFleet();
  const asked = await standIn.answer(fleet, `${argv[0]}.*`, handler);
  const result = await runOnce([...argv, '--nats', standIn.url(), '--fleet', fleet], options);
  return { ...result, asked };
}

test('on a terminal, decide says what a slow decision waits for', async () => {
  const fleet = standIn.newFleet();
  let decide: Msg | undefined;
  standIn.connection().subscribe(`stopgate.${fleet}.decide.w1`, {
    callback: (_, message) => {
      decide = message;
    },
  });
  await standIn.answer(fleet, 'get.worker.w1', () => {
    setImmediate(() => decide?.respond(JSON.stringify(allowed)));
    return { attempt: { waitsFor: 'slow' }, sentence: 'Waits for slow' };
  });
  const argv = ['decide', 'w1', '--nats', standIn.url(), '--fleet', fleet];
  expect(await runOnce(argv, { isTTY: true })).toMatchObject({ code: 0, stderr: 'stopgate: w1: Waits for slow\n' });
});

test('on a terminal, probe says that a worker is unknown, since its id may be mistyped', async () => {
  const fleet = standIn.newFleet();
  await standIn.answer(fleet, 'probe.w1', () => allowed);
  await standIn.answer(fleet, 'get.worker.w1', refuse(404, 'NOT_FOUND', 'unknown'));
  const { code, stderr } = await runOnce(['probe', 'w1', '--nats', standIn.url(), '--fleet', fleet], { isTTY: true });
  expect({ code, stderr }).toEqual({
    code: 0,
    stderr: 'stopgate: worker w1 is unknown; this is the answer for a new one\n',
  });
});

test('the feedback of a command names the line that failed, not only its exit code', async () => {
  const details =
    ' FAIL  sum.test.ts > adds\nAssertionError: expected 3 to be 4\n\n Tests  1 failed (4)\n Duration  1.2s';
  const feedback = [{ check: 'tests', outcome: 'fail' as const, message: 'Command tests failed (exit 1)', details }];
  const { stdout } = await ask(['probe', 'w1'], () => ({ ...blocked, feedback }));
  expect(stdout).toContain('\n  tests (fail): Command tests failed (exit 1): AssertionError: expected 3 to be 4\n');
});

describe('the exit code', () => {
  test.each(['decide', 'probe'])('%s: 0 for allow, 1 for block', async (verb) => {
    expect((await ask([verb, 'w1'], () => allowed)).code).toBe(0);
    expect((await ask([verb, 'w1'], () => blocked)).code).toBe(1);
  });

  test('verify: 0 for complete work; otherwise 1, with the decision', async () => {
    expect((await ask(['verify', 'w1'], () => allowed)).code).toBe(0);
    const incomplete = refuse(409, 'INCOMPLETE', 'w1 is not complete: capped', {
      decision: { ...allowed, cause: 'capped' },
    });
    const { code, stdout, stderr } = await ask(['verify', 'w1'], incomplete);
    expect(stdout).toMatch(/^allow · complete · capped\n/);
    expect(stderr).toBe('stopgate: w1 is not complete: capped\n');
    expect(code).toBe(1);
    const asJson = await ask(['verify', 'w1', '--json'], incomplete);
    expect(jsonLines(asJson.stdout)).toEqual([
      {
        error: { code: 'INCOMPLETE', message: expect.any(String), issues: [] },
        decision: { ...allowed, cause: 'capped' },
      },
    ]);
    expect(asJson.code).toBe(1);
  });

  test('verify says once why the work is not complete', async () => {
    const reason = 'plan steps remain: Write tests';
    const incomplete = refuse(409, 'INCOMPLETE', `w1 is not complete: ${reason}`, { decision: { ...blocked, reason } });
    const { code, stdout, stderr } = await ask(['verify', 'w1'], incomplete);
    expect({ code, stderr }).toEqual({ code: 1, stderr: '' });
    expect(stdout).toContain(reason);
  });

  test('verify --task asks about the task, and takes JSON instead of a worker', async () => {
    const fleet = standIn.newFleet();
    const asked = await standIn.answer(fleet, 'verify-task.*', () => allowed);
    const run = (...argv: string[]) => runOnce(['verify', ...argv, '--nats', standIn.url(), '--fleet', fleet]);
    expect((await run('--task', 'T-1')).code).toBe(0);
    expect((await run('--task', 'T-1', '{"output":"done"}')).code).toBe(0);
    expect(asked).toEqual([
      { subject: `stopgate.${fleet}.verify-task.T-1`, body: {} },
      { subject: `stopgate.${fleet}.verify-task.T-1`, body: { output: 'done' } },
    ]);
  });

  test('verify --task of a task that was only reported as completed: 1, with the reason', async () => {
    const fleet = standIn.newFleet();
    const said = refuse(409, 'INCOMPLETE', 'task T-1 was only reported as completed', { said: true });
    await standIn.answer(fleet, 'verify-task.*', said);
    const argv = ['verify', '--task', 'T-1', '--nats', standIn.url(), '--fleet', fleet];
    expect(await runOnce(argv)).toMatchObject({
      code: 1,
      stderr: 'stopgate: task T-1 was only reported as completed\n',
    });
    expect(jsonLines((await runOnce([...argv, '--json'])).stdout)).toMatchObject([{ said: true }]);
  });

  test.each([[['verify']], [['verify', 'w1', '{}', '--task', 'T-1']], [['verify', 'w1', '--task', 'T-1']]])(
    '%j: 2, and a hint to name one of the two',
    async (argv) => {
      const { code, stderr } = await runOnce(argv);
      expect(stderr).toContain('name one worker or one task');
      expect(code).toBe(2);
    },
  );

  test('unjudged: 0 for decide and probe, 1 for verify, and each explains it', async () => {
    const unjudged = { ...allowed, action: 'continue', cause: 'unjudged', reason: 'tests could not be run' };
    const says =
      /^allow · continue · unjudged\ntests could not be run\nNot judged: the task stays claimed and verify refuses it\. With "onError: block" the\s+check would/;
    for (const verb of ['decide', 'probe']) {
      const { code, stdout } = await ask([verb, 'w1'], () => unjudged);
      expect({ verb, code, stdout }).toEqual({ verb, code: 0, stdout: expect.stringMatching(says) });
    }
    const incomplete = refuse(409, 'INCOMPLETE', 'w1 is not complete: unjudged', { decision: unjudged });
    expect(await ask(['verify', 'w1'], incomplete)).toMatchObject({ code: 1, stdout: expect.stringMatching(says) });
    expect((await ask(['decide', 'w1'], () => allowed)).stdout).not.toContain('Not judged');
  });

  test.each([
    { status: 400, wire: 'BAD_REQUEST', code: 2 },
    { status: 503, wire: 'UNAVAILABLE', code: 3 },
    { status: 503, wire: 'LOG_LOST', code: 3 },
  ])('$wire: $code', async ({ status, wire, code }) => {
    const result = await ask(['decide', 'w1', '--json'], refuse(status, wire, 'no luck'));
    expect(result).toMatchObject({ code, stderr: 'stopgate: no luck\n' });
    expect(jsonLines(result.stdout)).toMatchObject([{ error: { code: wire, message: 'no luck', issues: [] } }]);
  });

  test('without a service: 3, and how to start one', async () => {
    const { code, stdout, stderr } = await runOnce([
      'decide',
      'w1',
      '--nats',
      standIn.url(),
      '--fleet',
      standIn.newFleet(),
    ]);
    expect(stderr).toContain('start one with "npx stopgate serve" or "npx stopgate dev"');
    expect({ code, stdout }).toEqual({ code: 3, stdout: '' });
  });

  test('without a NATS server: 3, and how to start one', async () => {
    const { code, stderr } = await runOnce(['decide', 'w1'], { env: { STOPGATE_NATS: 'nats://127.0.0.1:1' } });
    expect(stderr).toMatch(/^stopgate: no NATS server at .*stopgate dev.*\n$/);
    expect(code).toBe(3);
  });

  test.each([
    {
      verb: 'decide',
      argv: [],
      hint: '; the attempt may have been stored; use --attempt ID so that you can repeat it and it counts once',
    },
    {
      verb: 'decide',
      argv: ['--attempt', 'a1'],
      hint: '; repeat it with --attempt a1: the same id returns the same decision and counts once',
    },
    { verb: 'probe', argv: ['--attempt', 'a1'], hint: '' },
  ])('without an answer in time to $verb $argv: 3, and how to ask again', async ({ verb, argv, hint }) => {
    const fleet = standIn.newFleet();
    standIn.connection().subscribe(`stopgate.${fleet}.${verb}.*`, { callback: () => undefined });
    await standIn.connection().flush();
    const place = ['--nats', standIn.url(), '--fleet', fleet, '--timeout', '50ms'];
    const { code, stderr } = await runOnce([verb, 'w1', ...argv, ...place]);
    expect(stderr).toBe(`stopgate: no answer within 50 ms to the request 'stopgate.${fleet}.${verb}.w1'${hint}\n`);
    expect(code).toBe(3);
  });

  // A NATS server refuses messages over 1 MiB, so this one could not even be sent.
  test('a request over 64 KiB is refused before it is sent: 2', async () => {
    const stdin = JSON.stringify({ output: 'x', mood: 'x'.repeat(2_000_000) });
    const { code, stderr, asked } = await ask(['decide', 'w1', '-'], () => allowed, { stdin });
    expect(stderr).toBe(`stopgate: the request has ${stdin.length} bytes; the limit is 65536\n`);
    expect({ code, asked }).toEqual({ code: 2, asked: [] });
  });

  test('an answer that is not a decision: 3', async () => {
    const { code, stdout, stderr } = await ask(['decide', 'w1'], () => ({ hello: 'world' }));
    expect(stderr).toContain('the answer is not a decision');
    expect({ code, stdout }).toEqual({ code: 3, stdout: '' });
  });
});

describe('the request', () => {
  const allow = () => allowed;

  test('takes fields from flags, then from the JSON', async () => {
    const { asked } = await ask(
      [
        'decide',
        'w1',
        '{"output":"from JSON","toolCount":4,"mine":true}',
        '--attempt',
        'a7',
        '--stop-reason',
        'end_turn',
        '--output=--all done--',
        '--hold',
        '50s',
        '--validation',
        'tests_pass=pass, lint=fail',
        '--files',
        'a.ts, b.ts',
      ],
      allow,
    );
    expect(asked).toHaveLength(1);
    expect(asked[0]?.subject).toMatch(/\.decide\.w1$/);
    expect(asked[0]?.body).toEqual({
      attempt: 'a7',
      stopReason: 'end_turn',
      output: '--all done--',
      holdMs: 50_000,
      toolCount: 4,
      mine: true,
      validation: [
        { rule: 'tests_pass', passed: true },
        { rule: 'lint', passed: false },
      ],
      files: ['a.ts', 'b.ts'],
    });
  });

  test('is an empty object by default; "-" reads stdin', async () => {
    expect((await ask(['probe', 'w1'], allow)).asked[0]?.body).toEqual({});
    const { asked } = await ask(['probe', 'w1', '-'], allow, { stdin: '{"stopReason":\n"x"}\n' });
    expect(asked[0]?.body).toEqual({ stopReason: 'x' });
  });

  test('has the end of a long output file, with a note', async () => {
    const terminal = await openTerminal();
    const fleet = standIn.newFleet();
    const asked = await standIn.answer(fleet, 'decide.*', allow);
    await writeFile(join(terminal.cwd, 'out.txt'), `${'ä'.repeat(30_000)}<promise>COMPLETE</promise>`);
    await terminal.run('decide', 'w1', '--output-file', 'out.txt', '--nats', standIn.url(), '--fleet', fleet);
    const output = String(asked[0]?.body.output);
    expect(Buffer.byteLength(output)).toBeLessThanOrEqual(32_768);
    expect(output).toMatch(/^ä+<promise>COMPLETE<\/promise>$/);
    expect(terminal.stderr()).toContain('sending only the last 32768');
  });

  test.each([
    { argv: ['{"output":5}'], says: 'output: ' },
    { argv: ['[]'], says: 'not an object' },
    { argv: ['{'], says: 'the second argument is not JSON' },
    { argv: ['w2'], says: `; write an object such as '{"output":"done"}'` },
    { argv: ['--attempt', 'a b'], says: 'attempt: is not an id' },
    { argv: ['--validation', 'tests'], says: `--validation 'tests' is not a result` },
    { argv: ['--hold', 'long'], says: `--hold 'long' is not a duration` },
    { argv: ['--output', 'a', '--output-file', 'b'], says: '--output and --output-file cannot be used together' },
    { argv: ['--output-file', 'none.txt'], says: `cannot read 'none.txt': there is no such file` },
  ])('$argv is refused before anything is sent', async ({ argv, says }) => {
    const { code, asked, stdout, stderr } = await ask(['decide', 'w1', ...argv], allow);
    expect(stderr).toContain(says);
    expect({ code, stdout, asked }).toEqual({ code: 2, stdout: '', asked: [] });
  });

  test('may take the fleet and the server from variables', async () => {
    const fleet = standIn.newFleet();
    const asked = await standIn.answer(fleet, 'decide.*', allow);
    await runOnce(['decide', 'w1'], { env: { STOPGATE_NATS: standIn.url(), STOPGATE_FLEET: fleet } });
    expect(asked[0]?.subject).toBe(`stopgate.${fleet}.decide.w1`);
  });

  test('accepts connection options before the command', async () => {
    const fleet = standIn.newFleet();
    const asked = await standIn.answer(fleet, 'decide.*', allow);
    expect(await runOnce(['--nats', standIn.url(), '--json', '--fleet', fleet, 'decide', 'w1'])).toMatchObject({
      code: 0,
    });
    expect(asked).toHaveLength(1);
  });
});

describe('the output', () => {
  test('has the answer first, then the reason, guard by guard', async () => {
    const { stdout } = await ask(['decide', 'w1'], () => blocked);
    expect(stdout).toBe(`block · continue · incomplete
2 of 5 plan steps remain: Write tests, Fix lint

next prompt
  Write tests.
  Then fix lint.

feedback
  tests (fail): 3 tests failed

  ✓  promise  none
  !  hooks    scan: no answer      1.5 s
  ✗  checks   plan: 2 of 5 remain  0.1 ms

worker w1 · task T-1 · state blocked · policy strict
retries 1 of 3 · idle 3m of 10m, 7m left · 2 pending · attempt a1 · #1234 · 0.7 ms
`);
  });

  test('is the unchanged decision on one line with --json', async () => {
    const newer = { ...blocked, later: 'field' };
    const { stdout } = await ask(['decide', 'w1', '--json'], () => newer);
    expect(stdout).toBe(`${JSON.stringify(newer)}\n`);
  });

  test('says for a probe that nothing was logged', async () => {
    const dry: Decision = { ...allowed, dryRun: true, attempt: null, seq: null };
    const { stdout } = await ask(['probe', 'w1'], () => dry);
    expect(stdout).toMatch(
      /^allow · complete · complete {2}\(dry run: nothing was logged\)\nAll checks passed\n\n {2}● {2}done/,
    );
    expect(stdout).not.toContain('#');
  });

  test('is green only for complete', async () => {
    const first = async (decision: Decision) => {
      const { stdout } = await ask(['decide', 'w1'], () => decision, { isTTY: true });
      return stdout.split('\n')[0];
    };
    expect(await first(blocked)).toContain('\u001b[31m');
    expect(await first(allowed)).toContain('\u001b[32m');
    expect(await first({ ...allowed, cause: 'capped' })).toContain('\u001b[33m');
    expect(await first({ ...allowed, cause: 'bypassed' })).toContain('\u001b[33m');
  });

  test('contains no control characters of an agent, and fits the width', async () => {
    const hostile = '\u001b[2J\u001b]0;owned\u0007\u009b31m\u202eevil\rline';
    const decision: Decision = {
      ...blocked,
      reason: hostile,
      nextPrompt: `${hostile}\n${'x'.repeat(500)}`,
      task: hostile,
      feedback: [{ check: hostile, outcome: 'fail', message: hostile, details: {} }],
      verdicts: [{ guard: 'checks', verdict: 'block', detail: hostile.repeat(9) }],
    };
    const { stdout } = await ask(['decide', 'w1'], () => decision, {
      isTTY: true,
      columns: 60,
      env: { NO_COLOR: '1' },
    });
    expect(controlsIn(stdout)).toEqual([]);
    expect(stdout).not.toContain('owned');
    for (const line of stdout.split('\n')) expect(line.length).toBeLessThanOrEqual(60);
  });
});
