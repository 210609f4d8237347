/** `stopgate replay --at` shows the state at a time, and `--diff` what another policy would have decided. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { describe, expect, test } from 'vitest';
import { controlsIn, jsonLines, openTerminal, type TerminalOptions } from '../../support/terminal.ts';

import { day, line, plan, planned, policy, replay, stop } from './replay-lines.ts';

describe('--at', () => {
  const entries = [
    planned,
    line('12:00', 'worker.w1.worker.registered', { agent: 'claude' }),
    line('12:00', 'task.T-1.task.created', { title: 'Fix', queue: 'main' }),
    stop('12:01', 'a1'),
    line('12:02', 'worker.w1.prompt.submitted', { text: 'go on' }),
    line('12:00', 'worker.w9.worker.registered', {}, 'other'),
  ];

  test('prints the state at that time as one object, with clocks moved there', async () => {
    const { code, results } = await replay(entries, ['--at', day('12:01')]);
    expect(results).toHaveLength(1);
    expect(results[0]).toMatchObject({
      at: day('12:01'),
      fleets: {
        main: {
          workers: { w1: { state: 'stopped', agent: 'claude', idle: { ms: 60_000 }, lastDecision: { attempt: 'a1' } } },
          tasks: { 'T-1': { task: 'T-1', state: 'idle' } },
          queues: { main: { queue: 'main', pending: 1, reported: 0 } },
        },
        other: { workers: { w9: { state: 'idle' } } },
      },
    });
    expect(code).toBe(0);
  });

  test('prints tables on a terminal, with ages counted from that time; --json prints JSON there too', async () => {
    const terminal = { isTTY: true, columns: 120 };
    const { code, stdout } = await replay(entries, ['--at', day('12:01')], terminal);
    const lines = stripVTControlCharacters(stdout).trimEnd().split('\n');
    expect(lines).toEqual([
      `fleet main at ${day('12:01')}`,
      '',
      expect.stringMatching(/^WORKER +STATE .*SEEN +DOING$/),
      expect.stringMatching(/^w1 +stopped +active .* claude .* now +-$/),
      '',
      expect.stringMatching(/^TASK +STATE .*TITLE$/),
      expect.stringMatching(/^T-1 +idle .* Fix$/),
      '',
      `fleet other at ${day('12:01')}`,
      '',
      expect.stringMatching(/^WORKER /),
      expect.stringMatching(/^w9 +idle .* 1m ago +-$/),
    ]);
    expect(code).toBe(0);
    const json = await replay(entries, ['--at', day('12:01'), '--json'], terminal);
    expect(jsonLines(json.stdout)).toHaveLength(1);
  });

  test('a worker is stale two minutes after its last entry', async () => {
    const presence = async (at: string) => {
      const { results } = await replay(entries.slice(0, 2), ['--at', at]);
      return (results[0] as { fleets: { main: { workers: { w1: { presence: string } } } } }).fleets.main.workers.w1
        .presence;
    };
    expect(await presence(day('12:01'))).toBe('active');
    expect(await presence(day('12:03'))).toBe('stale');
  });

  test('says that the time is in the future', async () => {
    expect((await replay(entries, ['--at', day('12:01')])).stderr).toBe('');
    const { code, stderr, results } = await replay(entries, ['--at', '9999-01-01']);
    expect({ code, at: results[0] }).toMatchObject({ code: 0, at: { at: '9999-01-01T00:00:00.000Z' } });
    expect(stderr).toBe(
      'stopgate: --at 9999-01-01T00:00:00.000Z is in the future; this is the state if no more entries come until then\n',
    );
  });

  test('shows no fleet for a file without entries', async () => {
    expect((await replay([], ['--at', day('12:00')])).results).toEqual([{ at: day('12:00'), fleets: {} }]);
  });

  test.each(['noon', '2026-02-30', '2026-02-30T12:00:00Z', ''])('%j is not a time', async (at) => {
    const { code, stdout, stderr } = await replay(entries, ['--at', at]);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toMatch(/^stopgate: '?--at'? .*\n$/);
  });

  test.each(['1969-12-31', '99999999d', '999999999999d'])('%j is before any entry', async (at) => {
    const { code, stdout, stderr } = await replay(entries, ['--at', at]);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain(`--at '${at}' is before 1970`);
  });
});

describe('--diff', () => {
  const entries = [policy({ default: {} }), plan('12:01', 'pending'), stop('12:02', 'a1'), stop('12:03', 'a2')];
  async function diff(yaml: string, lines: readonly string[], argv: readonly string[], options: TerminalOptions = {}) {
    const terminal = await openTerminal(options);
    await writeFile(join(terminal.cwd, 'log.jsonl'), lines.join('\n'));
    await writeFile(join(terminal.cwd, 'new.yaml'), yaml);
    const code = await terminal.run('replay', 'log.jsonl', '--policy', 'new.yaml', '--diff', ...argv);
    return { code, stdout: terminal.stdout(), stderr: terminal.stderr() };
  }
  const planChecked = 'policies: { default: { retries: 1, checks: [{ plan: {} }] } }';

  test('prints each decision that would differ: who, when, both answers and the guards', async () => {
    const { code, stdout, stderr } = await diff(planChecked, entries, []);
    expect(stdout.split('\n')).toEqual([
      `w1 · a1 · ${day('12:02')}`,
      '  before  allow · complete · no-policy  No check or hook was set for this stop',
      '  after   block · continue · incomplete  1 of 1 plan steps remain: Write tests',
      '  guard   done -> checks',
      `w1 · a2 · ${day('12:03')}`,
      '  before  allow · complete · no-policy  No check or hook was set for this stop',
      expect.stringContaining('  after   allow · complete · capped  '),
      '  guard   done -> retries',
      '',
    ]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '2 attempts compared: 2 would differ\n' });
  });

  test('--json prints one object per line, with both decisions', async () => {
    const { stdout } = await diff(planChecked, entries, ['--json', '--since', day('12:03')]);
    const differences = jsonLines(stdout);
    expect(differences).toMatchObject([
      { worker: 'w1', attempt: 'a2', at: day('12:03'), before: { cause: 'no-policy' }, after: { cause: 'incomplete' } },
    ]);
    expect(Object.keys(differences[0] ?? {})).toEqual(['worker', 'attempt', 'at', 'before', 'after']);
  });

  test('an attempt that depends on an unanswered check is undetermined', async () => {
    const remote = 'policies: { default: { checks: [{ remote: scan }] } }';
    const { code, stdout, stderr } = await diff(remote, entries.slice(0, 3), []);
    expect(stdout).toContain('  after   unknown  the log has no result of check scan\n');
    expect({ code, stderr }).toEqual({ code: 0, stderr: '1 attempt compared: 0 would differ, 1 unknown\n' });
    const { stdout: json } = await diff(remote, entries.slice(0, 3), ['--json']);
    expect(jsonLines(json)).toMatchObject([{ attempt: 'a1', after: null, check: 'scan' }]);
  });

  test('fits the terminal, and prints no control characters of an agent', async () => {
    const rude = line('12:01', 'worker.w1.plan.updated', {
      steps: [{ title: '\u001b[2J\u0007 x', status: 'pending' }],
    });
    const { stdout } = await diff(planChecked, [rude, stop('12:02', 'a1')], [], { isTTY: true, columns: 60 });
    const plain = stripVTControlCharacters(stdout);
    expect(controlsIn(plain)).toEqual([]);
    for (const each of plain.split('\n')) expect(each.length).toBeLessThanOrEqual(60);
  });

  test.each([
    { yaml: 'policies:\n  default:\n    retrys: 3\n', says: 'new.yaml:3:5: unknown key "retrys"' },
    { yaml: 'fleet: main\n', says: `nothing to compare: 'new.yaml' has no policies` },
  ])('refuses a bad policy file: $says', async ({ yaml, says }) => {
    const { code, stdout, stderr } = await diff(yaml, entries, []);
    expect(stderr).toContain(says);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  });

  test('names bad lines', async () => {
    const { code, stderr } = await diff(planChecked, ['not json', ...entries], []);
    expect(stderr).toContain('line 1: is not JSON');
    expect(code).toBe(2);
  });
});
