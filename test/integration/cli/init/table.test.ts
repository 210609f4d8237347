/** init for the agents of the table: each in the form of its own settings, and --remove gives the very bytes back. */
import { execFile } from 'node:child_process';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { runOnce } from '../../../support/terminal.ts';
import { isGone, place } from './place.ts';

/** By agent: the file in the home folder, the option for the project, and settings that others may have there. */
const files = {
  agy: {
    user: 'home/.gemini/config/hooks.json',
    project: '.agents/hooks.json',
    theirs: ['{ "mine": { "Stop": [{ "command": "mine" }] } }\n', '{\n\t"mine": {}\n}', '{}'],
  },
  kiro: { user: 'home/.kiro/hooks/stopgate.json', project: '.kiro/hooks/stopgate.json', theirs: [] },
  droid: {
    user: 'home/.factory/hooks.json',
    project: '.factory/hooks.json',
    theirs: [
      '{ "hooksDisabled": false, "Stop": [{ "hooks": [{ "type": "command", "command": "mine" }] }] }\n',
      '{ "Stop": [] }',
      '{\r\n\t"showHookOutput": true\r\n}\r\n',
    ],
  },
  goose: {
    user: 'home/.agents/plugins/stopgate/hooks/hooks.json',
    project: '.agents/plugins/stopgate/hooks/hooks.json',
    theirs: [],
  },
  kimi: {
    user: 'home/.kimi-code/config.toml',
    project: null,
    theirs: [
      'default_model = "k3"\n',
      'default_model = "k3"',
      '# mine\r\n[[hooks]]\r\nevent = "Stop"\r\ncommand = "mine"\r\n\r\n[models.k3]\r\nmodel = "k3"\r\n',
      '[[hooks]]\nevent = "Stop"\ncommand = "mine"\n# the end\n\n',
    ],
  },
} as const;
const agents = Object.entries(files);

describe.each(agents)('%s', (agent, { user, project, theirs }) => {
  test('writes a file that --remove takes away again, for the user and for the project', async () => {
    const { init, read } = await place();
    for (const [option, file] of [
      ['--user', user],
      ['--project', project],
    ] as const) {
      if (file === null) {
        expect(await init(agent, '--yes', option)).toMatchObject({
          code: 2,
          stderr: expect.stringContaining('add --user'),
        });
        continue;
      }
      expect(await init(agent, '--yes', option)).toMatchObject({ code: 0 });
      expect(await read(file)).toContain(` ${agent} `);
      expect((await init(agent, option)).stderr).toContain('already up to date');
      expect(await init(agent, '--remove', '--yes', option)).toMatchObject({ code: 0 });
      await isGone(read(file));
    }
  });

  test.each(theirs.map((text) => ({ text })))('$text stays', async ({ text }) => {
    const { init, read, put } = await place();
    await put(user, text);
    expect(await init(agent, '--yes', '--user')).toMatchObject({ code: 0 });
    const between = await read(user);
    expect(between).toContain(` ${agent} `);
    if (text.includes('mine')) expect(between).toContain('mine');
    expect((await init(agent, '--user')).stderr).toContain('already up to date');
    expect(await init(agent, '--yes', '--user', '--policy', 'strict')).toMatchObject({ code: 0 });
    expect(await read(user)).toContain('--policy strict');
    expect(await init(agent, '--remove', '--yes', '--user')).toMatchObject({ code: 0 });
    expect(await read(user)).toBe(text);
  });
});

describe('the form of each agent', () => {
  const jsonAfter = async (agent: string, file: string) => {
    const { init, read } = await place();
    await init(agent, '--yes', '--user');
    return JSON.parse(await read(file));
  };

  test('agy: handlers by event under a name of ours; the line names the event', async () => {
    const settings = await jsonAfter('agy', files.agy.user);
    expect(Object.keys(settings)).toEqual(['stopgate']);
    expect(Object.keys(settings.stopgate)).toEqual(['SessionStart', 'PreInvocation', 'Stop']);
    expect(settings.stopgate.Stop).toEqual([
      { type: 'command', command: expect.stringMatching(/ agy --event Stop --http /), timeout: 600 },
    ]);
  });

  test('kiro: a list of hooks with their triggers', async () => {
    const { version, hooks } = await jsonAfter('kiro', files.kiro.user);
    expect(version).toBe('v1');
    expect(hooks.at(-1)).toEqual({
      name: 'stopgate-Stop',
      trigger: 'Stop',
      action: { type: 'command', command: expect.stringMatching(/ kiro --http /) },
      timeout: 600,
    });
  });

  test('droid: events at the top level', async () => {
    const settings = await jsonAfter('droid', files.droid.user);
    expect(settings.Stop).toEqual([
      { hooks: [{ type: 'command', command: expect.stringMatching(/ droid --http /), timeout: 600 }] },
    ]);
  });

  test('goose: a plugin with its manifest, which stays if it is the user’s', async () => {
    const manifest = 'home/.agents/plugins/stopgate/plugin.json';
    const { init, read, put } = await place();
    await init('goose', '--yes', '--user');
    expect(JSON.parse(await read(manifest))).toMatchObject({ name: 'stopgate' });
    expect(await read(files.goose.user)).toMatch(/ goose --event Stop --http /);
    await init('goose', '--remove', '--yes', '--user');
    await isGone(read(manifest));
    await put(manifest, '{ "name": "mine" }');
    await init('goose', '--yes', '--user');
    await init('goose', '--remove', '--yes', '--user');
    expect(await read(manifest)).toBe('{ "name": "mine" }');
  });

  test('kimi: tables in TOML, at most 600 s; a list in one line is refused', async () => {
    const { init, read, put } = await place();
    await init('kimi', '--yes');
    expect(await read(files.kimi.user)).toMatch(
      /\[\[hooks\]\]\nevent = "Stop"\ncommand = ".* kimi --http .*"\ntimeout = 600\n/,
    );
    const inline = 'hooks = [{ event = "Stop", command = "mine" }]\n';
    await put(files.kimi.user, inline);
    expect(await init('kimi', '--yes')).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/config\.toml:1:1: "hooks" is not a list of tables/),
    });
    expect(await read(files.kimi.user)).toBe(inline);
  });

  test('cline: a script per event; one of that name that is not ours is kept', async () => {
    const { cwd, init, read, put } = await place();
    await put('.cline/hooks/TaskComplete', 'mine\n');
    expect(await init('cline', '--yes')).toMatchObject({ code: 0 });
    expect(await read('.cline/hooks/TaskComplete.bash')).toMatch(
      /^#!\/bin\/sh\n# Written by "stopgate init cline";.*\n.* cline --event TaskComplete --http .*\n$/,
    );
    expect((await init('cline')).stderr).toContain('already up to date');
    expect(await init('cline', '--remove', '--yes')).toMatchObject({ code: 0 });
    expect(await readdir(join(cwd, '.cline/hooks'))).toEqual(['TaskComplete']);
    await put('.cline/hooks/PreToolUse.bash', 'mine\n');
    expect(await init('cline', '--yes')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('was not written by stopgate'),
    });
    expect(await readdir(join(cwd, '.cline/hooks'))).toEqual(['PreToolUse.bash', 'TaskComplete']);
  });
});

test.each(['agy', 'kiro', 'droid', 'kimi'])(
  '%s: a line of sh with curl allows a stop that nobody judges',
  async (agent) => {
    const { cwd, read } = await place();
    const env = { PATH: '/usr/local/bin:/usr/bin:/bin', HOME: join(cwd, 'home') };
    const { user } = files[agent as 'agy'];
    await runOnce(['init', agent, '--yes', '--user', '--form', 'curl', '--http', '127.0.0.1:9'], { cwd, env });
    const [line = ''] = (await read(user)).match(/"(?:call=(?:[^"\\]|\\.)*)"/) ?? [];
    const running = promisify(execFile)('/bin/sh', ['-c', JSON.parse(line)], { env });
    running.child.stdin?.end('{}');
    const { stdout, stderr } = await running;
    expect(`${stdout}${stderr}`).toContain('this stop was not judged: no answer from http://127.0.0.1:9');
    expect(stdout === '' || Object.keys(JSON.parse(stdout)).join() === 'systemMessage').toBe(true);
  },
);

test('goose has no form of curl, which could not add the folder', async () => {
  const { init } = await place();
  expect(await init('goose', '--yes', '--form', 'curl')).toMatchObject({ code: 2 });
});
