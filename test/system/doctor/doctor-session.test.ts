/**
 * `init` and `doctor` examine the whole path of a session in this folder: its token, the service that answers, its
 * access to the folder, and the policy. Each row is a mistake that used to go unnoticed.
 */
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { holding, makeDoctorFolders } from '../../integration/agents/doctor-place.ts';
import { type Deployment, deploy } from '../../support/deployment.ts';

const checking = 'policies: { default: { checks: [{ command: tests }] } }\ncommands: { tests: { run: ["true"] } }\n';
const tokens = 'tokens: { reader: { role: read, env: READER }, hooks: { role: agent, env: HOOKS } }\n';
const secrets = { READER: 'reads-only-0123456789', HOOKS: 'for-hooks-0123456789' };

const connected = async (at: Deployment, options: readonly string[] = [], env: Record<string, string> = {}) => {
  const place = await makeDoctorFolders();
  const address = ['--http', at.http.replace('http://', '')];
  const init = await place.run(['init', 'claude', '--yes', ...address, ...options], env);
  return { ...place, init, doctor: () => place.doctor(['claude', '--quick', ...address], env) };
};

describe('a service of another folder', () => {
  let at: Deployment;
  beforeAll(async () => {
    at = await deploy({ config: checking });
  });
  afterAll(() => at.close());

  test('whose roots do not contain this folder: no stop here can be judged', async () => {
    const { init, doctor } = await connected(at);
    const says =
      /^✗ the worker's folder .* is outside the runner's roots; .*: tests cannot be judged in any session here → add/m;
    expect(init).toMatchObject({ code: 1, stderr: expect.stringMatching(says) });
    const { code, bad, ok } = await doctor();
    expect({ code, bad }).toEqual({ code: 1, bad: holding("is outside the runner's roots") });
    expect(ok).toEqual(holding(`the service was started in ${at.folder.path}`));
    expect(ok).toEqual(holding('its sessions get the policy default, with 1 check'));
  });

  test('is named if this folder has its own rules, which have no effect', async () => {
    const place = await makeDoctorFolders({ 'project/stopgate.yaml': checking });
    const { warn } = await place.doctor(['claude', '--quick', '--http', at.http.replace('http://', '')]);
    expect(warn).not.toEqual(holding('has no effect')); // no hooks yet
    await place.run(['init', 'claude', '--yes', '--http', at.http.replace('http://', '')]);
    const after = await place.doctor(['claude', '--quick', '--http', at.http.replace('http://', '')]);
    expect(after.warn).toEqual(holding(`${join(place.cwd, 'stopgate.yaml')} has no effect`));
  });

  test('that does not serve the named fleet: shows its fleets, and what to do', async () => {
    const { init } = await connected(at, ['--fleet', 'web']);
    const says = /^✗ .* no fleet 'web' here; this service serves 'main' → pass a fleet that it serves with --fleet$/m;
    expect(init).toMatchObject({ code: 1, stderr: expect.stringMatching(says) });
  });

  test('whose roots contain this folder: everything is fine', async () => {
    const { init, cwd, doctor } = await connected(at);
    expect(init.code).toBe(1);
    await at.folder.write('stopgate.yaml', `${checking}roots: [., ${JSON.stringify(dirname(cwd))}]\n`);
    await expect.poll(async () => (await doctor()).bad).toEqual([]);
    expect((await doctor()).ok).toEqual(holding('is inside the roots of the service'));
  });
});

test('a policy without checks is reported, even if everything else is fine', async () => {
  const at = await deploy({ config: 'policies: { default: {}, lax: {} }\n' });
  try {
    const { init, doctor } = await connected(at, ['--policy', 'lax']);
    const says = 'its sessions get the policy lax, which checks nothing: every stop is allowed (cause no-policy)';
    expect(init).toMatchObject({ code: 0, stderr: expect.stringContaining(`! ${says}`) });
    expect((await doctor()).warn).toEqual(holding(says));
  } finally {
    await at.close();
  }
});

describe('a service that requires a token', () => {
  let at: Deployment;
  beforeAll(async () => {
    at = await deploy({ config: `${tokens}policies: { default: { checks: [{ plan: {} }] } }\n`, env: secrets });
  });
  afterAll(() => at.close());

  test.each([
    ['one that may only read', secrets.READER, "the token 'reader' has the role read, and this needs the role agent"],
    ['one that it does not know', 'unknown-0123456789', 'the service does not know the token in STOPGATE_TOKEN'],
  ])('%s is not enough', async (_what, token, says) => {
    const { init, doctor } = await connected(at, [], { STOPGATE_TOKEN: token });
    expect(init).toMatchObject({ code: 1, stderr: expect.stringContaining(says) });
    expect((await doctor()).code).toBe(1);
  });

  /** A fake agent that runs its hooks and obeys, with or without the header of its settings. */
  const standIn = (sends: boolean) => `
const { readFileSync } = require('node:fs');
const { env, argv } = process;
if (argv.includes('--version')) { console.log('2.1.332 (Claude Code)'); process.exit(0); }
const { hooks } = JSON.parse(readFileSync(env.CLAUDE_CONFIG_DIR + '/settings.json', 'utf8'));
const post = async (url, body, headers = {}) => {
  const answer = await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json', ...headers }, body: JSON.stringify(body) });
  return answer.status === 200 ? answer.json() : null;
};
const token = ${sends} ? { authorization: 'Bearer ' + env.STOPGATE_TOKEN } : {};
const fire = (event) => post(hooks.UserPromptSubmit[0].hooks[0].url, { session_id: 's', hook_event_name: event }, token);
const turn = (content) => post(env.ANTHROPIC_BASE_URL + '/v1/messages', { model: 'm', tools: [{}], messages: [{ role: 'user', content }] });
(async () => {
  await turn('hello');
  const { reason } = await fire('Stop');
  await turn('Stop hook feedback: ' + reason);
  await fire('Stop');
})();`;

  test('the dry turn uses the token, and the call of its hook is tested with the service', async () => {
    const env = { STOPGATE_TOKEN: secrets.HOOKS };
    const place = await makeDoctorFolders();
    const address = ['--http', at.http.replace('http://', '')];
    await place.run(['init', 'claude', '--yes', ...address], env);
    await place.program('claude', standIn(true));
    expect((await place.doctor(['claude', ...address], env)).ok).toEqual(holding('dry turn: Stop fired'));
    await place.program('claude', standIn(false));
    expect((await place.doctor(['claude', ...address], env)).bad).toEqual(['dry turn: its hook sent no token']);
  });

  test('a token with the role agent is enough', async () => {
    const { init, doctor } = await connected(at, [], { STOPGATE_TOKEN: secrets.HOOKS });
    expect(init.code).toBe(0);
    expect((await doctor()).bad).toEqual([]);
  });
});
