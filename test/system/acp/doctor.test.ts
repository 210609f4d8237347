/** `stopgate doctor acp -- AGENT`: starts the agent as an editor would, and blocks its first stop. */
import { mkdir, readdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { type AcpScene, openAcpScene } from '../../integration/acp/scene.ts';
import { agentProgram, type Script } from '../../support/acp-editor.ts';
import { runCommand } from '../../support/command.ts';

let scene: AcpScene;
beforeAll(async () => {
  scene = await openAcpScene();
});
afterAll(() => scene.close());

// A separate folder for temporary files, because other doctors may run on this machine. It is empty after each test.
beforeEach(async () => {
  const scratch = join(scene.at.folder.path, 'scratch');
  await mkdir(scratch, { recursive: true });
  vi.stubEnv('TMPDIR', scratch);
});
afterEach(async () => {
  const left = await readdir(tmpdir());
  vi.unstubAllEnvs();
  expect(left).toEqual([]);
});

const scripted = (script: Script) => ['--', process.execPath, agentProgram, JSON.stringify(script)];
async function doctor(words: readonly string[], nats = scene.at.server.url) {
  const { folder } = scene.at;
  const ended = await runCommand(['doctor', 'acp', '--json', ...words], {
    cwd: folder.path,
    env: { STOPGATE_NATS: nats },
  });
  const { findings = [] } = JSON.parse(ended.stdout) as { findings?: { state: string; text: string; fix?: string }[] };
  return { ...ended, rows: findings.map(({ state, text }) => `${state} ${text}`), findings };
}

test('shows that the service answers and that a block works, and leaves nothing behind', async () => {
  const { code, rows } = await doctor(scripted({ turns: [[{ ask: 'rm -rf /' }, { say: 'OK' }]] }));
  expect(rows).toEqual([
    `ok node ${process.version}`,
    'ok fleet main answers over NATS',
    'ok initialize: scripted-agent 1.0.0 speaks ACP version 1',
    'ok session/new: the agent opened a session',
    'ok dry turn: the agent continued after its first stop was blocked, and stopped again',
  ]);
  expect(code).toBe(0);
  expect((await scene.at.client.ask('list.workers')).body).toMatchObject({ items: [] });
});

test('runs no turn with --quick', async () => {
  const { code, rows } = await doctor(['--quick', ...scripted({ turns: [[{ exit: 1 }]] })]);
  expect(rows.at(-1)).toBe('skip dry turn: not run');
  expect(code).toBe(0);
});

test.each<{ why: string; words: () => string[]; says: string; fix: string }>([
  {
    why: 'there is no such program',
    words: () => ['--', 'no-such-agent'],
    says: "bad initialize: cannot run 'no-such-agent': there is no such command",
    fix: "check the agent's command",
  },
  {
    why: 'it ends at once',
    words: () => ['--', 'sh', '-c', 'echo which key? >&2; exit 4'],
    says: 'which key?',
    fix: "check the agent's command",
  },
  {
    why: 'its turn fails',
    words: () => scripted({ turns: [[{ fail: { code: -32000, message: 'Authentication required' } }]] }),
    says: 'bad dry turn: Authentication required',
    fix: 'log in with the agent itself, then try again',
  },
  {
    why: 'its turn ends otherwise',
    words: () => scripted({ turns: [[{ stop: 'cancelled' }]] }),
    says: 'bad dry turn: the turn ended with cancelled without a stop attempt',
    fix: 'this version of the agent may need a newer stopgate',
  },
])('reports the problem: $why', async ({ words, says, fix }) => {
  const { code, findings } = await doctor(words());
  const { state, text = '', fix: told } = findings.at(-1) ?? {};
  expect(`${state} ${text}`).toContain(says);
  expect(told).toContain(fix);
  expect(code).toBe(1);
});

test('a missing service is a separate row, and the agent is still checked', async () => {
  const { code, rows } = await doctor(scripted({}), 'nats://127.0.0.1:9');
  expect(rows[1]).toMatch(/^bad .*127\.0\.0\.1:9/);
  expect(rows.at(-1)).toMatch(/^ok dry turn/);
  expect(code).toBe(1);
});

test('acp needs an agent command, and other agents accept none', async () => {
  const run = (...words: string[]) => runCommand(['doctor', ...words], { cwd: scene.at.folder.path });
  expect(await run('acp')).toMatchObject({ code: 2, stderr: expect.stringContaining('no agent given') });
  expect(await run('claude', '--', 'x')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("unexpected argument 'x'"),
  });
});
