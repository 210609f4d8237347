/** `stopgate backtest`: what agents did is judged under a policy, without a service. */
import { appendFile, cp, mkdir, readFile, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { stripVTControlCharacters } from 'node:util';
import { describe, expect, test } from 'vitest';
import { openTerminal, type Terminal } from '../../support/terminal.ts';

const recordings = fileURLToPath(new URL('../../unit/agents/recordings', import.meta.url));
const claude = join(recordings, 'claude/projects');
const codex = join(recordings, 'codex/sessions');
const parser = join(claude, '-workspace-project/a26e9cfc-2d8b-4e25-9e81-85cf441835ae.jsonl');
const fork = join(claude, '-workspace-project/6d173f0e-df0f-4da8-8d37-254329ff8b4a.jsonl');

async function judge(terminal: Terminal, ...argv: string[]) {
  expect(await terminal.run('backtest', '--json', ...argv)).toBe(0);
  return JSON.parse(terminal.stdout());
}

test('the recorded sessions, without a stopgate.yaml: a line each, then the summary', async () => {
  const terminal = await openTerminal();
  expect(await terminal.run('backtest', claude, codex)).toBe(0);
  const lines = terminal.stdout().split('\n');
  expect(lines[0]).toBe('No stopgate.yaml here, so a starter policy judges. Nothing is run or sent.');
  expect(lines).toContain('          ran: "*test*"');
  expect(lines.filter((line) => /^Nov 29/.test(line))).toHaveLength(7);
  expect(terminal.stdout()).toContain(
    '7 sessions (2 of codex, 5 of claude), 15 stops: 10 blocked, 5 allowed\n\nBlocked by\n  tests    6  █',
  );
  expect(terminal.stdout()).toContain(`The three stops that mattered most

  1  Nov 29 01:02 · claude · project
     “Write a parser for lists and test it”
     blocked by plan: 1 of 2 plan steps remain: Test the parser
     you came back after 2 s: “You have not run the tests”
`);
  expect(terminal.stderr()).toBe('');
});

test.each([80, 120])('on a terminal of %i columns, with colors, no line is wider', async (columns) => {
  const terminal = await openTerminal({ isTTY: true, columns });
  expect(await terminal.run('backtest', claude)).toBe(0);
  expect(terminal.stdout()).toContain('\u001b[31m3 blocked\u001b[39m');
  const lines = stripVTControlCharacters(terminal.stdout()).split('\n');
  expect(lines.filter((line) => line.length > columns)).toEqual([]);
  expect(lines.some((line) => line.includes('PROMPT'))).toBe(columns === 120);
  const plain = await openTerminal({ isTTY: true, columns, env: { NO_COLOR: '1' } });
  await plain.run('backtest', claude);
  expect(plain.stdout()).toBe(lines.join('\n'));
});

test('--json is one object: sessions with their stops, and the summary', async () => {
  const terminal = await openTerminal();
  const found = await judge(terminal, parser);
  expect(found).toMatchObject({
    policy: { file: null, yaml: expect.stringContaining('plan: {}') },
    since: null,
    sessions: [
      {
        agent: 'claude',
        cwd: '/workspace/project',
        prompt: 'Write a parser for lists and test it',
        stops: [
          { outcome: 'blocked', by: ['plan'], next: { prompt: 'You have not run the tests' } },
          { outcome: 'allowed', cause: 'complete' },
          { outcome: 'allowed' },
        ],
      },
    ],
    summary: {
      sessions: 1,
      stops: 3,
      outcomes: { allowed: 2, blocked: 1, escalated: 0, unjudged: 0 },
      blockedBy: { plan: 1 },
      neverFired: ['tests'],
      damagedLines: 0,
      mattered: [{ stop: { reason: '1 of 2 plan steps remain: Test the parser' } }],
    },
  });
});

describe('a policy', () => {
  const write = async (terminal: Terminal, text: string, name = 'stopgate.yaml') => {
    await writeFile(join(terminal.cwd, name), text);
    return name;
  };

  test('stopgate.yaml of the folder judges, and --policy takes precedence', async () => {
    const terminal = await openTerminal();
    await write(terminal, 'policies: { default: { checks: [{ plan: {} }] } }');
    const strict = await write(terminal, 'policies: { default: { checks: [{ plan: { required: true } }] } }', 's.yaml');
    expect((await judge(terminal, parser)).policy).toEqual({ file: 'stopgate.yaml', yaml: null });
    const other = await openTerminal({ cwd: terminal.cwd });
    expect((await judge(other, fork, '--policy', strict)).policy).toEqual({ file: 's.yaml', yaml: null });
  });

  test('a stop that depends on a command is not judged; one that fails anyway is blocked', async () => {
    const terminal = await openTerminal();
    await write(terminal, 'policies: { default: { checks: [{ command: lint, onError: block }, { plan: {} }] } }');
    const { sessions, summary } = await judge(terminal, parser);
    expect(sessions[0].stops).toMatchObject([
      { outcome: 'blocked', by: ['plan'], missing: [] },
      { outcome: 'unjudged', missing: ['lint'] },
      { outcome: 'unjudged', missing: ['lint'] },
    ]);
    expect(summary).toMatchObject({ notJudgedFor: { lint: 2 }, neverFired: [] });
  });

  test('a budget in dollars is not judged in a session without dollars, except where it changes nothing', async () => {
    const terminal = await openTerminal();
    await write(terminal, 'policies: { default: { checks: [{ plan: {} }], budget: { usd: 1000 } } }');
    const { sessions, summary } = await judge(terminal, codex);
    for (const { stops } of sessions)
      for (const stop of stops) expect(stop).toMatchObject({ outcome: 'unjudged', missing: ['budget: usd'], by: [] });
    expect(summary).toMatchObject({ stops: 4, notJudgedFor: { 'budget: usd': 4 } });
    // After another limit is used up, dollars no longer matter.
    await write(terminal, 'policies: { default: { checks: [{ plan: {} }], budget: { usd: 1000, turns: 0 } } }');
    const other = await openTerminal({ cwd: terminal.cwd });
    expect((await judge(other, codex)).summary).toMatchObject({ outcomes: { allowed: 4, unjudged: 0 } });
  });

  test('a command beside an alternative that passes changes nothing', async () => {
    const terminal = await openTerminal();
    const checks = '[{ any: [{ command: lint }, { ran: "*test*" }] }]';
    await write(terminal, `policies: { default: { checks: ${checks} } }`);
    const { sessions } = await judge(terminal, parser);
    expect(sessions[0].stops.map(({ outcome }: { outcome: string }) => outcome)).toEqual([
      'unjudged',
      'allowed',
      'allowed',
    ]);
  });

  test('one that is not valid, or has none: 2', async () => {
    const terminal = await openTerminal();
    await write(terminal, 'policies: { default: { cheks: [] } }', 'bad.yaml');
    expect(await terminal.run('backtest', '--policy', 'bad.yaml')).toBe(2);
    expect(terminal.stderr()).toContain('bad.yaml:1:24');
    await write(terminal, 'fleet: main', 'none.yaml');
    expect(await terminal.run('backtest', '--policy', 'none.yaml')).toBe(2);
    expect(terminal.stderr()).toContain("'none.yaml' has no policies");
  });
});

test('a fork does not count the turns that it copies, in whatever order the files are named', async () => {
  const stopsOf = async (...paths: string[]) => {
    const { sessions } = await judge(await openTerminal(), ...paths);
    return sessions.map(({ stops }: { stops: unknown[] }) => stops.length);
  };
  expect(await stopsOf(fork)).toEqual([3]);
  expect(await stopsOf(fork, parser)).toEqual([3, 1]);
  expect(await stopsOf(parser, parser, fork)).toEqual([3, 1]);
});

test('a stop after which the agent continued without a prompt did not leave the work as it was', async () => {
  const { sessions } = await judge(await openTerminal(), claude);
  const kept = sessions.find(({ prompt }: { prompt: string }) => prompt === 'Blocked by a hook');
  expect(kept.stops).toMatchObject([
    { outcome: 'blocked', again: true, next: null },
    { outcome: 'blocked', again: false, next: null },
  ]);
});

test('stops of sub-agents are part of their session', async () => {
  const { sessions } = await judge(await openTerminal(), claude);
  const helper = sessions.find(({ prompt }: { prompt: string }) => prompt === 'Use a helper');
  const kinds = helper.stops.map(({ subagent }: { subagent: string | null }) => subagent);
  expect(kinds).toEqual([null, 'general-purpose', null]);
});

test('damaged lines are skipped and counted', async () => {
  const terminal = await openTerminal();
  const file = join(terminal.cwd, 's.jsonl');
  await cp(parser, file);
  await appendFile(file, '{"type":"user","mess\n[1]\nnull\n\n');
  const { summary } = await judge(terminal, file);
  expect(summary).toMatchObject({ stops: 3, damagedLines: 3 });
  const text = await openTerminal({ cwd: terminal.cwd });
  await text.run('backtest', 's.jsonl');
  expect(text.stdout()).toContain('Note: 3 damaged lines skipped.');
});

test('a line of more than 8 Mi characters is skipped and counted, and the lines after it are read', async () => {
  const terminal = await openTerminal();
  const file = join(terminal.cwd, 's.jsonl');
  const [first = '', ...rest] = (await readFile(parser, 'utf8')).split('\n');
  const long = JSON.stringify({ type: 'user', uuid: 'u', message: { content: 'x'.repeat(9 * 1_048_576) } });
  await writeFile(file, [first, long, ...rest].join('\n'));
  const { summary } = await judge(terminal, file);
  expect(summary).toMatchObject({ stops: 3, damagedLines: 1 });
});

test('--since leaves out earlier stops, but what came before them counts', async () => {
  const terminal = await openTerminal();
  const { sessions, since } = await judge(terminal, parser, '--since', '2026-11-29T01:02:57.000Z');
  expect(since).toBe('2026-11-29T01:02:57.000Z');
  expect(sessions[0].stops).toMatchObject([{ outcome: 'allowed' }, { outcome: 'allowed' }]);
  const none = await openTerminal();
  expect((await judge(none, parser, '--since', '2026-11-30')).summary).toMatchObject({ sessions: 0, stops: 0 });
});

describe('without PATH', () => {
  async function home() {
    const terminal = await openTerminal();
    const env = { HOME: terminal.cwd };
    const folder = join(terminal.cwd, '.claude/projects/p');
    await mkdir(folder, { recursive: true });
    const now = new Date().toISOString();
    const text = (content: string, rest: object) =>
      `${JSON.stringify({ sessionId: 'now', uuid: content, timestamp: now, isSidechain: false, ...rest })}\n`;
    const user = text('Do it', { type: 'user', message: { content: 'Do it' } });
    const stop = { content: [{ type: 'text', text: 'Done.' }], stop_reason: 'end_turn', id: 'm' };
    await writeFile(join(folder, 'now.jsonl'), user + text('Done.', { type: 'assistant', message: stop }));
    await cp(parser, join(folder, 'old.jsonl'));
    const old = new Date(Date.now() - 30 * 24 * 3_600_000);
    await utimes(join(folder, 'old.jsonl'), old, old);
    return { cwd: terminal.cwd, env };
  }

  test('the sessions of the last seven days in the home folder', async () => {
    const options = await home();
    const { sessions } = await judge(await openTerminal(options));
    expect(sessions.map(({ session }: { session: string }) => session)).toEqual(['now']);
  });

  test('CLAUDE_CONFIG_DIR and CODEX_HOME name other folders', async () => {
    const { cwd } = await home();
    const env = { HOME: cwd, CLAUDE_CONFIG_DIR: join(recordings, 'claude'), CODEX_HOME: join(recordings, 'codex') };
    const { sessions } = await judge(await openTerminal({ cwd, env }), '--since', '2026-11-01');
    expect(sessions).toHaveLength(7);
  });

  test('no session at all: says where it looked, and 0', async () => {
    const env = { HOME: '/nowhere' };
    const terminal = await openTerminal({ env });
    expect(await terminal.run('backtest')).toBe(0);
    const where = '/nowhere/.claude/projects, /nowhere/.codex/sessions';
    expect(terminal.stdout()).toMatch(`No sessions of the last 7 days in ${where}.\nLook further back: `);
  });
});

test('a path that does not exist: 2', async () => {
  const terminal = await openTerminal();
  expect(await terminal.run('backtest', 'nowhere.jsonl')).toBe(2);
  expect(terminal.stderr()).toMatch(/^stopgate: cannot read '.*nowhere\.jsonl': there is no such file or folder\n$/);
});
