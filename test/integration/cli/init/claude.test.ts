/** `stopgate init claude` writes hooks, and variables and further hooks on request. */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { describe, expect, test } from 'vitest';
import { openTerminal } from '../../../support/terminal.ts';
import { isGone, place, type Settings } from './place.ts';

describe('claude', () => {
  const file = '.claude/settings.json';

  test('gets an HTTP hook for each event, and the longest timeout that Claude Code allows for a stop', async () => {
    const { init, read } = await place();
    const { code, stdout } = await init('claude', '--yes', '--diff', '--http', '127.0.0.1:4444', '--policy', 'strict');
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

  test('without --diff a line says what it changes', async () => {
    const { init, cwd } = await place();
    const { stdout, stderr } = await init('claude', '--yes', '--form', 'http+curl');
    expect(stdout).toMatch(/^\S+\.claude\/settings\.json \(new\): \d+ lines added; calls http:\/\/127\.0\.0\.1:9\n$/);
    expect(stdout).toContain(cwd);
    expect(stderr).toContain('--diff shows every line of it');
  });

  test.each([true, false])('a terminal shows its long command once: %s', async (isTTY) => {
    const { init } = await place({ isTTY });
    const { stdout } = await init('claude', '--dry-run', '--form', 'http+curl');
    expect(stdout.match(/idempotency-key/g)).toHaveLength(isTTY ? 1 : 3);
    expect(stdout.match(/the same command as above/g) ?? []).toHaveLength(isTTY ? 2 : 0);
    expect(stdout).toMatch(/"Stop": \[\{/);
  });

  test('uses a command hook if unjudged stops must be blocked', async () => {
    const { init, read } = await place();
    await init('claude', '--yes', '--on-unreachable', 'block', '--autostart');
    const { hooks } = JSON.parse(await read(file)) as Settings;
    expect(hooks.SessionStart).toHaveLength(1);
    expect(hooks.Stop?.[0]?.hooks[0]).toMatchObject({
      type: 'command',
      command: expect.stringMatching(
        /hook-command\/main\.js claude --http 127\.0\.0\.1:9 --on-unreachable block --autostart \//,
      ),
      timeout: 600,
    });
  });

  test('with a token: names the variable, never the value', async () => {
    const { init, read } = await place({ env: { STOPGATE_TOKEN: 'hush-hush' } });
    await init('claude', '--yes');
    expect(await read(file)).not.toContain('hush-hush');
    expect(JSON.parse(await read(file)).hooks.Stop[0].hooks[0]).toMatchObject({
      headers: { Authorization: 'Bearer $STOPGATE_TOKEN' },
      allowedEnvVars: ['STOPGATE_TOKEN'],
    });
  });

  test('a second run changes nothing, and one with other options replaces only our lines', async () => {
    const { init, read, put } = await place();
    await put(file, '{ "hooks": { "Stop": [{ "hooks": [{ "type": "command", "command": "mine" }] }] } }');
    await init('claude', '--yes');
    const first = await read(file);
    expect(await init('claude')).toMatchObject({
      code: 0,
      stdout: '',
      stderr: expect.stringContaining('already up to date'),
    });
    expect(await read(file)).toBe(first);
    await init('claude', '--yes', '--http', '127.0.0.1:5555');
    const text = await read(file);
    expect(text).not.toContain('127.0.0.1:9');
    expect(text).toContain('"command": "mine"');
    expect(text.split('5555')).toHaveLength(first.split('127.0.0.1:9').length);
  });

  test('settings that the agent has reformatted are still recognised as ours', async () => {
    const { init, read, put } = await place();
    await put(file, '{\n  "model": "x"\n}\n');
    await init('claude', '--yes');
    await put(file, `${JSON.stringify(JSON.parse(await read(file)), null, 2)}\n`);
    expect((await init('claude')).stderr).toContain('already up to date');
    await init('claude', '--remove', '--yes');
    expect(await read(file)).toBe('{\n  "model": "x"\n}\n');
  });
});

describe('plan tools of Claude Code, which newer models have only with a variable', () => {
  const file = '.claude/settings.json';
  const variable = 'CLAUDE_CODE_ENABLE_TODO_TOOLS';
  const planPolicy = 'policies: { default: { checks: [{ any: [{ plan: {} }, { rules: [done] }] }] } }\n';

  test('are enabled if a policy has a plan check, until --remove', async () => {
    const { init, read, put } = await place();
    await put('stopgate.yaml', planPolicy);
    const text = '{\n  "env": { "A": "1" }\n}\n';
    await put(file, text);
    const { code, stdout, stderr } = await init('claude', '--yes', '--diff', '--block-cap', '20');
    expect({ code, stderr }).toEqual({
      code: 0,
      stderr: expect.stringMatching(
        /this change turns on the plan tools .* off \(the default model\); without them the plan check of policy default passes/,
      ),
    });
    expect(stdout).toMatch(new RegExp(`^\\+ .*"${variable}": "1"`, 'm'));
    expect(JSON.parse(await read(file)).env).toMatchObject({ A: '1', [variable]: '1' });
    expect((await init('claude', '--block-cap', '20')).stderr).toContain('already up to date');
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
  ])('are not changed if %s', async (_why, policies, text) => {
    const { init, read, put } = await place();
    await put('stopgate.yaml', policies);
    await put(file, text);
    expect((await init('claude', '--yes')).code).toBe(0);
    const { hooks, ...others } = JSON.parse(await read(file));
    expect([Object.keys(hooks).length > 0, others]).toEqual([true, JSON.parse(text)]);
    await init('claude', '--remove', '--yes');
    expect(await read(file)).toBe(text);
  });

  test('the person confirms them separately from the hooks', async () => {
    for (const answer of ['n', 'y']) {
      const stdin = Object.assign(new PassThrough(), { isTTY: true });
      const env = { PATH: '/nowhere', HOME: '/nowhere', STOPGATE_HTTP: '127.0.0.1:9' };
      const terminal = await openTerminal({ isTTY: true, stdin, env });
      await writeFile(join(terminal.cwd, 'stopgate.yaml'), planPolicy);
      const ended = terminal.run('init', 'claude');
      await expect.poll(terminal.stderr).toContain(`Turn them on by setting ${variable}=1 in its settings? [y/N]`);
      stdin.write(`${answer}\n`);
      await expect.poll(terminal.stderr).toContain('Make this change?');
      stdin.write('y\n');
      expect(await ended).toBe(0);
      const text = await readFile(join(terminal.cwd, file), 'utf8');
      expect([text.includes('/hooks/claude'), text.includes(variable)]).toEqual([true, answer === 'y']);
    }
  });
});

test('--wake adds a background hook to the stop, until a run without it', async () => {
  const file = '.claude/settings.json';
  const { init, read } = await place();
  const stops = async () => (JSON.parse(await read(file)) as Settings).hooks.Stop?.flatMap(({ hooks }) => hooks);
  const waker = {
    type: 'command',
    timeout: 86_400,
    async: true,
    asyncRewake: true,
    command: expect.stringMatching(/^exec .*hook-command\/main\.js claude --wake --http 127\.0\.0\.1:9$/),
  };
  await init('claude', '--yes', '--wake', '--policy', 'strict');
  expect(await stops()).toEqual([expect.objectContaining({ type: 'http' }), waker]);
  expect((await init('claude', '--yes', '--wake', '--policy', 'strict')).stderr).toContain('already up to date');
  await init('claude', '--yes', '--wake', '--form', 'command');
  expect(await stops()).toEqual([expect.objectContaining({ type: 'command', timeout: 600 }), waker]);
  await init('claude', '--yes');
  expect(await stops()).toHaveLength(1);
  await init('claude', '--yes', '--wake');
  await init('claude', '--remove', '--yes');
  await isGone(read(file));
});
