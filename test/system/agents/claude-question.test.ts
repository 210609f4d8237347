/** The real Claude Code asks a question, and an operator answers it. With both kinds of hooks. */
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { type Deployment, deploy } from '../../support/deployment.ts';
import { openReceiver, type Receiver } from '../../support/receiver.ts';
import { runShipped } from '../../support/shipped.ts';
import { claudeCode, installAgent } from './support/install.ts';
import { type OpenClaude, openClaude } from './support/open-claude.ts';
import { claudeScene } from './support/scene.ts';
import { payloadsOf, viewOf } from './support/workers.ts';

/** Started like by editors and the SDK, which show questions to a person. Without that flag, it offers no questions. */
const asked = ['--permission-mode', 'default', '--permission-prompt-tool', 'stdio'];
const option = (label: string) => ({ label, description: `the ${label} one` });
const key = { question: 'Which key?', header: 'Key', multiSelect: false, options: [option('Old'), option('New')] };
const parts = { question: 'Which parts?', header: 'Parts', multiSelect: true, options: [option('one'), option('two')] };

let claude: string;
let receiver: Receiver;
let at: Deployment;
beforeAll(async () => {
  claude = await installAgent(claudeCode);
  receiver = await openReceiver();
  const links = '{ url: "https://stop.example", by: on-call }';
  const webhook = `{ url: "${receiver.url}", secretEnv: HOOK_SECRET, links: ${links} }`;
  at = await deploy({
    config: `policies: { default: { ask: 5m } }\nescalation: { webhook: ${webhook} }\n`,
    env: { HOOK_SECRET: 'a secret of the test' },
  });
});
afterAll(async () => {
  await at?.close();
  await receiver?.close();
});

/** Resolves when it waits for an answer. */
async function ask(questions: readonly object[], init: readonly string[] = []) {
  const turns = [{ tool: 'AskUserQuestion', input: { questions } }, { text: 'done' }];
  const { home, model } = await claudeScene({ program: claude, http: at.http, init, turns });
  const agent = await openClaude(claude, { home, modelUrl: model.url }, asked);
  const held = async () => (await viewOf(at, agent.session)).inputs?.find(({ request }) => request !== null);
  await expect.poll(held).toBeDefined();
  return { agent, model, held: await held() };
}

/** Resolves at the end of its turn. */
async function expectAnswered(agent: OpenClaude, answer: object): Promise<void> {
  await expect.poll(() => agent.lines.some(({ type }) => type === 'result')).toBe(true);
  await agent.end();
  expect(await viewOf(at, agent.session)).toMatchObject({ inputs: [], lastAnswer: answer });
  expect(await payloadsOf(at, agent.session, 'tool.used')).toMatchObject([{ tool: 'AskUserQuestion', ok: true }]);
}

test('it continues with the choice given by `stopgate answer`; without a choice, nothing is answered', async () => {
  const { agent, model } = await ask([key]);
  const answer = (...words: string[]) =>
    runShipped(['answer', agent.session, '--allow', ...words, '--yes', '--by', 'ann', '--nats', at.server.url], {
      cwd: at.folder.path,
    });
  expect(await answer()).toMatchObject({ code: 2, stderr: expect.stringContaining('asks: Which key? (Old, New)') });
  expect(await answer('--message', 'New')).toMatchObject({ code: 0, stderr: '' });
  await expectAnswered(agent, { by: 'ann', verdict: 'allow', message: 'New' });
  expect(model.requests[1]?.input).toContain('"Which key?"="New"');
});

test('several questions are answered through a signed link, whose page shows the choices; a second answer is refused', async () => {
  const { agent, model } = await ask([key, parts], ['--form', 'command']);
  const notice = () => receiver.received.find(({ body }) => body.id === agent.session)?.body.link as string | undefined;
  await expect.poll(notice).toBeDefined();
  const link = (notice() ?? '').replace('https://stop.example', at.http);
  const page = await (await fetch(link, { headers: { accept: 'text/html' } })).text();
  expect(page).toContain('name="choice-0" value="New"');
  expect(page).toContain('name="choice-1" value="two"');
  const body = 'verdict=allow&own-0=none+of+these&choice-1=one&choice-1=two&own-1=';
  const headers = { 'content-type': 'application/x-www-form-urlencoded' };
  const post = () => fetch(link, { method: 'POST', headers, body });
  expect((await post()).status).toBe(200);
  const message = '{"Which key?":"none of these","Which parts?":"one, two"}';
  await expectAnswered(agent, { by: 'on-call', verdict: 'allow', message });
  expect((await post()).status).toBe(409);
  expect(model.requests[1]?.input).toContain('"Which key?"="none of these"');
  expect(model.requests[1]?.input).toContain('"Which parts?"="one, two"');
});

test('if the person at the terminal answers first, an operator no longer can', async () => {
  const { agent, model, held } = await ask([key]);
  const request = agent.lines.find(({ type }) => type === 'control_request') as unknown as Asked;
  onTestFinished(() => agent.end());
  const updatedInput = { ...request.request.input, answers: { 'Which key?': 'Old' } };
  const response = {
    subtype: 'success',
    request_id: request.request_id,
    response: { behavior: 'allow', updatedInput },
  };
  agent.say({ type: 'control_response', response });
  await expect.poll(async () => (await viewOf(at, agent.session)).inputs).toEqual([]);
  const words = ['answer', agent.session, '--allow', '--message', 'New', '--request', held?.request ?? '', '--yes'];
  const late = await runShipped([...words, '--nats', at.server.url], { cwd: at.folder.path });
  expect(late).toMatchObject({ code: 1, stderr: expect.stringContaining('no open request') });
  await expect.poll(() => model.requests[1]?.input).toContain('"Which key?"="Old"');
  expect((await viewOf(at, agent.session)).lastAnswer).toBeNull();
});
type Asked = { readonly request_id: string; readonly request: { readonly input: object } };
