/**
 * The real Claude Code, headless, with a scripted model, connected to a service by `stopgate init`; both kinds of
 * hooks.
 */
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { type Deployment, deploy } from '../../support/deployment.ts';
import { serveShipped } from '../../support/service.ts';
import { claudeCode, installAgent } from './support/install.ts';
import { claudeScene, type SceneOptions } from './support/scene.ts';
import { expectCauses, planPolicy, viewOf } from './support/workers.ts';

const remains = 'Not done yet: 1 of 1 plan steps remain: Write the tests.';
const plan = { tool: 'TaskCreate', input: { subject: 'Write the tests', description: 'of the parser' } };
const done = { tool: 'TaskUpdate', input: { taskId: '1', status: 'completed' } };
const forms = [
  ['HTTP hooks, and curl at a stop', ['--form', 'http+curl']],
  ['command hooks', ['--form', 'command']],
] as const;

let claude: string;
let at: Deployment;
beforeAll(async () => {
  claude = await installAgent(claudeCode);
  at = await deploy({ config: planPolicy });
});
afterAll(() => at.close());

const scene = (options: Omit<SceneOptions, 'program' | 'http'>, http = at.http) =>
  claudeScene({ ...options, program: claude, http });

describe.each(forms)('by %s', (form, init) => {
  test('it is blocked until its plan is done, and reads the reason', async () => {
    const { model, run } = await scene({ init, turns: [plan, { text: 'one' }, done, { text: 'two' }] });
    const ended = await run('Write the tests.');
    expect(ended).toMatchObject({ code: 0, stdout: expect.stringContaining('"result":"two"') });
    expect(model.requests).toHaveLength(4);
    expect(model.requests[2]?.input).toContain(`Stop hook additional context: ${remains}`);
    expect(model.requests[2]?.input).not.toMatch(/hook error|blocking error|hook-command|curl/);
    await expectCauses(at, ended.worker, ['incomplete', 'complete']);
    expect(await viewOf(at, ended.worker)).toMatchObject({
      agent: 'claude',
      state: 'stopped',
      cwd: expect.stringMatching(/project$/),
      plan: [{ step: '1', title: 'Write the tests', status: 'completed' }],
    });
  });

  test('a session without progress may stop after three blocks', async () => {
    const turns = [plan, ...['one', 'two', 'three', 'four', 'five'].map((text) => ({ text }))];
    const { model, run } = await scene({ init, turns });
    const ended = await run('Write the tests.');
    expect(ended).toMatchObject({ code: 0, stdout: expect.stringContaining('"result":"four"') });
    expect(model.requests).toHaveLength(5);
    await expectCauses(at, ended.worker, ['incomplete', 'incomplete', 'incomplete', 'capped']);
  });

  test('two parallel sessions in one folder are separate workers', async () => {
    const stays = [plan, { text: 'one' }, { text: 'two' }, { text: 'three' }, { text: 'four' }];
    const conversations = [
      { match: 'SESSION-ONE', turns: stays },
      { match: 'SESSION-TWO', turns: [plan, done, { text: 'one' }] },
    ];
    const { model, run } = await scene({ init, turns: [], conversations });
    const [one, two] = await Promise.all([run('SESSION-ONE'), run('SESSION-TWO')]);
    expect([model.conversation('SESSION-ONE').length, model.conversation('SESSION-TWO').length]).toEqual([5, 3]);
    await expectCauses(at, one.worker, ['incomplete', 'incomplete', 'incomplete', 'capped']);
    await expectCauses(at, two.worker, ['complete']);
    expect((await viewOf(at, one.worker)).cwd).toBe((await viewOf(at, two.worker)).cwd);
  });

  test('it may stop if the service is killed between two stops', async () => {
    const own = await deploy({ config: planPolicy, start: serveShipped });
    onTestFinished(() => own.close());
    const turns = [plan, { text: 'one' }, { text: 'two', before: () => own.service.kill('SIGKILL') }];
    const { model, run } = await scene({ init, turns }, own.http);
    const ended = await run('Write the tests.', ['--output-format', 'stream-json', '--verbose']);
    expect(ended.code).toBe(0);
    expect(model.requests).toHaveLength(3);
    expect(model.requests[2]?.input).toContain(remains);
    const isCurl = form !== 'command hooks';
    const why = isCurl ? `no answer from ${own.http} (curl ended with 7)` : `no service at ${own.http}`;
    expect(ended.stdout).toContain(`Stop says: stopgate: this stop was not judged: ${why}`);
    if (isCurl) expect(ended.stderr).toContain(`SessionEnd hook [${own.http}/hooks/claude] failed`);
  });
});
