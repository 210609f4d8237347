/** The findings of `stopgate doctor` about the hooks of agents. */
import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { shellWord } from '../../../src/agents/shared/text.ts';
import { holding, makeDoctorFolders } from '../../integration/agents/doctor-place.ts';
import { codexAppServer } from '../../support/codex-app-server.ts';
import { type Deployment, deploy } from '../../support/deployment.ts';

describe('the hooks in settings and plugins', () => {
  let at: Deployment;
  beforeAll(async () => {
    at = await deploy();
  });
  afterAll(() => at.close());
  const http = () => at.http.replace('http://', '');

  test('hooks that point elsewhere, exist twice, or are disabled', async () => {
    const { folder, run, doctor } = await makeDoctorFolders({
      'project/.claude/settings.local.json': '{ "disableAllHooks": true }',
    });
    // init refuses a second scope, so the first is put aside while it writes there.
    await run(['init', 'claude', '--yes', '--http', '127.0.0.1:4999']);
    const project = await readFile(join(folder.path, 'project/.claude/settings.json'), 'utf8');
    await rm(join(folder.path, 'project/.claude/settings.json'));
    await run(['init', 'claude', '--yes', '--user', '--http', http()]);
    await folder.write('project/.claude/settings.json', project);
    const { code, bad, warn } = await doctor(['claude', '--quick', '--http', http()]);
    expect(code).toBe(1);
    expect(bad).toEqual([
      expect.stringContaining('"disableAllHooks": true'),
      expect.stringMatching(/project\/\.claude\/settings\.json: the \w+ hook does not call/),
    ]);
    expect(warn).toEqual(holding('project and user settings, so each event is reported 2 times'));
  });

  test.each(['claude', 'gemini', 'opencode'])('the fix names the settings of the finding: %s', async (agent) => {
    const { run, doctor } = await makeDoctorFolders();
    await run(['init', agent, '--yes', '--user', '--http', '127.0.0.1:4999']);
    const { findings } = await doctor([agent, '--quick', '--http', http()]);
    const fix = findings.find(({ text }) => text.includes('not call'))?.fix;
    // As typed without an installation.
    expect(fix).toBe(`npx stopgate init ${agent} --user --http ${http()}`);
    await run([...(fix ?? '').split(' ').slice(2), '--yes']);
    const { bad, warn } = await doctor([agent, '--quick', '--http', http()]);
    expect([...bad, ...warn].filter((text) => /not call|reported (?:2 times|twice)/.test(text))).toEqual([]);
  });

  test('a handwritten hook finds its service without an address', async () => {
    const hooks = { Stop: [{ hooks: [{ type: 'command', command: 'npx stopgate hook claude' }] }] };
    const { doctor } = await makeDoctorFolders({ 'project/.claude/settings.json': JSON.stringify({ hooks }) });
    const { bad, ok } = await doctor(['claude', '--quick', '--http', http()]);
    expect(bad).toEqual([]);
    expect(ok).toEqual(holding('has our hooks'));
  });

  test('Claude Code’s plugin, and the plugin together with hooks in settings', async () => {
    const { run, doctor, folder } = await makeDoctorFolders();
    const installed = join(folder.path, 'home/.claude/plugins/cache/stopgate');
    const hooks = await readFile(new URL('../../../plugins/claude/hooks/hooks.json', import.meta.url), 'utf8');
    await folder.write(
      'home/.claude/plugins/cache/stopgate/hooks/hooks.json',
      hooks.replaceAll('127.0.0.1:4280', http()),
    );
    const list = { version: 2, plugins: { 'stopgate@stopgate': [{ scope: 'user', installPath: installed }] } };
    await folder.write('home/.claude/plugins/installed_plugins.json', JSON.stringify(list));
    const switched = (on: boolean) => JSON.stringify({ enabledPlugins: { 'stopgate@stopgate': on } });
    await folder.write('home/.claude/settings.json', switched(true));
    const { ok, bad } = await doctor(['claude', '--quick', '--http', http()]);
    expect(ok).toEqual(holding('stopgate/hooks/hooks.json has our hooks'));
    expect(bad).toEqual([]);
    await folder.write('project/.claude/settings.json', switched(false));
    expect((await doctor(['claude', '--quick', '--http', http()])).bad).toEqual(holding('no stopgate hooks'));
    await folder.write('project/.claude/settings.json', switched(true));
    await run(['init', 'claude', '--yes', '--http', http()]);
    expect((await doctor(['claude', '--quick', '--http', http()])).warn).toEqual(
      holding('project and plugin settings, so each event is reported 2 times'),
    );
  });

  test('OpenCode’s plugin', async () => {
    const { doctor } = await makeDoctorFolders({
      'project/.opencode/plugin/stopgate.js': `const defaultUrl = ${JSON.stringify(at.http)};\n`,
    });
    expect((await doctor(['opencode', '--quick', '--http', http()])).ok).toEqual(
      holding('plugin/stopgate.js is installed and calls'),
    );
    expect((await doctor(['opencode', '--quick', '--http', '127.0.0.1:4999'])).bad).toEqual(holding('does not call'));
    const { doctor: elsewhere } = await makeDoctorFolders();
    expect((await elsewhere(['opencode', '--http', http()])).bad).toEqual(holding('no stopgate plugin'));
  });

  test('invalid settings, with file, line and column', async () => {
    const { doctor } = await makeDoctorFolders({ 'project/.claude/settings.json': '{\n  "hooks": [\n}' });
    expect((await doctor(['claude', '--quick', '--http', http()])).bad).toEqual(holding('.claude/settings.json:3:1: '));
    const { doctor: strange } = await makeDoctorFolders({
      'project/.claude/settings.json/x': '',
      'project/.gemini': '',
      'project/.opencode': '',
    });
    expect((await strange(['opencode', '--http', http()])).bad).toEqual(holding('does not call'));
    for (const agent of ['claude', 'gemini'])
      expect((await strange([agent, '--http', http()])).bad).toEqual(holding('settings.json cannot be read'));
  });
});

test('a Codex hook that was changed after it was trusted', async () => {
  const { run, doctor, folder, program } = await makeDoctorFolders();
  await program('codex', codexAppServer);
  const trusted = async () =>
    (await doctor(['codex', '--quick', '--http', '127.0.0.1:59999'])).findings
      .map(({ text }) => text)
      .filter((text) => text.includes('trusted'));
  await run(['init', 'codex', '--yes', '--http', '127.0.0.1:59999']);
  expect(await trusted()).toEqual([expect.stringMatching(/^its hooks are trusted/)]);
  const file = 'home/.codex/hooks.json';
  const text = await readFile(join(folder.path, file), 'utf8');
  await folder.write(file, text.replace('hooks/codex?', 'hooks/codex?policy=strict&'));
  expect(await trusted()).toEqual([expect.stringMatching(/^8 of 9 hooks are trusted/)]);
});

test('a script with a space in its path exists, or does not', async () => {
  const { run, doctor, folder } = await makeDoctorFolders();
  const init = ['init', 'gemini', '--yes', '--form', 'command', '--http', '127.0.0.1:59999'];
  await run(init);
  const file = 'project/.gemini/settings.json';
  const text = await readFile(join(folder.path, file), 'utf8');
  const script = await folder.write("it's a home/hook-command/main.js", '');
  const missing = async () => {
    const quoted = JSON.stringify(shellWord(script)).slice(1, -1);
    await folder.write(
      file,
      text.replaceAll(/\/[^\s"]*\/hook-command\/main\.js/g, () => quoted),
    );
    const { bad } = await doctor(['gemini', '--quick', '--http', '127.0.0.1:59999']);
    return bad.filter((it) => it.includes('does not exist'));
  };
  expect(await missing()).toEqual([]);
  await rm(script);
  expect(await missing()).toEqual([expect.stringContaining(`runs ${script}, which`)]);
});

test('a required token that the hook does not send', async () => {
  const at = await deploy({ args: ['--token', 'hush'] });
  onTestFinished(() => at.close());
  const { run, doctor } = await makeDoctorFolders();
  const http = at.http.replace('http://', '');
  await run(['init', 'claude', '--yes', '--http', http]);
  const { bad } = await doctor(['claude', '--quick', '--http', http]);
  expect(bad).toEqual([expect.stringContaining('requires a token'), expect.stringContaining('sends none')]);
  const env = { STOPGATE_TOKEN: 'hush' };
  await run(['init', 'claude', '--yes', '--http', http], env);
  const initGemini = (...more: string[]) => run(['init', 'gemini', '--yes', '--http', http, ...more]);
  const unsent = async () => {
    const { bad } = await doctor(['gemini', '--quick', '--http', http], env);
    return bad.filter((text) => text.includes('sends none')).length;
  };
  await initGemini('--form', 'curl');
  expect(await unsent()).toBe(1);
  await initGemini('--form', 'command', '--token-env', 'STOPGATE_TOKEN');
  expect(await unsent()).toBe(0);
  expect(await doctor(['claude', '--quick', '--http', http], env)).toMatchObject({ code: 0, bad: [] });
});
