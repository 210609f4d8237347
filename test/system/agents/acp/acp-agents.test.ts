/** Real agents behind `stopgate acp`, with an editor built on the official SDK, scripted models and a real service. */
import { existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { methods } from '@agentclientprotocol/sdk';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { chosen, type EditorOptions, openEditor } from '../../../support/acp-editor.ts';
import { type Deployment, deploy } from '../../../support/deployment.ts';
import { runShipped, startShipped } from '../../../support/shipped.ts';
import { installAgent } from '../support/install.ts';
import { cleanEnv, makeAgentHome } from '../support/run.ts';
import { scriptModel, type Turn } from '../support/scripted-model.ts';
import { done, expectCauses, payloadsOf, viewOf } from '../support/workers.ts';
import { acpAgents } from './acp-agents.ts';

const config = `
policies:
  default: { checks: [{ files: [report.md] }] }
  plan: { checks: [{ plan: {} }] }
  brief: { checks: [{ files: [report.md] }], budget: { time: 2s } }
roots: [${tmpdir()}]
`;
/** Some agents also ask the model what the person may want next. */
const suggestions = { match: 'SUGGESTION MODE', turns: [] };

let at: Deployment;
beforeAll(async () => {
  at = await deploy({ config });
});
afterAll(() => at.close());

describe.each(acpAgents)('$agent', (row) => {
  let program: string;
  beforeAll(async () => {
    program = await installAgent(row.program);
  });

  /** A home with the agent's settings, and its environment. */
  async function prepare(modelUrl: string) {
    const home = await makeAgentHome();
    await row.prepare(home, modelUrl);
    const node = process.execPath.slice(0, process.execPath.lastIndexOf('/'));
    const env = { ...cleanEnv(home), ...row.env(home, modelUrl), PATH: `${node}:/usr/local/bin:/usr/bin:/bin` };
    return { home, env };
  }

  async function open(turns: readonly Turn[], more: Partial<EditorOptions> & { policy?: string } = {}) {
    const model = await scriptModel(row.api, turns, [suggestions]);
    const { home, env } = await prepare(model.url);
    const { policy = 'default', ...options } = more;
    const editor = await openEditor({
      cwd: home.project,
      agent: [program, ...row.args],
      env,
      start: startShipped,
      isPlain: true,
      args: ['--nats', at.server.url, '--policy', policy],
      ...options,
    });
    return { model, home, editor, session: await editor.newSession() };
  }

  test('a blocked stop continues in the same turn, and the agent’s requests are in the inbox', async () => {
    const asked: string[] = [];
    const { model, home, editor, session } = await open(
      [done, row.shell('echo 3 > report.md'), { text: 'Now I am.' }],
      {
        onPermission: async ({ sessionId, options }) => {
          const inputs = async () => (await viewOf(at, sessionId)).inputs.map(({ kind }) => kind);
          await expect.poll(inputs).toEqual(['permission']);
          asked.push(sessionId);
          const { optionId = '' } = options.find(({ kind }) => kind === 'allow_once') ?? {};
          return chosen(optionId);
        },
      },
    );
    expect(await editor.prompt(session)).toMatchObject({ stopReason: 'end_turn' });
    expect(existsSync(`${home.project}/report.md`)).toBe(true);
    expect(model.requests).toHaveLength(3);
    expect(model.requests[1]?.input).toContain('Missing required files: report.md');
    const said = editor.saidIn(session).join('');
    expect(said).toMatch(
      /I am done\.[\s\S]*\n\nstopgate: this stop was blocked \(1 of 3\): Missing required files: report\.md\n\n[\s\S]*Now I am\./,
    );
    await expectCauses(at, session, ['incomplete', 'complete']);
    expect(await viewOf(at, session)).toMatchObject({
      agent: row.agent,
      cwd: home.project,
      state: 'stopped',
      inputs: [],
    });
    expect(asked).toEqual(row.asks ? [session] : []);
    expect(await payloadsOf(at, session, 'tool.used')).toMatchObject([{ ok: true }]);
  });

  test('a cancelled turn is not prompted again', async () => {
    let cancel: () => Promise<void> = async () => {};
    const turns: Turn[] = [done, { ...done, before: () => cancel() }, { text: 'never said' }];
    const { model, editor, session } = await open(turns);
    cancel = async () => {
      await editor.agent.notify(methods.agent.session.cancel, { sessionId: session });
      // The model answers after the cancellation.
      await new Promise((resolve) => setTimeout(resolve, 1_000));
    };
    expect(await editor.prompt(session)).toMatchObject({ stopReason: 'cancelled' });
    expect(model.requests).toHaveLength(2);
    const stops = async () => (await payloadsOf(at, session, 'stop.attempted')).map(({ stopReason }) => stopReason);
    await expect.poll(stops).toEqual(['end_turn', 'cancelled']);
  });

  test('a used-up budget ends it at its next tool', async () => {
    // Not `sleep`, which Qwen Code refuses to wait for.
    const { model, home, editor, session } = await open(
      [row.shell("node -e 'setTimeout(() => {}, 4000)'"), row.shell('echo 3 > report.md'), { text: 'never said' }],
      { policy: 'brief' },
    );
    expect(await editor.prompt(session)).toMatchObject({ stopReason: 'cancelled' });
    expect(editor.saidIn(session).join('')).toContain('stopgate: the budget is used up (time ');
    // It may have called its model before it was told, but did nothing more.
    expect(model.requests.length).toBeLessThanOrEqual(2);
    expect(existsSync(`${home.project}/report.md`)).toBe(false);
    await expectCauses(at, session, ['bypassed']);
    const { tokens } = (await viewOf(at, session)).usage.session;
    if (row.reportsUsage) expect(tokens).toBeGreaterThan(0);
  });

  test('`stopgate doctor acp` shows that its block holds', async () => {
    const model = await scriptModel(row.api, [{ text: 'OK' }, { text: 'OK' }], [suggestions]);
    const { home, env } = await prepare(model.url);
    const line = ['doctor', 'acp', '--json', '--', program, ...row.args];
    const options = { cwd: home.project, env: { ...env, STOPGATE_NATS: at.server.url } };
    const { stdout, code } = await runShipped(line, options);
    const { findings } = JSON.parse(stdout) as { findings: { state: string; text: string }[] };
    expect(findings.map(({ state }) => state)).toEqual(Array(5).fill('ok'));
    expect(findings[2]?.text).toContain(row.program.version);
    expect(code).toBe(0);
  });

  const { plan } = row;
  if (plan === null) return;
  test('its plan is judged', async () => {
    const { model, editor, session } = await open([plan.open, done, plan.close, done], { policy: 'plan' });
    expect(await editor.prompt(session)).toMatchObject({ stopReason: 'end_turn' });
    expect(model.requests[2]?.input).toContain('1 of 1 plan steps remain: Write the tests');
    await expectCauses(at, session, ['incomplete', 'complete']);
  });
});
