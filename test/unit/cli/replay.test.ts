/** `stopgate replay` (protocol.md §10) turns files into JSON lines and an exit code. There is no server. */
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { describe, expect, test } from 'vitest';
import { controlsIn, jsonLines, openTerminal } from '../../support/terminal.ts';

import { day, line, plan, planned, policy, replay, stop } from './replay-lines.ts';

describe('decisions', () => {
  test('come one per line, in the order in which attempts end', async () => {
    const { code, results, stderr } = await replay([
      planned,
      plan('12:01', 'pending'),
      stop('12:02', 'a1'),
      plan('12:03', 'done'),
      stop('12:04', 'a2'),
    ]);
    expect(results).toMatchObject([
      {
        attempt: 'a1',
        seq: 3,
        decision: 'block',
        cause: 'incomplete',
        reason: '1 of 1 plan steps remain: Write tests',
      },
      { attempt: 'a2', seq: 5, at: day('12:04'), decision: 'allow', cause: 'complete', state: 'stopped' },
    ]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  });

  test('a repeated attempt prints nothing', async () => {
    expect((await replay([stop('12:00', 'a1'), stop('12:01', 'a1')])).results).toHaveLength(1);
  });

  test('an attempt that the file leaves open comes last, with decision null', async () => {
    const held = policy({ default: { persistence: { idle: '12m', hold: '50s' } } });
    const { code, results } = await replay([held, stop('12:01', 'a1')]);
    expect(results).toMatchObject([
      { fleet: 'main', worker: 'w1', attempt: 'a1', decision: null, state: 'validating' },
    ]);
    expect(code).toBe(0);
  });

  test('a later line of any kind moves the clock past its deadline', async () => {
    const held = policy({ default: { persistence: { idle: '12m', hold: '50s' } } });
    const { results } = await replay([held, stop('12:01', 'a1'), line('12:03', 'worker.w2.heartbeat.sent')]);
    expect(results).toMatchObject([{ attempt: 'a1', decision: 'block', cause: 'idle', idle: { ms: 50_000 } }]);
  });

  test('each iteration.validated prints a hook result', async () => {
    const { results } = await replay([
      line('12:00', 'task.T-1.hook.registered', { hook: 'h1', type: 'tdd' }),
      line('12:01', 'task.T-1.iteration.started', { iteration: 1, maxIterations: 3 }),
      line('12:02', 'task.T-1.iteration.validated', {
        iteration: 1,
        validation: [{ rule: 'tests_pass', passed: false }],
      }),
    ]);
    expect(results).toMatchObject([{ taskId: 'T-1', hookId: 'h1', action: 'continue', reason: 'Tests still failing' }]);
  });

  test('a check stays open until its check.finished', async () => {
    const tests = policy({ default: { checks: [{ remote: 'tests' }] } });
    const open = await replay([tests, stop('12:01', 'a1')]);
    expect(open.results).toMatchObject([{ attempt: 'a1', decision: null, waitsFor: 'tests' }]);
    const answer = line('12:01', 'own.worker.w1.check.finished', {
      attempt: 'a1',
      check: 'tests',
      outcome: 'fail',
      reason: 'red',
    });
    const ended = await replay([tests, stop('12:01', 'a1'), answer]);
    expect(ended.results).toMatchObject([{ attempt: 'a1', decision: 'block', feedback: [{ check: 'tests' }] }]);
  });

  test('each fleet has its own log and clock', async () => {
    const { results } = await replay([
      policy({ default: { checks: [{ plan: {} }] } }, '12:00', 'red'),
      plan('12:05', 'pending', 'red'),
      stop('12:00', 'a1', 'blue'),
      stop('12:06', 'a1', 'red'),
      stop('12:01', 'a2', 'red'), // earlier than its fleet's last: counts as that
    ]);
    expect(results).toMatchObject([
      { fleet: 'blue', decision: 'allow', cause: 'no-policy', at: day('12:00') },
      { fleet: 'red', attempt: 'a1', decision: 'block', at: day('12:06') },
      { fleet: 'red', attempt: 'a2', decision: 'block', at: day('12:06') },
    ]);
  });

  test.each([
    [true, 'stopgate: no decisions\n'],
    [false, ''],
  ])('a file without decisions prints nothing, except a note on a terminal (%s)', async (isTTY, says) => {
    expect(await replay([], [], { isTTY })).toMatchObject({ code: 0, stdout: '', stderr: says });
  });

  test('decisions, dead letters and empty lines are skipped', async () => {
    const { code, results, stderr } = await replay([
      stop('12:00', 'a1'),
      line('12:00', 'decision.w1', { decision: 'block' }),
      '',
      line('12:00', 'dead.worker.w1', { code: 'NOT_JSON' }),
    ]);
    expect({ code, stderr, count: results.length }).toEqual({ code: 0, stderr: '', count: 1 });
  });
});

test('bad lines are named on stderr and good ones folded; the exit code is 2', async () => {
  const { code, results, stderr } = await replay([
    'not json',
    '[1]',
    JSON.stringify({ subject: 'stopgate.main.worker.w1.heartbeat.sent' }),
    JSON.stringify({ at: 'yesterday', subject: 'stopgate.main.worker.w1.heartbeat.sent' }),
    JSON.stringify({ at: '2026-03-02T12:00:00+02:00', subject: 'stopgate.main.worker.w1.heartbeat.sent' }),
    line('12:00', 'worker.w1.tool.usd'),
    JSON.stringify({ at: day('12:00'), subject: 'other.main.worker.w1.tool.used', data: {} }),
    line('12:00', 'worker.w1.tool.used', { tool: 5 }),
    line('12:00', 'worker.w 1.tool.used', { tool: 'Bash' }),
    line('12:00', 'worker.w1.prompt.submitted', { text: 'x'.repeat(70_000) }),
    policy({ default: { retries: 'many' } }),
    stop('12:01', 'a1'),
  ]);
  expect(results).toMatchObject([{ attempt: 'a1', decision: 'allow' }]);
  expect(stderr.match(/^line \d+: ./gm)?.map((each) => Number.parseInt(each.slice(5), 10))).toEqual([
    1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11,
  ]);
  expect(stderr).toMatch(/^line 8: .*tool.used: tool: /m);
  expect(stderr).toMatch(/^line 10: .*limit is 65536/m);
  expect(code).toBe(2);
});

test('a bad line cannot move the cursor', async () => {
  const { stderr } = await replay([line('12:00', 'worker.\u001b[2J\u0007w1.tool.used')]);
  expect(stderr).toContain('line 1: ');
  expect(controlsIn(stderr)).toEqual([]);
});

describe('the policy', () => {
  const entries = [policy({ default: {} }), plan('12:01', 'pending'), stop('12:02', 'a1')];
  async function withPolicy(yaml: string, lines: readonly string[] = entries) {
    const terminal = await openTerminal();
    await writeFile(join(terminal.cwd, 'log.jsonl'), lines.join('\n'));
    await writeFile(join(terminal.cwd, 'stopgate.yaml'), yaml);
    const code = await terminal.run('replay', 'log.jsonl', '--policy', 'stopgate.yaml');
    return { code, results: jsonLines(terminal.stdout()), stderr: terminal.stderr() };
  }

  test('comes from the entries if there is no --policy', async () => {
    expect((await replay(entries)).results).toMatchObject([{ decision: 'allow', cause: 'no-policy' }]);
  });

  test('of --policy replaces that of the entries', async () => {
    const { code, results } = await withPolicy('policies:\n  default:\n    checks:\n      - plan: {}\n');
    expect(results).toMatchObject([{ decision: 'block', cause: 'incomplete' }]);
    expect(code).toBe(0);
  });

  test('with faults is refused; each fault has its line and column', async () => {
    const { code, results, stderr } = await withPolicy('policies:\n  default:\n    retrys: 3\n');
    expect(stderr).toContain('stopgate.yaml:3:5: unknown key "retrys"; did you mean "retries"?');
    expect({ code, results }).toEqual({ code: 2, results: [] });
  });

  test('of a file without policies is ignored, with a note', async () => {
    const { code, results, stderr } = await withPolicy('fleet: main\n');
    expect(stderr).toContain('has no policies');
    expect(results).toMatchObject([{ decision: 'allow' }]);
    expect(code).toBe(0);
  });

  test('of a missing file is an error', async () => {
    const { code, stderr, results } = await replay(entries, ['--policy', 'none.yaml']);
    expect(stderr).toBe(`stopgate: cannot read 'none.yaml': there is no such file\n`);
    expect({ code, results }).toEqual({ code: 2, results: [] });
  });
});

test('--worker picks the decisions about one worker', async () => {
  const other = line('12:03', 'worker.w2.stop.attempted', { attempt: 'b1' });
  const { results } = await replay([stop('12:02', 'a1'), other], ['--worker', 'w2']);
  expect(results).toMatchObject([{ worker: 'w2', attempt: 'b1' }]);
});

describe('files', () => {
  test('a missing file is an error', async () => {
    const terminal = await openTerminal();
    expect(await terminal.run('replay', 'none.jsonl')).toBe(2);
    expect(terminal.stderr()).toBe(`stopgate: cannot read 'none.jsonl': there is no such file\n`);
  });

  test('a folder without logs is an error', async () => {
    const terminal = await openTerminal();
    expect(await terminal.run('replay', '.')).toBe(2);
    expect(terminal.stderr()).toBe(`stopgate: '.' contains no .jsonl or .jsonl.gz files\n`);
  });

  test('a byte order mark, CRLF and a missing last newline are accepted', async () => {
    const stdin = `\ufeff${planned}\r\n${plan('12:01', 'pending')}\r\n${stop('12:02', 'a1')}`;
    const terminal = await openTerminal({ stdin });
    expect(await terminal.run('replay', '-')).toBe(0);
    expect(jsonLines(terminal.stdout())).toMatchObject([{ decision: 'block' }]);
  });

  test('a Unicode line separator in a string does not end the line', async () => {
    const { code, results } = await replay([
      line('12:00', 'worker.w1.prompt.submitted', { text: 'a\u2028b\u0085c' }),
      stop('12:01', 'a1'),
    ]);
    expect({ code, count: results.length }).toEqual({ code: 0, count: 1 });
  });

  test('characters may be split between chunks; decisions are printed at once', async () => {
    const stdin = new PassThrough();
    const terminal = await openTerminal({ stdin });
    const ended = terminal.run('replay', '-');
    const bytes = Buffer.from(
      `${line('12:00', 'worker.w1.prompt.submitted', { text: 'größer 🚪' })}\n${stop('12:01', 'a1')}\n`,
    );
    for (const byte of bytes) stdin.write(Buffer.of(byte));
    await terminal.printed('"attempt":"a1"'); // before the end of stdin
    stdin.end();
    expect(await ended).toBe(0);
    expect(terminal.stderr()).toBe('');
  });

  test('a line of many megabytes is refused without filling the memory', async () => {
    const stdin = new PassThrough();
    const terminal = await openTerminal({ stdin });
    const ended = terminal.run('replay', '-');
    const megabyte = Buffer.alloc(1_048_576, 'x');
    for (let count = 0; count < 12; count += 1) {
      if (!stdin.write(megabyte)) await once(stdin, 'drain');
    }
    stdin.end(`\n${stop('12:00', 'a1')}\n`);
    expect(await ended).toBe(2);
    expect(terminal.stderr()).toBe('line 1: is too long\n');
    expect(jsonLines(terminal.stdout())).toHaveLength(1);
  });

  test('if the reader closes the pipe (| head), it ends quietly', async () => {
    const lines = Array.from({ length: 5_000 }, (_, index) => stop('12:00', `a${index}`));
    const { code, stderr, results } = await replay([...lines, 'bad'], [], { writesMax: 1 });
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(results.length).toBeLessThan(5_000);
  });

  test('a full disk is an error, also at the last write', async () => {
    const { code, stderr } = await replay([stop('12:00', 'a1')], [], { writesMax: 0, writeError: 'ENOSPC' });
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr: 'stopgate: cannot write to stdout: the disk is full; free some space\n',
    });
  });
});
