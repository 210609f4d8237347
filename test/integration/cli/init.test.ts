/** init: what it writes into agents' settings, and that nothing else in them ever changes. */
import { execFile } from 'node:child_process';
import { chmod, mkdir, readFile, stat, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { PassThrough } from 'node:stream';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { runCommand } from '../../support/command.ts';
import { openTerminal, runOnce, type TerminalOptions } from '../../support/terminal.ts';

async function place(options: TerminalOptions = {}) {
  const terminal = await openTerminal(options);
  const env = { PATH: '/nowhere', HOME: join(terminal.cwd, 'home'), ...options.env };
  const put = async (name: string, text: string) => {
    const file = join(terminal.cwd, name);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, text);
    return file;
  };
  return {
    cwd: terminal.cwd,
    put,
    read: (name: string) => readFile(join(terminal.cwd, name), 'utf8'),
    init: (...argv: string[]) => runOnce(['init', ...argv], { ...options, cwd: terminal.cwd, env }),
  };
}
type Settings = { hooks: Record<string, { hooks: Record<string, unknown>[] }[]> };
const isPosting = (agent: string) => agent === 'claude' || agent === 'qwen';
const isGone = (file: Promise<string>) => expect(file).rejects.toThrow('ENOENT');

describe('claude', () => {
  const file = '.claude/settings.json';

  test('gets an HTTP hook for each event, and a stop may take as long as Claude Code lets it', async () => {
    const { init, read } = await place();
    const { code, stdout } = await init('claude', '--yes', '--http', '127.0.0.1:4444', '--policy', 'strict');
    expect(code).toBe(0);
    const { hooks } = JSON.parse(await read(file)) as Settings;
    expect(hooks.Stop).toEqual([
      { hooks: [{ type: 'http', url: 'http://127.0.0.1:4444/hooks/claude?policy=strict', timeout: 600 }] },
    ]);
    expect(Object.keys(hooks)).toEqual(
      expect.arrayContaining(['UserPromptSubmit', 'PostToolUse', 'SubagentStop', 'SessionEnd']),
    );
    expect(Object.keys(hooks)).not.toContain('SessionStart');
    for (const line of (await read(file)).trimEnd().split('\n')) expect(stdout).toContain(`+ ${line}`);
  });

  test('is asked through a command where a stop that nobody judged is to be blocked', async () => {
    const { init, read } = await place();
    await init('claude', '--yes', '--on-unreachable', 'block', '--autostart');
    const { hooks } = JSON.parse(await read(file)) as Settings;
    expect(hooks.SessionStart).toHaveLength(1);
    expect(hooks.Stop?.[0]?.hooks[0]).toMatchObject({
      type: 'command',
      command: expect.stringMatching(
        /hook-command\/main\.js claude --http 127\.0\.0\.1:4280 --on-unreachable block --autostart \//,
      ),
      timeout: 600,
    });
  });

  test('with a token names its variable, never its value', async () => {
    const { init, read } = await place({ env: { STOPGATE_TOKEN: 'hush-hush' } });
    await init('claude', '--yes');
    expect(await read(file)).not.toContain('hush-hush');
    expect(JSON.parse(await read(file)).hooks.Stop[0].hooks[0]).toMatchObject({
      headers: { Authorization: 'Bearer $STOPGATE_TOKEN' },
      allowedEnvVars: ['STOPGATE_TOKEN'],
    });
  });

  test('a second run changes nothing, one with other options replaces our lines alone', async () => {
    const { init, read, put } = await place();
    await put(file, '{ "hooks": { "Stop": [{ "hooks": [{ "type": "command", "command": "mine" }] }] } }');
    await init('claude', '--yes');
    const first = await read(file);
    expect(await init('claude')).toMatchObject({
      code: 0,
      stdout: '',
      stderr: expect.stringContaining('already there'),
    });
    expect(await read(file)).toBe(first);
    await init('claude', '--yes', '--http', '127.0.0.1:5555');
    const text = await read(file);
    expect(text).not.toContain('4280');
    expect(text).toContain('"command": "mine"');
    expect(text.split('5555')).toHaveLength(first.split('4280').length);
  });

  test('what an agent has written anew is still known as ours', async () => {
    const { init, read, put } = await place();
    await put(file, '{\n  "model": "x"\n}\n');
    await init('claude', '--yes');
    await put(file, `${JSON.stringify(JSON.parse(await read(file)), null, 2)}\n`);
    expect((await init('claude')).stderr).toContain('already there');
    await init('claude', '--remove', '--yes');
    expect(await read(file)).toBe('{\n  "model": "x"\n}\n');
  });
});

describe('--remove gives back the very bytes', () => {
  const foreign = '{ "hooks": [{ "type": "command", "command": "mine" }] }';
  test.each([
    ['an empty object', '{}'],
    ['an empty object in lines', '{\n}\n'],
    ['other settings', '{\n  "model": "opus",\n  "env": { "A": "1" }\n}\n'],
    ['no line end at the end', '{"model":"opus"}'],
    ['tabs and CRLF', '{\r\n\t"model": "opus",\r\n\t"hooks": {\r\n\t\t"Stop": []\r\n\t}\r\n}\r\n'],
    ['a byte order mark', '\uFEFF{ "model": "opus" }\n'],
    ['empty hooks', '{ "hooks": {} }'],
    ['empty hooks in lines', '{\n  "hooks": {\n  }\n}'],
    ['an empty list', '{\n  "hooks": {\n    "Stop": [],\n    "PreToolUse": [ ]\n  }\n}\n'],
    [
      'hooks of others',
      `{\n  "hooks": {\n    "Stop": [\n      ${foreign}\n    ],\n    "PreCompact": [${foreign}]\n  }\n}\n`,
    ],
    [
      'comments and trailing commas',
      `// top\n{\n  "a": 1, // one\n  /* two */ "hooks": { // three\n    "Stop": [\n      ${foreign}, // four\n    ], // five\n  },\n  // six\n}\n// end\n`,
    ],
    ['a comment behind the last', `{\n  "a": 1 // one\n  // two\n}`],
  ])('%s', async (_what, text) => {
    for (const more of [[], ['--block-cap', '20']]) await giveBack(text, more);
  });

  async function giveBack(text: string, more: readonly string[]) {
    const { init, read, put } = await place();
    await put('.claude/settings.json', text);
    expect((await init('claude', '--yes', ...more)).code).toBe(0);
    expect((await init('claude', ...more)).stderr).toContain('already there');
    const between = await read('.claude/settings.json');
    expect(between).toContain('/hooks/claude');
    for (const comment of text.match(/\/\/ \w+/g) ?? []) expect(between).toContain(comment);
    expect((await init('claude', '--remove', '--yes')).code).toBe(0);
    expect(await read('.claude/settings.json')).toBe(text);
  }

  test('hooks of others that are named like ours stay, and so does what stands behind ours in its line', async () => {
    const { init, read, put } = await place();
    const others = [
      '~/hooks/claude --lint',
      '/opt/hooks/claude',
      'node /opt/other/hook/main.js claude',
      'my-stopgate-like hook claude',
    ].map((command) => `{ "hooks": [{ "type": "command", "command": "${command}" }] }`);
    const ours = [
      { type: 'http', url: 'http://127.0.0.1:4280/hooks/claude' },
      { type: 'command', command: 'npx stopgate hook claude' },
      { type: 'command', command: "'/opt/stopgate/dist/src/main.js' hook claude" },
      // As an earlier version wrote it.
      { type: 'command', command: 'node /opt/stopgate/dist/src/hook/main.js claude --http 127.0.0.1:4280' },
      {
        type: 'command',
        command: "curl -sf --data-binary @- 'http://127.0.0.1:4280/hooks/claude?event=Stop' || exit 0",
      },
    ].map((handler) => JSON.stringify({ hooks: [handler] }));
    const settings = (before: string, after: string) =>
      `{ "hooks": { "Stop": [\n  // theirs\n  ${before}${others.join(', ')}${after}\n] } }\n`;
    await put('.claude/settings.json', settings(`${ours.join(', ')}, `, ''));
    expect((await init('claude', '--remove', '--yes')).code).toBe(0);
    expect(await read('.claude/settings.json')).toBe(settings('', ''));
  });

  test('a file that was made goes; where nothing of ours is, nothing is done', async () => {
    const { init, read } = await place();
    await init('claude', '--yes');
    await init('claude', '--remove', '--yes');
    await isGone(read('.claude/settings.json'));
    expect(await init('claude', '--remove')).toMatchObject({
      code: 0,
      stderr: expect.stringContaining('has nothing from stopgate'),
    });
  });

  test('what others have added behind our lines stays', async () => {
    const { init, read, put } = await place();
    await init('claude', '--yes');
    const settings = JSON.parse(await read('.claude/settings.json')) as Settings;
    settings.hooks.Stop?.push({ hooks: [{ type: 'command', command: 'theirs' }] });
    await put('.claude/settings.json', JSON.stringify(settings, null, 2));
    await init('claude', '--remove', '--yes');
    expect(JSON.parse(await read('.claude/settings.json'))).toEqual({
      hooks: { Stop: [{ hooks: [{ type: 'command', command: 'theirs' }] }] },
    });
  });
});

describe('--block-cap', () => {
  const file = '.claude/settings.json';
  const cap = 'CLAUDE_CODE_STOP_HOOK_BLOCK_CAP';

  test.each([
    { agent: 'claude', own: file, variable: cap, more: 0 },
    // It does not obey the block that makes up its number.
    { agent: 'qwen', own: '.qwen/settings.json', variable: 'QWEN_CODE_STOP_HOOK_BLOCK_CAP', more: 1 },
  ])(
    'raises the cap of $agent while it is asked for, in a file of our own too',
    async ({ agent, own, variable, more }) => {
      const { init, read } = await place();
      const env = async () => (JSON.parse(await read(own)) as { env?: Record<string, string> }).env;
      await init(agent, '--yes', '--block-cap', '20');
      expect(await env()).toMatchObject({ [variable]: String(20 + more) });
      const least = more;
      await init(agent, '--yes', '--block-cap', String(least), '--http', '127.0.0.1:5555');
      expect(await env()).toMatchObject({ [variable]: String(least + more) });
      await init(agent, '--yes');
      expect(await env()).toBeUndefined();
      await init(agent, '--yes', '--block-cap', '20');
      await init(agent, '--remove', '--yes');
      await isGone(read(own));
    },
  );

  test("leaves the user's own alone", async () => {
    const { init, read, put } = await place();
    const text = `{\n  "env": { "${cap}": "12" }\n}\n`;
    await put(file, text);
    const { code, stderr } = await init('claude', '--yes', '--block-cap', '20');
    expect({ code, text: await read(file) }).toEqual({ code: 2, text });
    expect(stderr).toContain(`settings.json:2:12: ${cap} is set already`);
    await init('claude', '--yes', '--block-cap', '12');
    expect(await read(file)).toContain('/hooks/claude');
    await init('claude', '--remove', '--yes');
    expect(await read(file)).toBe(text);
    await init('claude', '--yes');
    await init('claude', '--remove', '--yes');
    expect(await read(file)).toBe(text);
  });

  test("one that was changed since is the user's", async () => {
    const { init, read, put } = await place();
    await init('claude', '--yes', '--block-cap', '20');
    await put(file, (await read(file)).replace(`"${cap}": "20"`, `"${cap}": "30"`));
    await init('claude', '--remove', '--yes');
    expect(JSON.parse(await read(file))).toEqual({ env: { [cap]: '30' } });
  });
});

describe('plan tools of Claude Code, which newer models have only by a variable', () => {
  const file = '.claude/settings.json';
  const variable = 'CLAUDE_CODE_ENABLE_TODO_TOOLS';
  const planPolicy = 'policies: { default: { checks: [{ any: [{ plan: {} }, { rules: [done] }] }] } }\n';

  test('are switched on where a policy looks at the plan, until --remove', async () => {
    const { init, read, put } = await place();
    await put('stopgate.yaml', planPolicy);
    const text = '{\n  "env": { "A": "1" }\n}\n';
    await put(file, text);
    const { code, stdout, stderr } = await init('claude', '--yes', '--block-cap', '20');
    expect({ code, stderr }).toEqual({
      code: 0,
      stderr: expect.stringContaining('off (the default model): the plan check of default passes without a plan'),
    });
    expect(stdout).toMatch(new RegExp(`^\\+ .*"${variable}": "1"`, 'm'));
    expect(JSON.parse(await read(file)).env).toMatchObject({ A: '1', [variable]: '1' });
    expect((await init('claude', '--block-cap', '20')).stderr).toContain('already there');
    await init('claude', '--yes', '--http', '127.0.0.1:5555');
    expect(JSON.parse(await read(file)).env).toMatchObject({ A: '1', [variable]: '1' });
    await init('claude', '--remove', '--yes');
    expect(await read(file)).toBe(text);
  });

  test.each([
    ['no policy looks at the plan', 'policies: { default: { checks: [{ rules: [done] }] } }\n', '{}'],
    ['the model has them', planPolicy, '{ "model": "claude-opus-4-5" }'],
    ['they are on', planPolicy, `{ "env": { "${variable}": "true" } }`],
    ['the user has switched them off', planPolicy, `{ "env": { "${variable}": "0" } }`],
  ])('are left alone where %s', async (_why, policies, text) => {
    const { init, read, put } = await place();
    await put('stopgate.yaml', policies);
    await put(file, text);
    expect((await init('claude', '--yes')).code).toBe(0);
    const { hooks, ...others } = JSON.parse(await read(file));
    expect([Object.keys(hooks).length > 0, others]).toEqual([true, JSON.parse(text)]);
    await init('claude', '--remove', '--yes');
    expect(await read(file)).toBe(text);
  });

  test('the person is asked for them apart from the hooks', async () => {
    for (const answer of ['n', 'y']) {
      const stdin = Object.assign(new PassThrough(), { isTTY: true });
      const terminal = await openTerminal({ isTTY: true, stdin, env: { PATH: '/nowhere', HOME: '/nowhere' } });
      await writeFile(join(terminal.cwd, 'stopgate.yaml'), planPolicy);
      const ended = terminal.run('init', 'claude');
      await expect.poll(terminal.stderr).toContain(`Switch them on, by ${variable}=1 in its settings? [y/N]`);
      stdin.write(`${answer}\n`);
      await expect.poll(terminal.stderr).toContain('Do this?');
      stdin.write('y\n');
      expect(await ended).toBe(0);
      const text = await readFile(join(terminal.cwd, file), 'utf8');
      expect([text.includes('/hooks/claude'), text.includes(variable)]).toEqual([true, answer === 'y']);
    }
  });
});

test('--wake adds a second hook to the stop, in the background, while it is asked for', async () => {
  const file = '.claude/settings.json';
  const { init, read } = await place();
  const stops = async () => (JSON.parse(await read(file)) as Settings).hooks.Stop?.flatMap(({ hooks }) => hooks);
  const waker = {
    ...{ type: 'command', timeout: 86_400, async: true, asyncRewake: true },
    command: expect.stringMatching(/^exec .*hook-command\/main\.js claude --wake --http 127\.0\.0\.1:4280$/),
  };
  await init('claude', '--yes', '--wake', '--policy', 'strict');
  expect(await stops()).toEqual([expect.objectContaining({ type: 'http' }), waker]);
  expect((await init('claude', '--yes', '--wake', '--policy', 'strict')).stderr).toContain('already there');
  await init('claude', '--yes', '--wake', '--form', 'command');
  expect(await stops()).toEqual([expect.objectContaining({ type: 'command', timeout: 600 }), waker]);
  await init('claude', '--yes');
  expect(await stops()).toHaveLength(1);
  await init('claude', '--yes', '--wake');
  await init('claude', '--remove', '--yes');
  await isGone(read(file));
});

describe('refuses, and changes nothing', () => {
  test('a file that is read-only, a folder in its place, a file in the place of its folder', async () => {
    const { init, read, put, cwd } = await place();
    await chmod(await put('.claude/settings.json', '{}'), 0o444);
    const { code, stderr } = await init('claude', '--yes');
    expect(code).toBe(2);
    expect(stderr).toContain('is read-only');
    expect(await read('.claude/settings.json')).toBe('{}');
    await put('.gemini', '');
    expect(await init('gemini', '--yes')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('a part of the path is a file'),
    });
    await mkdir(join(cwd, '.cursor/hooks.json'), { recursive: true });
    expect(await init('cursor', '--yes')).toMatchObject({ code: 2, stderr: expect.stringContaining('is not a file') });
  });

  test.each([
    ['broken JSON', '{\n  "a": 1,\n  "b" 2\n}', ':3:7: colon expected'],
    ['hooks that are no object', '{ "hooks": [] }', ':1:12: "hooks" is not an object'],
    ['an event that is not a list', '{ "hooks": {\n "Stop": {} } }', ':2:10: "hooks.Stop" is not a list'],
    ['a key twice', '{ "hooks": {},\n  "hooks": {} }', ':2:3: the key "hooks" appears twice'],
    ['a list', '[]', ':1:1: it is not a JSON object'],
    ['an empty file', '', ':1:1: '],
  ])('%s', async (_what, text, says) => {
    const { init, read, put } = await place();
    await put('.claude/settings.json', text);
    const { code, stdout, stderr } = await init('claude', '--yes');
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain(`.claude/settings.json${says}`);
    expect(await read('.claude/settings.json')).toBe(text);
  });

  test('a link out of the project', async () => {
    const { init, cwd, put } = await place();
    const elsewhere = await place();
    const target = await elsewhere.put('settings.json', '{}');
    await put('.claude/x', '');
    await symlink(target, join(cwd, '.claude/settings.json'));
    const { code, stderr } = await init('claude', '--yes');
    expect(code).toBe(2);
    expect(stderr).toContain(`is a link to '${target}'`);
    expect(await elsewhere.read('settings.json')).toBe('{}');
  });

  test('without a terminal, unless it is told --yes', async () => {
    const { init, read } = await place();
    const { code, stdout, stderr } = await init('claude');
    expect(code).toBe(2);
    expect(stdout).toContain('+   "hooks": {');
    expect(stderr).toContain('--yes');
    await isGone(read('.claude/settings.json'));
  });

  test.each([
    [['claude', '--project', '--user'], 'use either --project or --user'],
    [['codex', '--project'], "in the user's own settings only"],
    [['claude', '--form', 'http', '--on-unreachable', 'block'], 'needs --form command'],
    [['codex', '--form', 'http'], 'no hooks of the form http'],
    [['claude', '--policy', 'a b'], 'is not the id of a policy'],
    [['codex', '--block-cap', '9'], '--block-cap is for claude and qwen: init cannot set the cap of codex'],
    [['claude', '--block-cap', 'many'], 'is not a whole number'],
    [['qwen', '--block-cap', '0'], 'is not a whole number from 1 to 99'],
    [['qwen', '--block-cap', '100'], 'is not a whole number from 1 to 99'],
    [['codex', '--wake'], '--wake is for claude'],
    [['claude', '--http', 'off'], 'hooks come over HTTP'],
    [['gemini', '--form', 'curl', '--token-env', 'T'], 'would show the token'],
    [['gemini', '--form', 'perl', '--http', 'https://127.0.0.1:4280'], 'it has no TLS; use --form command'],
    [['nobody'], "there is no agent 'nobody'; these are: claude, codex"],
  ])('%s', async (argv, says) => {
    const { init } = await place();
    const { code, stderr } = await init(...argv, '--yes');
    expect(stderr).toContain(says);
    expect(code).toBe(2);
  });
});

test('on a terminal it asks, and takes only a yes', async () => {
  for (const [answer, code] of [
    ['n', 2],
    ['y', 0],
  ] as const) {
    const stdin = Object.assign(new PassThrough(), { isTTY: true });
    stdin.end(`${answer}\n`);
    const { init, read } = await place({ isTTY: true, stdin });
    expect(await init('claude')).toMatchObject({ code, stderr: expect.stringContaining('Do this? [y/N]') });
    if (code === 0) expect(await read('.claude/settings.json')).toContain('/hooks/claude');
    else await isGone(read('.claude/settings.json'));
  }
});

test('a link within the project is followed, and the mode of the file stays', async () => {
  const { init, cwd, put, read } = await place();
  const target = await put('dotfiles/claude.json', '{}\n');
  await chmod(target, 0o600);
  await put('.claude/x', '');
  await symlink(target, join(cwd, '.claude/settings.json'));
  expect((await init('claude', '--yes')).stdout).toContain(`(a link to ${target})`);
  expect(await read('dotfiles/claude.json')).toContain('/hooks/claude');
  expect((await stat(target)).mode & 0o777).toBe(0o600);
});

test('--dry-run and --json only tell', async () => {
  const { init, read } = await place();
  const { code, stdout } = await init('claude', '--dry-run', '--json');
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({ agent: 'claude', scope: 'project', changed: true, dryRun: true });
  await isGone(read('.claude/settings.json'));
});

describe('each agent in its own form', () => {
  test('gemini: in milliseconds, and a line that ends in an allow whatever happens', async () => {
    const { init, read } = await place();
    await init('gemini', '--yes');
    expect(JSON.parse(await read('.gemini/settings.json')).hooks.AfterAgent[0].hooks[0]).toMatchObject({
      command: expect.stringMatching(/ gemini --http \S+ \|\| exit 0$/),
      timeout: 600_000,
    });
  });

  test('copilot: a file of its own, events named in the line', async () => {
    const { init, read } = await place();
    await init('copilot', '--yes', '--user');
    const settings = JSON.parse(await read('home/.copilot/hooks/stopgate.json'));
    expect(settings.version).toBe(1);
    expect(settings.hooks.agentStop[0]).toMatchObject({
      bash: expect.stringContaining('copilot --event agentStop --timeout 595s'),
      timeoutSec: 600,
    });
    await init('copilot', '--remove', '--yes', '--user');
    await isGone(read('home/.copilot/hooks/stopgate.json'));
  });

  test('cursor, and the form curl', async () => {
    const { init, read } = await place();
    await init('cursor', '--yes', '--form', 'curl');
    expect(JSON.parse(await read('.cursor/hooks.json')).hooks.stop[0].command).toMatch(
      /^curl -sf --noproxy '\*' -m 595 .* 'http:\/\/127\.0\.0\.1:4280\/hooks\/cursor\?event=stop' 2>\/dev\/null \|\| printf .* \|\| exit 0$/,
    );
  });

  test('the form perl, with a token, which is in no line', async () => {
    const { init, read } = await place({ env: { STOPGATE_TOKEN: 'secret' } });
    await init('gemini', '--yes', '--form', 'perl');
    const text = await read('.gemini/settings.json');
    expect(JSON.parse(text).hooks.AfterAgent[0].hooks[0].command).toMatch(
      /^LC_ALL=C perl \S+\/hook-command\/post\.pl 595 'http:\/\/127\.0\.0\.1:4280\/hooks\/gemini\?event=AfterAgent' STOPGATE_TOKEN 2>\/dev\/null \|\| printf .* \|\| exit 0$/,
    );
    expect(text).not.toContain('secret');
  });

  test.each([
    [['sh', 'perl', 'curl'], ['--user'], 'perl', 'http+perl'],
    [['sh', 'perl', 'curl'], ['--user', '--token-env', 'T'], 'perl', 'http+perl'],
    [['sh', 'perl', 'curl'], ['--user', '--http', 'https://127.0.0.1:4280'], 'curl', 'http+curl'],
    [['sh', 'curl'], ['--user'], 'curl', 'http+curl'],
    [['sh', 'perl', 'curl'], [], 'curl', 'http+curl'],
    [['sh', 'perl', 'curl'], ['--token-env', 'T'], 'command', 'http'],
    [['sh', 'perl'], [], 'command', 'http'],
    [['sh', 'curl'], [], 'curl', 'http+curl'],
    [['sh', 'curl'], ['--token-env', 'T'], 'command', 'http'],
    [['perl', 'curl'], [], 'command', 'http'],
    [[], [], 'command', 'http'],
  ])('with %s and %s the form is %s, or %s where the agent posts', async (programs, more, command, posts) => {
    const { cwd, put } = await place();
    for (const name of programs) await chmod(await put(`bin/${name}`, ''), 0o755);
    const env = { PATH: join(cwd, 'bin'), HOME: join(cwd, 'home') };
    const formOf = async (agent: string) =>
      JSON.parse((await runOnce(['init', agent, '--yes', '--json', ...more], { cwd, env })).stdout).form;
    expect([await formOf('gemini'), await formOf('claude'), await formOf('opencode')]).toEqual([
      command,
      posts,
      'http',
    ]);
  });

  test.each([
    ['claude', '.claude/settings.json', 'Stop', true],
    ['gemini', '.gemini/settings.json', 'AfterAgent', true],
    ['qwen', '.qwen/settings.json', 'Stop', true],
    ['codex', 'home/.codex/hooks.json', 'Stop', true],
    ['copilot', '.github/hooks/stopgate.json', 'agentStop', false],
    ['cursor', '.cursor/hooks.json', 'stop', false],
  ])('%s: a line of sh, with Perl or curl, reports that nothing was judged', async (agent, file, event, isShown) => {
    const { cwd, read } = await place();
    const env = { PATH: '/usr/local/bin:/usr/bin:/bin', HOME: join(cwd, 'home') };
    const init = (...more: string[]) =>
      runOnce(['init', agent, '--yes', '--http', '127.0.0.1:9', ...more], { cwd, env });
    type Handler = { command?: string; bash?: string; hooks?: Handler[] };
    const ran = async () => {
      const [entry] = (JSON.parse(await read(file)) as { hooks: Record<string, Handler[]> }).hooks[event] ?? [];
      const { command, bash = command ?? '' } = entry?.hooks?.[0] ?? entry ?? {};
      const running = promisify(execFile)('/bin/sh', ['-c', bash], { env });
      running.child.stdin?.end('{}');
      return running;
    };
    const says = (program: string) => {
      const note = `stopgate: this stop was not judged: no answer from http://127.0.0.1:9 (${program} ended with 7). It is allowed.`;
      return isShown
        ? { stdout: JSON.stringify({ systemMessage: note }), stderr: '' }
        : { stdout: '', stderr: `${note}\n` };
    };
    await init('--form', isPosting(agent) ? 'http+perl' : 'perl');
    expect(await ran()).toEqual(says('perl'));
    await init('--form', isPosting(agent) ? 'http+curl' : 'curl');
    expect(await ran()).toEqual(says('curl'));
    expect(await read(file)).not.toContain('perl ');
  });

  test('claude: its stops by sh and curl, all else by HTTP; no path of this machine is in the settings that a project shares', async () => {
    const { cwd, read } = await place();
    const env = { PATH: '/usr/local/bin:/usr/bin:/bin', HOME: join(cwd, 'home') };
    const { stdout } = await runOnce(['init', 'claude', '--yes', '--json'], { cwd, env });
    expect(JSON.parse(stdout)).toMatchObject({ form: 'http+curl' });
    const text = await read('.claude/settings.json');
    expect(text).not.toContain('hook-command/');
    const { hooks } = JSON.parse(text) as Settings;
    const types = Object.entries(hooks).map(([event, [entry]]) => [event, entry?.hooks[0]?.type] as const);
    const commands = types.filter(([, type]) => type === 'command').map(([event]) => event);
    expect(commands.sort()).toEqual(['Stop', 'SubagentStop', 'TaskCompleted']);
    expect(types).toContainEqual(['PostToolUse', 'http']);
    expect(types.map(([event]) => event)).not.toContain('SessionStart');
  });

  test('codex: without its program it is said that it has yet to trust the hooks', async () => {
    const { init, read, put } = await place();
    await put('home/.codex/config.toml', 'model = "x"\n');
    const { code, stderr } = await init('codex', '--yes');
    expect(code).toBe(0);
    expect(stderr).toContain('does not trust these hooks yet');
    expect(JSON.parse(await read('home/.codex/hooks.json')).hooks.Stop).toHaveLength(1);
    expect(await read('home/.codex/config.toml')).toBe('model = "x"\n');
  });

  test('--fleet is in each call and each question: by HTTP, by command and in the plugin', async () => {
    const { init, read } = await place();
    const linesOf = async () =>
      (await read('.claude/settings.json')).split('\n').filter((line) => /http:|hook-command/.test(line));
    await init('claude', '--yes', '--fleet', 'web', '--policy', 'strict');
    for (const line of await linesOf()) expect(line).toContain('/hooks/claude?policy=strict&fleet=web');
    await init('claude', '--yes', '--fleet', 'web', '--form', 'command', '--wake');
    const commands = await linesOf();
    expect(commands.some((line) => line.includes('--wake'))).toBe(true);
    for (const line of commands) expect(line).toContain('--fleet web');
    await init('opencode', '--yes', '--fleet', 'web');
    const plugin = await read('.opencode/plugin/stopgate.js');
    expect(plugin).toMatch(/\?event=\$\{event\}&fleet=web/);
    expect(plugin).toMatch(/\?worker=\$\{encodeURIComponent\(id\)\}&fleet=web/);
    expect(await init('claude', '--yes', '--fleet', 'a b')).toMatchObject({ code: 2 });
  });

  test('opencode: our plugin with the address in it, and nothing that is not ours', async () => {
    const { cwd, put, read } = await place();
    const run = (...args: string[]) => runCommand(['init', 'opencode', '--yes', ...args], { cwd });
    expect((await run('--http', '127.0.0.1:4777', '--policy', 'strict')).code).toBe(0);
    const text = await read('.opencode/plugin/stopgate.js');
    expect(text).toContain('defaultUrl = "http://127.0.0.1:4777"');
    expect(text).toMatch(/\?event=\$\{event\}&policy=strict/);
    expect((await run('--http', '127.0.0.1:4777', '--policy', 'strict')).stderr).toContain('already there');
    await run('--token-env', 'OTHER_TOKEN');
    expect(await read('.opencode/plugin/stopgate.js')).toContain('tokenVariable = "OTHER_TOKEN"');
    await run('--remove');
    await isGone(read('.opencode/plugin/stopgate.js'));
    await put('.opencode/plugin/stopgate.js', 'mine');
    expect(await run('--remove')).toMatchObject({ code: 2, stderr: expect.stringContaining('is not ours') });
  });

  // A stand-in that answers what `codex app-server` answers; the real one is asked by `npm run test:agents`.
  const appServer = `#!/usr/bin/env node
const { readFileSync } = require('node:fs');
const file = process.env.CODEX_HOME + '/hooks.json';
require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method } = JSON.parse(line);
  if (method !== 'hooks/list') return;
  const events = Object.entries(JSON.parse(readFileSync(file, 'utf8')).hooks);
  const hooks = events.map(([event, [{ hooks: [{ command }] }]]) => ({ key: file + ':' + event + ':0:0', command, sourcePath: file, currentHash: 'sha256:' + command.length, trustStatus: 'untrusted' }));
  console.log(JSON.stringify({ id, result: { data: [{ cwd: '/', hooks }] } }));
});`;

  test.each(['model = "x"\n', 'model = "x"', '[a]\nb = 1 # c\n\n'])(
    'codex: its hooks are trusted by what it says of them, and --remove gives %j back',
    async (config) => {
      const { put, cwd, read } = await place();
      await chmod(await put('bin/codex', appServer), 0o755);
      await put('codex/config.toml', config);
      const env = {
        PATH: `${join(cwd, 'bin')}:${dirname(process.execPath)}`,
        HOME: cwd,
        CODEX_HOME: join(cwd, 'codex'),
      };
      const init = (...argv: string[]) => runOnce(['init', 'codex', '--yes', ...argv], { cwd, env });
      expect((await init()).stderr).toContain('trusted in');
      const text = await read('codex/config.toml');
      expect(text.startsWith(config)).toBe(true);
      expect(text).toMatch(/\[hooks\.state\."[^"]+hooks\.json:Stop:0:0"\]\ntrusted_hash = "sha256:\d+"\n/);
      expect((await init()).stderr).toContain('already there');
      expect(await read('codex/config.toml')).toBe(text);
      await init('--policy', 'strict');
      expect((await read('codex/config.toml')).split('trusted_hash')).toHaveLength(text.split('trusted_hash').length);
      expect(await read('codex/config.toml')).not.toBe(text);
      await init('--remove');
      expect(await read('codex/config.toml')).toBe(config);
    },
  );

  test('codex: a config.toml that cannot be read is refused with its place', async () => {
    const { init, put, read } = await place();
    await init('codex', '--yes');
    await put('home/.codex/config.toml', 'model = "x"\n[a\n');
    const { code, stderr } = await init('codex', '--remove', '--yes');
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining('config.toml:2:') });
    expect(await read('home/.codex/hooks.json')).toContain('"Stop"');
  });

  test('shell: only the line', async () => {
    const { init } = await place();
    const { stdout } = await init('shell', '--worker', 'w7');
    expect(stdout).toMatch(/main\.js shell --worker w7 --http 127\.0\.0\.1:4280\n$/);
  });
});

test('without an agent it says which are here', async () => {
  const { init, put, cwd } = await place({ env: { PATH: '' } });
  await chmod(await put('bin/codex', '#!/bin/sh\n'), 0o755);
  const { code, stdout } = await runOnce(['init'], { cwd, env: { PATH: join(cwd, 'bin'), HOME: cwd } });
  expect(code).toBe(2);
  expect(stdout).toMatch(/codex +Codex +\/.*\/bin\/codex/);
  expect((await init()).stdout).toMatch(/claude +Claude Code +-/);
});
