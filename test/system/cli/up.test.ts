/** `stopgate up` and `down` as they are shipped: the whole path, idempotent, interrupted, and undone byte for byte. */
import { execFileSync } from 'node:child_process';
import { chmod, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { isRunning } from '../../integration/runner/workspace.ts';
import { cleanEnv } from '../../support/command.ts';
import { makeFolder } from '../../support/deployment.ts';
import { startShipped } from '../../support/shipped.ts';

/** Does what Claude Code does with its hooks; the real one is run by `npm run test:agents`. */
const standIn = (pause: string) => `#!${process.execPath}
const { readFileSync } = require('node:fs');
const { env, argv } = process;
if (argv.includes('--version')) { console.log('2.1.332 (Claude Code)'); process.exit(0); }
const { hooks } = JSON.parse(readFileSync(env.CLAUDE_CONFIG_DIR + '/settings.json', 'utf8'));
const post = (url, body) => fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) });
const fire = async (event) => {
  const [{ type, command, url }] = hooks[event][0].hooks;
  const call = { session_id: 's', hook_event_name: event };
  if (type === 'http') return (await post(url, call)).status === 200;
  const { execFileSync } = require('node:child_process');
  return JSON.parse(execFileSync('/bin/sh', ['-c', command], { input: JSON.stringify(call) }).toString() || 'null');
};
const turn = (content) => post(env.ANTHROPIC_BASE_URL + '/v1/messages', { model: 'm', tools: [{}], messages: [{ role: 'user', content }] });
(async () => {
  await fire('UserPromptSubmit');
  ${pause}
  await turn('hello');
  const block = await fire('Stop');
  if (block !== null) { await turn('Stop hook feedback: ' + block.reason); await fire('Stop'); }
})();
`;

/** A project whose settings have a form of their own, a home, and Claude Code on PATH. */
async function place({ pause = '' } = {}) {
  const folder = await makeFolder({
    'project/package.json': '{ "scripts": { "test": "node --test" } }',
    'project/.claude/settings.json': '{ "model": "opus" } // mine',
    'bin/claude': standIn(pause),
    'home/.profile': '',
    'tmp/.keep': '',
  });
  await chmod(join(folder.path, 'bin/claude'), 0o755);
  const cwd = join(folder.path, 'project');
  const env = {
    PATH: `${join(folder.path, 'bin')}:${cleanEnv('').PATH}`,
    HOME: join(folder.path, 'home'),
    TMPDIR: join(folder.path, 'tmp'),
  };
  const start = (...args: string[]) => startShipped(args, { cwd, env });
  const run = async (...args: string[]) => {
    const command = start(...args);
    return { code: await command.ended, stdout: command.stdout(), stderr: command.stderr() };
  };
  onTestFinished(async () => {
    await run('down');
    await folder.remove();
  });
  /** Every file and folder but the programs, with contents. */
  const everything = async () => {
    const all = await readdir(folder.path, { recursive: true, withFileTypes: true });
    const lines = await Promise.all(
      all.map(async (each) => {
        const path = join(each.parentPath, each.name);
        return each.isFile() ? `${path} ${await readFile(path, 'utf8')}` : path;
      }),
    );
    return lines.sort();
  };
  return { cwd, env, start, run, everything, folder };
}

test('from nothing to a judged stop, once more, and back byte for byte', async () => {
  const { cwd, run, everything } = await place();
  const before = await everything();
  expect(await run('up')).toMatchObject({ code: 2, stderr: expect.stringContaining('pass --yes') });
  expect(await everything()).toEqual(before);

  const { code, stdout } = await run('up', '--yes', '--json');
  const report = JSON.parse(stdout);
  expect({ code, ...report }).toMatchObject({
    code: 0,
    up: true,
    already: false,
    service: { kind: 'process' },
    agents: ['claude'],
    policy: { template: 'tests', tests: { run: ['npm', 'test'], from: 'package.json' } },
    files: [
      { path: join(cwd, 'stopgate.yaml'), change: 'created' },
      { path: join(cwd, '.claude/settings.json'), change: 'changed' },
    ],
  });
  const texts = report.findings.map(({ text }: { text: string }) => text);
  expect(texts).toContainEqual(expect.stringContaining('the first stop was blocked, and the agent continued'));
  expect(await readFile(join(cwd, '.claude/settings.json'), 'utf8')).toContain(report.http);
  // The service is ready with the rules in force.
  expect((await fetch(`${report.http}/readyz`)).status).toBe(200);
  expect((await run('check')).code).toBe(0);

  const again = JSON.parse((await run('up', '--yes', '--json')).stdout);
  expect(again).toMatchObject({ up: true, already: true, files: [], service: { pid: report.service.pid } });
  // `dev` knows of it.
  expect(await run('dev')).toMatchObject({ code: 2, stderr: expect.stringContaining('stopgate down" if "') });

  const down = JSON.parse((await run('down', '--json')).stdout);
  expect(down).toMatchObject({ stopped: report.service.pid, kept: [] });
  expect(await isRunning(report.service.pid)).toBe(false);
  expect(await everything()).toEqual(before);
  expect(await run('down')).toMatchObject({ code: 0, stderr: expect.stringContaining('nothing to undo') });
});

test('what was reported and what was edited since is kept, and named', async () => {
  const { cwd, run } = await place();
  const { http } = JSON.parse((await run('up', '--yes', '--json')).stdout);
  await fetch(`${http}/hooks/claude`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ session_id: 's1', hook_event_name: 'UserPromptSubmit', prompt: 'hello', cwd }),
  });
  await writeFile(join(cwd, 'stopgate.yaml'), 'policies: {}\n');
  const { code, stdout } = await run('down');
  expect(code).toBe(0);
  expect(stdout).toMatch(/! kept \S+stopgate\.yaml: it was changed since\n! kept \S+\.stopgate: it has the log/);
  expect(await readFile(join(cwd, 'stopgate.yaml'), 'utf8')).toBe('policies: {}\n');
  expect(await readFile(join(cwd, '.claude/settings.json'), 'utf8')).toBe('{ "model": "opus" } // mine');
});

test.each([
  ['while the service starts', 'stopgate up will:', ''],
  ['during the dry turn', 'Claude Code asks:', 'await new Promise(() => setInterval(() => {}, 60_000));'],
])('Ctrl-C %s leaves nothing behind', { timeout: 60_000 }, async (_when, text, pause) => {
  const { start, everything } = await place({ pause });
  const before = await everything();
  const command = start('up', '--yes');
  await command.printed(text);
  if (pause === '') await expect.poll(everything).not.toEqual(before);
  expect(await command.kill('SIGINT')).toBe(130);
  expect(command.stderr()).toContain('interrupted; everything was undone');
  expect(await everything()).toEqual(before);
});

test('a service that does not start leaves nothing behind, and the end of its log says why', async () => {
  const { cwd, run, everything } = await place();
  await writeFile(join(cwd, 'stopgate.yaml'), 'policies: { default: {} }\nfleets: [a, b]\n');
  const before = await everything();
  const { code, stderr } = await run('up', '--yes');
  expect({ code, stderr }).toEqual({
    code: 3,
    stderr: expect.stringMatching(/did not start; the end of its log:[\s\S]*serves only one fleet/),
  });
  expect(await everything()).toEqual(before);
});

test('a `dev` of the folder is used, and left alone', async () => {
  const { cwd, start, run } = await place();
  const dev = start('dev', '--port', '0', '--http', '127.0.0.1:0');
  await dev.printed('"ready":true');
  const { http } = JSON.parse(dev.stdout());
  const report = JSON.parse((await run('up', '--yes', '--json')).stdout);
  expect(report).toMatchObject({ up: true, http, service: { kind: null, pid: dev.pid } });
  expect((await run('down')).stdout).toContain(`a service still runs here (process ${dev.pid})`);
  expect(await isRunning(dev.pid)).toBe(true);
  expect(await readdir(cwd)).not.toContain('stopgate.yaml');
  expect(await dev.kill('SIGTERM')).toBe(0);
});

test('where systemd works, it runs the service, with the variables of this shell', async () => {
  const { cwd, env, run, folder } = await place();
  const unitFolder = join(env.HOME, '.config/systemd/user');
  // Stands for systemd: `enable --now` runs ExecStart in an almost empty environment.
  await folder.write(
    'bin/systemctl',
    `#!/bin/sh
shift
echo "$@" >>'${folder.path}/calls'
case $1 in
enable)
  env -i sh -c "exec $(sed -n 's/^ExecStart=//p' '${unitFolder}'/"$3")" >/dev/null 2>&1 &
  echo $! >'${folder.path}/unit.pid' ;;
disable) kill "$(cat '${folder.path}/unit.pid')" ;;
is-failed) exit 1 ;;
esac
`,
  );
  await chmod(join(folder.path, 'bin/systemctl'), 0o755);
  const report = JSON.parse((await run('up', '--yes', '--json')).stdout);
  expect(report).toMatchObject({ up: true, service: { kind: 'systemd' } });
  const [unit = ''] = await readdir(unitFolder);
  expect(unit).toMatch(/^stopgate-project-[0-9a-f]{8}\.service$/);
  const path = execFileSync('sh', ['-c', `tr '\\0' '\\n' </proc/${report.service.pid}/environ`], { encoding: 'utf8' });
  expect(path).toContain(`PATH=${env.PATH}`);
  const { stopped, kept } = JSON.parse((await run('down', '--json')).stdout);
  expect({ stopped, kept }).toEqual({ stopped: report.service.pid, kept: [] });
  expect(await readFile(join(folder.path, 'calls'), 'utf8')).toContain(`disable --now ${unit}`);
  await expect(readdir(join(env.HOME, '.config'))).rejects.toThrow('ENOENT');
  await expect(readdir(join(env.HOME, '.local'))).rejects.toThrow('ENOENT');
  expect(await readdir(cwd)).not.toContain('.stopgate');
});

test('a program that is missing is named, and nobody is told that its stops are judged', async () => {
  const { run, cwd } = await place();
  await writeFile(join(cwd, 'package.json'), '{ "scripts": { "test": "x" } }');
  await writeFile(join(cwd, 'pnpm-lock.yaml'), '');
  const { code, stdout } = await run('up', '--yes', '--agent', 'gemini');
  expect(code).toBe(1);
  expect(stdout).toContain("command tests: there is no program 'pnpm' on PATH");
  expect(stdout).toContain('gemini is not on PATH');
  expect(stdout).toMatch(/stops of Gemini CLI may not be judged; "npx stopgate doctor gemini" checks again/);
  expect(stdout).not.toContain('Starting with its next session');
  expect((await run('up', '--yes')).stdout).toMatch(/^It is already up\. Gemini CLI is connected/);
});

test('in a folder below, up and down name the service of the folder above', async () => {
  const { run, cwd, env } = await place();
  await run('up', '--yes', '--json');
  const below = join(cwd, 'src');
  await mkdir(below);
  const said = async (...args: string[]) => {
    const command = startShipped(args, { cwd: below, env });
    await command.ended;
    return command.stdout() + command.stderr();
  };
  expect(await said('up', '--dry-run')).toContain(`the service of ${cwd} runs already`);
  expect(await said('down')).toContain(`it was run in ${cwd}`);
});

test('several agents are not guessed', async () => {
  const { run, folder } = await place();
  await mkdir(join(folder.path, 'bin'), { recursive: true });
  await folder.write('bin/codex', '#!/bin/sh\n');
  await chmod(join(folder.path, 'bin/codex'), 0o755);
  const { code, stderr } = await run('up', '--yes');
  expect({ code, stderr }).toEqual({
    code: 2,
    stderr: expect.stringContaining('several agents are installed (claude, codex): name those to connect with --agent'),
  });
});
