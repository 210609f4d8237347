/** `stopgate init` writes the settings of each agent, in the form that works on this machine. */
import { execFile } from 'node:child_process';
import { chmod } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { runOnce } from '../../../support/terminal.ts';
import { isGone, isPosting, place, type Settings } from './place.ts';

describe('writes for each agent', () => {
  test('gemini: a timeout in milliseconds, and a line that always ends in an allow', async () => {
    const { init, read } = await place();
    await init('gemini', '--yes');
    expect(JSON.parse(await read('.gemini/settings.json')).hooks.AfterAgent[0].hooks[0]).toMatchObject({
      command: expect.stringMatching(/ gemini --http \S+ \|\| exit 0$/),
      timeout: 600_000,
    });
  });

  test('copilot: a separate file; each line names its event', async () => {
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

  test('cursor: hooks, also in the form curl', async () => {
    const { init, read } = await place();
    await init('cursor', '--yes', '--form', 'curl');
    const { hooks } = JSON.parse(await read('.cursor/hooks.json'));
    // A stop is posted again if the answer is lost.
    expect(hooks.stop[0].command).toMatch(
      /^call=.* curl -sf --noproxy '\*' -m 595 .* 'http:\/\/127\.0\.0\.1:9\/hooks\/cursor\?event=stop'; .* \|\| printf .* \|\| exit 0$/,
    );
    expect(hooks.postToolUse[0].command).toMatch(
      /^curl -sf --noproxy '\*' -m 5 .* 'http:\/\/127\.0\.0\.1:9\/hooks\/cursor\?event=postToolUse' 2>\/dev\/null \|\| printf .* \|\| exit 0$/,
    );
  });

  test('a warning about lines with paths of this machine in a project, with a hint', async () => {
    const { init } = await place();
    const notice = expect.stringContaining('its lines have paths of this machine');
    expect((await init('gemini', '--yes', '--form', 'command')).stderr).toMatch(
      /paths .* use --form curl, or --user$/m,
    );
    expect((await init('gemini', '--yes', '--form', 'curl')).stderr).not.toEqual(notice);
    expect((await init('gemini', '--yes', '--form', 'command', '--user')).stderr).not.toEqual(notice);
  });

  test.each([['--token-env', 'T'], ['--on-unreachable', 'block'], ['--autostart']])(
    'no advice to use curl if %s rules it out',
    async (...options) => {
      const { init } = await place();
      expect((await init('gemini', '--yes', '--form', 'command', ...options)).stderr).toMatch(/paths .* use --user$/m);
    },
  );

  test('no token in any line', async () => {
    const { init, read } = await place({ env: { STOPGATE_TOKEN: 'secret' } });
    expect((await init('gemini', '--yes', '--json')).stdout).toContain('"form":"command"');
    expect(await read('.gemini/settings.json')).not.toContain('secret');
  });

  test.each([
    [['sh', 'curl'], [], 'curl', 'http+curl'],
    [['sh', 'curl'], ['--user'], 'curl', 'http+curl'],
    [['sh', 'curl'], ['--http', 'https://127.0.0.1:4280'], 'curl', 'http+curl'],
    [['sh', 'curl'], ['--token-env', 'T'], 'command', 'http'],
    [['sh'], [], 'command', 'http'],
    [['curl'], [], 'command', 'http'],
    [[], [], 'command', 'http'],
  ])('with %s and %s the form is %s, or %s if the agent posts', async (programs, more, command, posts) => {
    const { cwd, put } = await place();
    for (const name of programs) await chmod(await put(`bin/${name}`, ''), 0o755);
    const env = { PATH: join(cwd, 'bin'), HOME: join(cwd, 'home') };
    const formOf = async (agent: string) =>
      JSON.parse((await runOnce(['init', agent, '--yes', '--json', ...more], { cwd, env })).stdout).form;
    expect([await formOf('gemini'), await formOf('claude')]).toEqual([command, posts]);
  });

  test.each([
    ['claude', '.claude/settings.json', 'Stop', true],
    ['gemini', '.gemini/settings.json', 'AfterAgent', true],
    ['qwen', '.qwen/settings.json', 'Stop', true],
    ['codex', 'home/.codex/hooks.json', 'Stop', true],
    ['copilot', '.github/hooks/stopgate.json', 'agentStop', false],
    ['cursor', '.cursor/hooks.json', 'stop', false],
  ])('%s: a line of sh with curl that reports an unjudged stop', async (agent, file, event, isShown) => {
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
    const note =
      'stopgate: this stop was not judged: no answer from http://127.0.0.1:9 (curl ended with 7). It is allowed.';
    const says = isShown
      ? { stdout: JSON.stringify({ systemMessage: note }), stderr: '' }
      : { stdout: '', stderr: `${note}\n` };
    for (const form of isPosting(agent) ? ['http+curl', 'curl'] : ['curl']) {
      await init('--form', form);
      expect(await ran()).toEqual(says);
    }
  });

  test('claude: stops by sh and curl, other events by HTTP; shared project settings contain no path of this machine', async () => {
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

  test('--fleet is part of each call, by HTTP and by command', async () => {
    const { init, read } = await place();
    const linesOf = async () =>
      (await read('.claude/settings.json')).split('\n').filter((line) => /http:|hook-command/.test(line));
    await init('claude', '--yes', '--fleet', 'web', '--policy', 'strict');
    for (const line of await linesOf()) expect(line).toContain('/hooks/claude?policy=strict&fleet=web');
    await init('claude', '--yes', '--fleet', 'web', '--form', 'command', '--wake');
    const commands = await linesOf();
    expect(commands.some((line) => line.includes('--wake'))).toBe(true);
    for (const line of commands) expect(line).toContain('--fleet web');
    expect(await init('claude', '--yes', '--fleet', 'a b')).toMatchObject({ code: 2 });
  });

  test('shell: prints only the line', async () => {
    const { init } = await place();
    const { stdout, stderr } = await init('shell', '--worker', 'w7');
    expect(stdout).toMatch(/main\.js shell --worker w7 --http 127\.0\.0\.1:9\n$/);
    expect(stderr).toMatch(/^run this command wherever .* is about to stop; exit code 0: it may stop; .*\n$/);
    expect((await init('shell')).stderr).toContain('w1 is an example');
    expect((await init('shell', '--form', 'curl')).stderr).toContain('unless the reply has "decision":"block"');
  });
});

test('without an agent, it lists those of this machine', async () => {
  const { init, put, cwd } = await place({ env: { PATH: '' } });
  await chmod(await put('bin/codex', '#!/bin/sh\n'), 0o755);
  const { code, stdout } = await runOnce(['init'], { cwd, env: { PATH: join(cwd, 'bin'), HOME: cwd } });
  expect(code).toBe(2);
  expect(stdout).toMatch(/codex +Codex +\/.*\/bin\/codex/);
  expect((await init()).stdout).toMatch(/claude +Claude Code +-[\s\S]*shell +a script +nothing to install/);
});
