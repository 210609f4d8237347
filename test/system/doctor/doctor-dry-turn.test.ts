/**
 * `stopgate doctor AGENT` runs a turn of the agent's program. Here it is a fake; test/system/agents uses the real ones.
 */
import { mkdir, readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { holding, makeDoctorFolders } from '../../integration/agents/doctor-place.ts';
import { isRunning } from '../../integration/runner/workspace.ts';
import { startCommand } from '../../support/command.ts';

describe('a dry turn', () => {
  afterEach(() => vi.unstubAllEnvs());

  // A fake that uses its settings like Claude Code. `npm run test:agents` runs the real one.
  const standIn = (obeys: boolean) => `
const { readFileSync } = require('node:fs');
const { env, argv } = process;
if (argv.includes('--version')) { console.log('2.1.332 (Claude Code)'); process.exit(0); }
const { hooks } = JSON.parse(readFileSync(env.CLAUDE_CONFIG_DIR + '/settings.json', 'utf8'));
const post = (url, body) => fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) });
const fire = async (event) => {
  const answer = await post(hooks[event][0].hooks[0].url, { session_id: 's', hook_event_name: event });
  return answer.status === 200 ? await answer.json() : null;
};
const turn = async (content) => (await post(env.ANTHROPIC_BASE_URL + '/v1/messages', { model: 'm', tools: [{}], messages: [{ role: 'user', content }] })).json();
(async () => {
  if (env.SECRET !== undefined) throw new Error('it got the environment of the user');
  await fire('UserPromptSubmit');
  await turn('hello');
  const block = await fire('Stop');
  if (${obeys} && block !== null) { await turn('Stop hook feedback: ' + block.reason); await fire('Stop'); }
})();`;
  test('sees that the hooks fire and the block works, without access to data of the user', async () => {
    const { doctor, program, folder } = await makeDoctorFolders();
    await program('claude', standIn(true));
    // A separate folder for temporary files, because other doctors may run on this machine.
    const scratch = join(folder.path, 'scratch');
    await mkdir(scratch);
    vi.stubEnv('TMPDIR', scratch);
    const { ok } = await doctor(['claude', '--http', '127.0.0.1:59999'], { SECRET: 'hush', ANTHROPIC_API_KEY: 'real' });
    expect(ok).toEqual(
      expect.arrayContaining([
        'Claude Code 2.1.332',
        'dry turn: UserPromptSubmit, Stop fired; the first stop was blocked, and the agent continued with the reason',
      ]),
    );
    expect(await readdir(scratch)).toEqual([]);
  });

  /** Less than a dry turn may take. */
  const endlessMs = 60_000;
  test('is ended by Ctrl-C, with the program and its folder', { timeout: endlessMs }, async () => {
    const { program, folder, cwd } = await makeDoctorFolders();
    const pidFile = join(folder.path, 'pid');
    await program(
      'claude',
      `if (process.argv.includes('--version')) { console.log('2.1.332 (Claude Code)'); process.exit(0); }
       require('node:fs').writeFileSync('${pidFile}', String(process.pid));
       setInterval(() => {}, 60_000);`,
    );
    const scratch = join(folder.path, 'scratch');
    await mkdir(scratch);
    vi.stubEnv('TMPDIR', scratch);
    const env = { HOME: join(folder.path, 'home'), PATH: `${join(folder.path, 'bin')}:/usr/local/bin:/usr/bin:/bin` };
    const doctor = startCommand(['doctor', 'claude', '--http', '127.0.0.1:59999'], { cwd, env });
    await expect.poll(() => readFile(pidFile, 'utf8').catch(() => ''), { timeout: 20_000 }).not.toBe('');
    expect(await doctor.kill('SIGINT')).toBe(130);
    expect(doctor.stderr()).toBe('stopgate: interrupted\n');
    expect(await isRunning(Number(await readFile(pidFile, 'utf8')))).toBe(false);
    expect(await readdir(scratch)).toEqual([]);
  });

  test('sees a block that does not work, and a program that fires no hook', async () => {
    const { doctor, program, folder } = await makeDoctorFolders();
    await program('claude', standIn(false));
    expect((await doctor(['claude', '--http', '127.0.0.1:59999'])).bad).toEqual(
      holding('the block had no effect (1 model turn)'),
    );
    await program('claude', "console.error('no login'); process.exit(1);");
    const { bad, warn } = await doctor(['claude', '--http', '127.0.0.1:59999']);
    expect(bad).toEqual(holding('no hook fired (0 model turns); the program ended with exit code 1: no login'));
    expect(warn).toEqual(holding('prints no version'));
    await rm(join(folder.path, 'bin/claude'));
    expect((await doctor(['claude', '--http', '127.0.0.1:59999'])).bad).toEqual(holding('claude is not on PATH'));
  });

  test('of a server program starts over its HTTP API, and ends after the second stop', async () => {
    const { doctor, program } = await makeDoctorFolders();
    // Uses its plugin and configuration like `opencode serve`.
    await program(
      'opencode',
      `
const { readFileSync } = require('node:fs');
if (process.argv.includes('--version')) { console.log('1.18.33'); process.exit(0); }
const gate = /defaultUrl = "([^"]+)"/.exec(readFileSync('.opencode/plugin/stopgate.js', 'utf8'))[1];
const model = JSON.parse(readFileSync('opencode.json', 'utf8')).provider.fake.options.baseURL;
const post = (url, body) => fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) });
const turn = async (content) => {
  await post(model + '/chat/completions', { tools: [{}], messages: [{ role: 'user', content }] });
  const answer = await post(gate + '/hooks/opencode?event=session.idle', { type: 'session.idle' });
  if (answer.status === 200) await turn((await answer.json()).reason);
};
require('node:http').createServer(async (request, response) => {
  response.end(JSON.stringify({ id: 's' }));
  if (request.url.endsWith('/message')) await turn('hello');
}).listen(0, '127.0.0.1', function () { console.log('server listening on http://127.0.0.1:' + this.address().port); });`,
    );
    const { ok } = await doctor(['opencode', '--http', '127.0.0.1:59999']);
    expect(ok).toEqual(holding('dry turn: session.idle fired; the first stop was blocked'));
    await program('opencode', "console.error('no model'); process.exit(1);");
    const { bad } = await doctor(['opencode', '--http', '127.0.0.1:59999']);
    expect(bad).toEqual(holding('no hook fired (0 model turns); the program ended with exit code 1: no model'));
  });

  test('is skipped with --quick', async () => {
    const { doctor, program } = await makeDoctorFolders();
    await program('claude', standIn(true));
    const { findings } = await doctor(['claude', '--quick', '--http', '127.0.0.1:59999']);
    expect(findings.map(({ text }) => text).join()).not.toContain('dry turn');
  });
});
