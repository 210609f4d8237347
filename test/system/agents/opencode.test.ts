/** The real OpenCode as a server, with a scripted model and a real stopgate, which prompts idle sessions. */
import { existsSync } from 'node:fs';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { type Deployment, deploy } from '../../support/deployment.ts';
import { serveShipped } from '../../support/service.ts';
import { runShipped } from '../../support/shipped.ts';
import { chatCompletions } from './support/chat-completions.ts';
import { connectAgent, resumeAgent } from './support/connect.ts';
import { installAgent } from './support/install.ts';
import { opencode, opencodeEnv, serveOpencode } from './support/opencode.ts';
import { makeAgentHome } from './support/run.ts';
import { type Conversation, scriptModel, type Turn } from './support/scripted-model.ts';
import { blockText, causesOf, done, planPolicy, viewOf, workersIn } from './support/workers.ts';

let program: string;
let at: Deployment;
beforeAll(async () => {
  program = await installAgent(opencode);
  at = await deploy({ config: planPolicy });
});
afterAll(() => at.close());

async function serve(
  turns: readonly Turn[],
  conversations: readonly Conversation[] = [],
  http = at.http,
  permission?: object,
) {
  const model = await scriptModel(chatCompletions, turns, conversations);
  const home = await makeAgentHome();
  await connectAgent('opencode', home, { program, http });
  const server = await serveOpencode(program, home, model.url, permission);
  onTestFinished(() => server.close());
  return { model, home, server };
}
const todo = (status: string): Turn => ({
  tool: 'todowrite',
  input: { todos: [{ content: 'Write the tests', status, priority: 'high' }] },
});
const settled = (worker: string, causes: string[]) => expect.poll(() => causesOf(at, worker)).toEqual(causes);

test('under `opencode serve`, it is prompted while a step remains', async () => {
  const { model, server, home } = await serve([todo('pending'), done, todo('completed'), done]);
  const session = await server.begin('do the task');
  await settled(session, ['incomplete', 'complete']);
  expect(model.requests).toHaveLength(4);
  expect(model.requests[2]?.input).toContain(blockText);
  expect(await workersIn(at, home)).toMatchObject([{ worker: session, agent: 'opencode', state: 'stopped' }]);
});

test('a session without progress may stop after three prompts', async () => {
  const { model, server } = await serve([todo('pending'), done, done, done, done]);
  const session = await server.begin('do the task');
  await settled(session, ['incomplete', 'incomplete', 'incomplete', 'capped']);
  expect(model.requests).toHaveLength(5);
});

const held = 'policies: { default: { ask: 5m } }\n';
/** Runs a turn while an operator answers its requests. */
async function serveHeld(turns: readonly Turn[], permission: object) {
  const own = await deploy({ config: held });
  onTestFinished(() => own.close());
  const { model, server, home } = await serve(turns, [], own.http, permission);
  const session = await server.create();
  const turn = server.prompt(session, 'do the task');
  const inputs = async () => (await viewOf(own, session)).inputs ?? [];
  const answer = async (text: string, ...words: string[]) => {
    const asked = async () => (await inputs()).find(({ detail, request }) => request && detail?.includes(text));
    await expect.poll(asked).toBeDefined();
    const line = ['answer', session, ...words, '--request', (await asked())?.request ?? '', '--yes', '--by', 'ann'];
    expect(await runShipped([...line, '--nats', own.server.url], { cwd: own.folder.path })).toMatchObject({ code: 0 });
  };
  return { own, model, home, session, turn, answer };
}

test('an operator answers parallel permission requests one by one', async () => {
  const touch = (file: string) => ({ tool: 'bash', input: { command: `touch ${file}`, description: 'a file' } });
  const both = { calls: [touch('one'), touch('two')] };
  const { model, home, turn, answer, own, session } = await serveHeld([both, done], { bash: 'ask' });
  await answer('touch one', '--allow');
  await answer('touch two', '--deny', '--message', 'Not in this folder');
  await turn;
  expect(['one', 'two'].map((file) => existsSync(`${home.project}/${file}`))).toEqual([true, false]);
  expect(model.requests[1]?.input).toContain('Not in this folder');
  expect(await viewOf(own, session)).toMatchObject({ inputs: [], lastAnswer: { by: 'ann', verdict: 'deny' } });
});

test('an operator answers its questions; a denied one is answered with the reason', async () => {
  const option = (label: string) => ({ label, description: `the ${label} one` });
  const ask = (question: string) => ({
    tool: 'question',
    input: { questions: [{ question, header: 'Key', options: [option('Old'), option('New')] }] },
  });
  const turns = [ask('Which key?'), ask('Which lock?'), done];
  const { model, turn, answer, own, session } = await serveHeld(turns, { '*': 'allow' });
  await answer('Which key?', '--allow', '--message', 'New');
  await answer('Which lock?', '--deny', '--message', 'There is none');
  await turn;
  expect(model.requests[1]?.input).toContain('"Which key?"="New"');
  expect(model.requests[2]?.input).toContain('There is none');
  expect(await viewOf(own, session)).toMatchObject({ inputs: [], lastAnswer: { by: 'ann', verdict: 'deny' } });
});

test('if the service is killed, the session stays idle and the log says that nothing is judged', async () => {
  const own = await deploy({ config: planPolicy, start: serveShipped });
  onTestFinished(() => own.close());
  const turns = [todo('pending'), done, { ...done, before: () => own.service.kill('SIGKILL') }];
  const { model, server } = await serve(turns, [], own.http);
  await server.begin('do the task');
  await expect.poll(() => server.output()).toContain('stopgate does not answer, so nothing is judged');
  expect(model.requests).toHaveLength(3);
});

test('the printed command resumes the session as the same worker', async () => {
  const { model, server, home } = await serve([done, done]);
  const session = await server.begin('do the task');
  await settled(session, ['complete']);
  const [worker] = await workersIn(at, home);
  const ended = await resumeAgent(program, worker, 'Use the other key', { at: home, env: opencodeEnv(home) });
  expect(ended).toMatchObject({ code: 0 });
  // OpenCode adds quotes around command line arguments.
  expect(model.requests.map(({ input }) => input)).toEqual(['do the task', '"Use the other key"']);
  expect((await workersIn(at, home)).map((it) => it.worker)).toEqual([session]);
});

test('two parallel sessions are two workers, each judged by its own plan', async () => {
  const second = { match: 'THE-SECOND-TASK', turns: [todo('completed'), done] };
  const { model, server } = await serve([todo('pending'), done, todo('completed'), done], [second]);
  const [open = '', closed = ''] = await Promise.all(['the first task', 'THE-SECOND-TASK'].map(server.begin));
  await settled(open, ['incomplete', 'complete']);
  await settled(closed, ['complete']);
  expect([model.requests.length, model.conversation(second.match).length]).toEqual([4, 2]);
});

test('a sub-agent’s session does not ask to stop; only its parent’s stop is judged', async () => {
  const task = 'COUNT-THE-FILES';
  const delegate: Turn = {
    tool: 'task',
    input: { description: 'count', prompt: task, subagent_type: 'general' },
  };
  const child = { match: `"role":"user","content":"${task}`, turns: [done] };
  const { model, server, home } = await serve([todo('pending'), delegate, done, todo('completed'), done], [child]);
  const session = await server.begin('do the task');
  await settled(session, ['incomplete', 'complete']);
  expect([model.requests.length, model.conversation(child.match).length]).toEqual([5, 1]);
  const workers = await workersIn(at, home);
  const found = workers.find(({ parent }) => parent !== null);
  expect(workers).toHaveLength(2);
  expect(found).toMatchObject({ parent: session, state: 'stopped', lastDecision: null });
});

test('after an error it is idle twice, and attempts no stop until it is prompted', async () => {
  const { model, server } = await serve([todo('pending'), { status: 400 }, done, todo('completed'), done]);
  const session = await server.begin('do the task');
  const ends = () => server.eventsOf(session).filter((type) => type === 'session.error' || type === 'session.idle');
  await expect.poll(ends).toEqual(['session.error', 'session.idle', 'session.idle']);
  expect(await causesOf(at, session)).toEqual([]);
  await server.prompt(session, 'try again');
  await settled(session, ['incomplete', 'complete']);
  expect(model.requests).toHaveLength(5);
});

test('an escalated session waits and is prompted once with its resolution', async () => {
  const own = await deploy({ config: 'policies: { default: { promises: true, checks: [{ plan: {} }] } }\n' });
  onTestFinished(() => own.close());
  const stuck: Turn = { text: 'I need another key. <promise>BLOCKED</promise>' };
  const { model, server } = await serve([stuck, done, { text: 'never said' }], [], own.http);
  const session = await server.begin('do the task');
  await expect.poll(() => causesOf(own, session)).toEqual(['escalated']);

  const word = ['--resume', '--prompt', 'Use the other key', '--yes', '--nats', own.server.url];
  const { stdout } = await runShipped(['resolve', session, ...word], { cwd: own.folder.path });
  expect(stdout).toContain(`opencode run --session ${session} 'Use the other key'`);
  await expect.poll(() => causesOf(own, session)).toEqual(['escalated', 'complete']);
  expect(model.requests.map(({ input }) => input)).toEqual([expect.any(String), 'Use the other key']);
});
