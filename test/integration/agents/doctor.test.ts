/** The findings of `stopgate doctor` about the service, its policies and agents' programs. */
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { checkProgram } from '../../../src/agents/doctor/find-hooks.ts';
import { openConnection } from '../../../src/nats/connection.ts';
import { isTestedServer } from '../../../src/nats/server-version.ts';
import { type Deployment, deploy } from '../../support/deployment.ts';
import { openNats } from '../../support/shared-server.ts';
import { recorded } from '../../unit/agents/recordings/claude.ts';
import { ask } from '../http/request.ts';
import { holding, makeDoctorFolders } from './doctor-place.ts';

/** Gemini CLI runs a project's hooks only in a folder that it trusts. */
const trustGemini = (folder: Awaited<ReturnType<typeof makeDoctorFolders>>['folder']) =>
  folder.write('home/.gemini/trustedFolders.json', JSON.stringify({ [join(folder.path, 'project')]: 'TRUST_FOLDER' }));

test('without a service and without hooks, it reports both and how to fix them', async () => {
  const { run } = await makeDoctorFolders();
  const { code, stdout } = await run(['doctor', 'claude', '--http', '127.0.0.1:59999']);
  expect(code).toBe(1);
  expect(stdout).toContain(
    '✗ service  nothing answers at http://127.0.0.1:59999 (ECONNREFUSED): no stop is judged → start "npx stopgate dev"',
  );
  expect(stdout).toContain(
    '✗ claude  its settings have no stopgate hooks, so no stop is judged → npx stopgate init claude',
  );
  expect(stdout).toContain(
    '✗ claude  dry turn: not run, because claude is not on PATH → install it, or put it on PATH; --quick',
  );
  expect(stdout).toMatch(/^✓ service {2}node v/);
});

test.each([
  ['a limit', 'max_file: 64MB', true],
  ['no limit', '', false],
])('it checks the NATS account if NATS is configured: %s', async (_what, limit, isLimited) => {
  const config = `accounts { A { jetstream { ${limit} }, users: [{ user: a, password: a }] } }\nno_auth_user: a\n`;
  const server = await openNats({ config });
  onTestFinished(() => server.stop());
  const { doctor } = await makeDoctorFolders();
  const { ok, warn } = await doctor(['claude', '--quick', '--http', '127.0.0.1:59999'], { STOPGATE_NATS: server.url });
  const nc = await openConnection({ url: server.url, name: 'test', patient: false });
  const leavesHoles = !isTestedServer(nc.info?.version ?? '');
  await nc.close();
  if (isLimited && leavesHoles) expect(warn).toEqual(holding('beyond it this nats-server leaves gaps in the log'));
  else expect(ok).toEqual(holding('its NATS account has no limit'));

  const ofDev = JSON.stringify({ nats: server.url, http: null, fleet: 'main', pid: process.pid });
  const below = await makeDoctorFolders({ 'project/.stopgate/service.json': ofDev });
  const { findings } = await below.doctor(['claude', '--quick', '--http', '127.0.0.1:59999']);
  expect(findings.filter(({ text }) => text.includes('account'))).toEqual([]);
});

test('a NATS server that somebody named and that is down is reported, although hooks do not need it', async () => {
  const { doctor } = await makeDoctorFolders();
  const down = { STOPGATE_NATS: 'nats://127.0.0.1:1' };
  const { warn } = await doctor(['claude', '--quick', '--http', '127.0.0.1:59999'], down);
  expect(warn).toEqual(holding('no NATS server at nats://127.0.0.1:1: connection refused'));
});

test('for an untested version, it points to the dry turn', async () => {
  const { folder, program } = await makeDoctorFolders();
  await program('qwen', 'console.log("9.9.9")');
  const qwen = {
    name: 'qwen',
    title: 'Qwen Code',
    program: { binary: 'qwen', testedVersion: '1.0.0', folder: () => '' },
  };
  const fix = async (runsDryTurn: boolean) =>
    (await checkProgram({ agent: qwen, binary: join(folder.path, 'bin/qwen'), runsDryTurn })).fix;
  expect(await fix(true)).toBe('the dry turn below shows whether it works');
  expect(await fix(false)).toBe('a dry turn ("stopgate doctor qwen") shows whether it works');
});

test.each([
  ['frob', "unknown agent 'frob'"],
  ['shell', 'init shell" prints'],
])('naming an agent that it cannot check is a usage error: %s', async (agent, says) => {
  const { run } = await makeDoctorFolders();
  expect(await run(['doctor', agent])).toMatchObject({ code: 2, stderr: expect.stringContaining(says) });
});

test.each([404, 200])('it reports nothing more about a program that is not stopgate (%i)', async (status) => {
  const foreign = createServer((_request, reply) => reply.writeHead(status).end('<html>'));
  foreign.listen(0, '127.0.0.1');
  await once(foreign, 'listening');
  onTestFinished(() => void foreign.close());
  const { port } = foreign.address() as AddressInfo;
  const { doctor } = await makeDoctorFolders();
  const { ok, bad } = await doctor(['claude', '--quick', '--http', `127.0.0.1:${port}`]);
  expect(bad).toEqual(holding(`is not stopgate (status ${status})`));
  expect(ok.filter((text) => /clock|ready/.test(text))).toEqual([]);
});

// Root cause: it sent the user's token to any server that required one, and with an agent named it omitted its
// findings.
test.each([401, 200])(
  'no token is sent to a server that only the folder names (%i), and the report is complete',
  async (status) => {
    const sent: string[] = [];
    const thief = createServer(({ headers, url }, reply) => {
      if (headers.authorization !== undefined) sent.push(`${url}: ${headers.authorization}`);
      const body = url?.startsWith('/readyz') && status === 200 ? { fleets: {} } : { error: { message: 'no' } };
      reply.writeHead(status).end(JSON.stringify(body));
    });
    thief.listen(0, '127.0.0.1');
    await once(thief, 'listening');
    onTestFinished(() => void thief.close());
    const { port } = thief.address() as AddressInfo;
    const { run, doctor } = await makeDoctorFolders({ 'project/stopgate.yaml': `http: 127.0.0.1:${port}\n` });
    await run(['init', 'claude', '--yes', '--http', `127.0.0.1:${port}`]);
    for (const args of [[], ['claude', '--quick']]) {
      const { ok, bad } = await doctor(args, { STOPGATE_TOKEN: 'hush-0123456789abcdef' });
      expect(ok).toEqual(holding('stopgate.yaml can be read'));
      if (status === 401) expect(bad).toEqual(holding('so your token was not sent'));
    }
    expect(sent).toEqual([]);
  },
);

describe('with a service', () => {
  let at: Deployment;
  beforeAll(async () => {
    at = await deploy();
  });
  afterAll(() => at.close());
  const http = () => at.http.replace('http://', '');

  test('before init, it reports that another folder’s service answers and that service’s file applies', async () => {
    const { doctor, cwd } = await makeDoctorFolders({ 'project/stopgate.yaml': 'policies: { default: {} }\n' });
    const { warn, findings } = await doctor(['--http', http()]);
    expect(warn).toEqual(
      holding(
        `it applies the rules of ${join(at.folder.path, 'stopgate.yaml')}, and ${join(cwd, 'stopgate.yaml')} has no effect`,
      ),
    );
    expect(findings.map(({ fix }) => fix)).toEqual(holding(`start "npx stopgate dev" in ${cwd}`));
  });

  test('everything is fine after init and a first session', async () => {
    const { run, doctor, cwd } = await makeDoctorFolders({
      'project/stopgate.yaml': 'policies: { default: { checks: [{ plan: {} }] } }\n',
    });
    await run(['init', 'claude', '--yes', '--http', http()]);
    const before = await doctor(['claude', '--quick', '--http', http()]);
    expect(before).toMatchObject({ code: 0, bad: [], warn: holding('no session has ever called') });
    expect(before.ok).toEqual(
      expect.arrayContaining([
        `ready at ${at.http}`,
        'its clock and ours agree',
        expect.stringContaining(`has our hooks, which call ${at.http}`),
      ]),
    );
    await ask(at.http, '/hooks/claude', { body: { ...recorded('UserPromptSubmit'), session_id: 'doctored', cwd } });
    const after = await doctor(['claude', '--quick', '--http', http()]);
    expect(after.ok).toEqual(holding('1 in this folder, through the project settings'));
  });

  test('without an agent named, it checks the connected ones', async () => {
    const { run, doctor, program, folder } = await makeDoctorFolders();
    await trustGemini(folder);
    await program('codex', 'console.log("codex-cli 9.9.9")');
    await program('opencode', '');
    expect(await doctor(['--http', http()])).toMatchObject({
      code: 1,
      bad: ['no agent is connected to stopgate'],
      skip: ['Codex', 'OpenCode'].map((title) => expect.stringContaining(`${title} is installed but not connected`)),
    });
    await run(['init', 'gemini', '--yes', '--http', http()]);
    const { code, findings } = await doctor(['--http', http()]);
    expect(code).toBe(0);
    expect(new Set(findings.map(({ about }) => about))).toEqual(new Set(['service', 'codex', 'gemini', 'opencode']));
  });

  test('it warns about stops that take longer than the hook, and retries above an agent’s own limit', async () => {
    const { run, doctor, folder } = await makeDoctorFolders({
      'project/stopgate.yaml':
        'policies: { default: { retries: 20, persistence: { hold: 9m }, checks: [{ remote: scan, timeout: 2m }] } }\n',
    });
    await run(['init', 'claude', '--yes', '--http', http()]);
    expect((await doctor(['claude', '--quick', '--http', http()])).warn).toEqual(
      expect.arrayContaining([
        expect.stringContaining('a stop may take 11m under policy default'),
        expect.stringContaining('stops after 8 consecutive blocks, before the retries of default'),
      ]),
    );
    await folder.write('project/stopgate.yaml', 'policies: { default: { retries: 20 } }\n');
    const { warn } = await doctor(['claude', '--quick', '--http', http()], { CLAUDE_CODE_STOP_HOOK_BLOCK_CAP: '0' });
    expect(warn.join()).not.toMatch(/consecutive|may take/);
    await run(['init', 'qwen', '--yes', '--http', http(), '--block-cap', '12']);
    expect((await doctor(['qwen', '--quick', '--http', http()])).warn).toEqual(
      holding('stops after 12 consecutive blocks'),
    );
    for (const [agent, cap] of Object.entries({ copilot: 8, cursor: 5 })) {
      await run(['init', agent, '--yes', '--http', http()]);
      expect((await doctor([agent, '--quick', '--http', http()])).warn).toEqual(
        holding(`stops after ${cap} consecutive blocks`),
      );
    }
    const file = 'project/.cursor/hooks.json';
    const cursor = await readFile(join(folder.path, file), 'utf8');
    await folder.write(file, cursor.replace('"stop": [{', '"stop": [{ "loop_limit": null,'));
    expect((await doctor(['cursor', '--quick', '--http', http()])).ok).toEqual(
      holding('limit of consecutive blocks is off'),
    );
  });

  test('it warns if Claude Code has no plan tools and policies have a plan check', async () => {
    const { run, doctor, folder } = await makeDoctorFolders();
    await run(['init', 'claude', '--yes', '--http', http()]);
    const ask = (env: Record<string, string> = {}) => doctor(['claude', '--quick', '--http', http()], env);
    expect((await ask()).ok).toEqual(
      holding('plan tools are off (the default model), and no policy looks at the plan'),
    );
    const policies = 'policies: { a: { checks: [{ plan: {} }] }, b: { checks: [{ plan: { required: true } }] } }\n';
    await folder.write('project/stopgate.yaml', policies);
    await folder.write('home/.claude/settings.json', '{ "model": "opus" }');
    const { findings } = await ask();
    expect(findings).toContainEqual({
      state: 'warn',
      about: 'claude',
      text: expect.stringMatching(
        /^its plan tools are off \(model opus by .*home\/\.claude\/settings\.json\): the plan check of policy a passes without a plan, and policy b requires a plan/,
      ),
      fix: 'npx stopgate init claude, which sets CLAUDE_CODE_ENABLE_TODO_TOOLS=1',
    });
    expect((await ask({ ANTHROPIC_MODEL: 'claude-sonnet-4-5' })).ok).toEqual(
      holding('on (model claude-sonnet-4-5 by the environment)'),
    );
    await run(['init', 'claude', '--yes', '--http', http()]);
    expect((await ask()).ok).toEqual(holding('on (CLAUDE_CODE_ENABLE_TODO_TOOLS=1 in '));
  });

  test('without a stopgate.yaml here, it uses the policies of the service', async () => {
    const own = await deploy({ config: 'policies: { far: { checks: [{ plan: {} }] } }\n' });
    onTestFinished(() => own.close());
    const { run, doctor } = await makeDoctorFolders();
    const address = own.http.replace('http://', '');
    expect((await run(['init', 'claude', '--dry-run', '--http', address])).stdout).toContain('TODO_TOOLS');
    await run(['init', 'claude', '--yes', '--http', http()]);
    const { ok, warn } = await doctor(['claude', '--quick', '--http', address]);
    expect(warn).toEqual(holding('plan check of policy far passes without'));
    expect(ok).toEqual(holding('stopgate.yaml, but the service has policies: far'));
    for (const policy of ['far', 'nope']) {
      const told = (await run(['init', 'qwen', '--yes', '--http', address, '--policy', policy])).stderr;
      const found = (await doctor(['qwen', '--quick', '--http', address])).warn.filter((text) =>
        text.includes('names the policy'),
      );
      expect([told.includes(`policy ${policy} does not exist`), found.length]).toEqual(
        policy === 'far' ? [false, 0] : [true, 1],
      );
    }
  });

  test('it warns about checks that take longer than an agent waits after a tool', async () => {
    const { run, doctor } = await makeDoctorFolders({
      'project/stopgate.yaml':
        'policies: { default: { stopWhenComplete: true, checks: [{ remote: scan, timeout: 2m }] } }\n',
    });
    await run(['init', 'claude', '--yes', '--http', http()]);
    const says = (waits: string) => holding(`checks that may take 2m, but the hook after a tool waits only ${waits}`);
    expect((await doctor(['claude', '--quick', '--http', http()])).warn).toEqual(says('1m'));
    await run(['init', 'claude', '--yes', '--http', http(), '--form', 'command']);
    expect((await doctor(['claude', '--quick', '--http', http()])).warn).toEqual(says('55s'));
  });

  test('it reports Codex hooks without trust, and Gemini hooks without the exit guard', async () => {
    const { run, doctor, folder } = await makeDoctorFolders();
    await trustGemini(folder);
    await run(['init', 'codex', '--yes', '--http', http()]);
    expect((await doctor(['codex', '--quick', '--http', http()])).bad).toEqual([
      expect.stringMatching(/^0 of \d+ hooks are trusted/),
    ]);
    await run(['init', 'gemini', '--yes', '--http', http()]);
    const file = 'project/.gemini/settings.json';
    const text = await readFile(join(folder.path, file), 'utf8');
    await folder.write(file, text.replaceAll(' || exit 0', ''));
    expect((await doctor(['gemini', '--quick', '--http', http()])).bad).toEqual([
      expect.stringContaining('Gemini never stops'),
    ]);
  });
});
