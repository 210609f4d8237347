/** The real Gemini CLI, with a scripted model, behind a real stopgate. Each model turn is counted: a block costs one. */
import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { type Deployment, deploy } from '../../support/deployment.ts';
import { serveShipped } from '../../support/service.ts';
import { runShipped } from '../../support/shipped.ts';
import { connectAgent, resumeAgent } from './support/connect.ts';
import { geminiCli, geminiEnv, geminiSettings, generateContent, runGemini } from './support/gemini.ts';
import { installAgent } from './support/install.ts';
import { type AgentHome, makeAgentHome } from './support/run.ts';
import { type Lane, scriptModel, type Turn } from './support/scripted-model.ts';
import { blockWords, causesOf, done, planPolicy, workersIn } from './support/workers.ts';

const config = `${planPolicy.replace(/ }\n$/, '')}, eager: { stopWhenComplete: true, checks: [{ plan: {} }] }, promising: { promises: true, checks: [{ plan: {} }] } }\n`;

let gemini: string;
let at: Deployment;
beforeAll(async () => {
  gemini = await installAgent(geminiCli);
  at = await deploy({ config });
}, 300_000);
afterAll(() => at.close());

async function makeHome(http = at.http, ...init: string[]): Promise<AgentHome> {
  const home = await makeAgentHome();
  await home.write(settingsName, JSON.stringify(geminiSettings));
  await connectAgent('gemini', home, { program: gemini, http, init: ['--user', ...init] });
  return home;
}
const settingsName = 'home/.gemini/settings.json';
const makeModel = (turns: readonly Turn[], lanes?: readonly Lane[]) => scriptModel(generateContent, turns, lanes);
const todo = (status: string): Turn => ({
  tool: 'write_todos',
  input: { todos: [{ description: 'Write the tests', status }] },
});

test('a step that remains blocks its stop, and the model reads which; when all are done it is let go', async () => {
  const home = await makeHome();
  const model = await makeModel([todo('pending'), done, todo('completed'), { text: 'Now I am.' }]);
  const ended = await runGemini(gemini, home, model.url);
  expect(ended).toMatchObject({ code: 0, stdout: expect.stringContaining('Now I am.') });
  expect(model.requests).toHaveLength(4);
  expect(model.requests[2]?.said).toContain(blockWords);
  const [worker, ...others] = await workersIn(at, home);
  expect(worker).toMatchObject({ agent: 'gemini', state: 'stopped', plan: [{ status: 'completed' }] });
  expect(others).toEqual([]);
  expect(await causesOf(at, worker?.worker ?? '')).toEqual(['incomplete', 'complete']);
});

test.each([
  ['says only that it is done', [todo('pending'), done, done, done, done], 5],
  // After a tool its `stop_hook_active` is false again: only our own count ends this.
  [
    'uses a tool each time',
    [todo('pending'), done, todo('pending'), done, todo('pending'), done, todo('pending'), done],
    8,
  ],
] as const)('one that %s is let go after three blocks', async (_how, turns, count) => {
  const home = await makeHome();
  const model = await makeModel(turns);
  expect(await runGemini(gemini, home, model.url)).toMatchObject({ code: 0 });
  expect(model.requests).toHaveLength(count);
  const [worker] = await workersIn(at, home);
  const blocked = 'incomplete';
  expect(await causesOf(at, worker?.worker ?? '')).toEqual([blocked, blocked, blocked, 'capped']);
});

test('a service that is killed in the middle lets it stop, and that nothing was judged is said', async () => {
  const own = await deploy({ config, start: serveShipped });
  onTestFinished(() => own.close());
  const home = await makeHome(own.http);
  const model = await makeModel([todo('pending'), done, { ...done, before: () => own.service.kill('SIGKILL') }]);
  const ended = await runGemini(gemini, home, model.url);
  expect(ended.code).toBe(0);
  expect(model.requests).toHaveLength(3);
  expect(`${ended.stdout}${ended.stderr}`).toContain('this stop was not judged: no answer from');
});

test('the line that resumes its session is taken, and the session is the same worker', async () => {
  const home = await makeHome();
  const model = await makeModel([done, done]);
  await runGemini(gemini, home, model.url);
  const [worker] = await workersIn(at, home);
  const ended = await resumeAgent(gemini, worker, 'Use the other key', { at: home, env: geminiEnv(model.url) });
  expect(ended).toMatchObject({ code: 0 });
  expect(model.requests.at(-1)?.said).toContain('Use the other key');
  expect(model.requests).toHaveLength(2);
  expect((await workersIn(at, home)).map((it) => it.worker)).toEqual([worker?.worker]);
  expect(await causesOf(at, worker?.worker ?? '')).toEqual(['complete', 'complete']);
});

test('two sessions at once in one folder are two workers, each judged by its own plan', async () => {
  const home = await makeHome();
  const [open, closed] = [
    await makeModel([todo('pending'), done, todo('completed'), done]),
    await makeModel([todo('completed'), done]),
  ];
  const ended = await Promise.all([open, closed].map(({ url }) => runGemini(gemini, home, url)));
  expect(ended.map(({ code }) => code)).toEqual([0, 0]);
  expect([open, closed].map((model) => model.requests.length)).toEqual([4, 2]);
  const causes = await Promise.all((await workersIn(at, home)).map(({ worker }) => causesOf(at, worker)));
  expect(causes.sort((a, b) => a.length - b.length)).toEqual([['complete'], ['incomplete', 'complete']]);
});

test('its sub-agent asks for nothing; the stop that is judged is its parent’s', async () => {
  const home = await makeHome();
  const task = 'COUNT-THE-FILES';
  const delegate = { tool: 'invoke_agent', input: { agent_name: 'generalist', prompt: task } };
  const complete = { tool: 'complete_task', input: { result: { response: 'three' } } };
  const child = { match: `"text":"${task}`, turns: [complete] };
  const model = await makeModel([todo('pending'), delegate, done, todo('completed'), done], [child]);
  expect(await runGemini(gemini, home, model.url)).toMatchObject({ code: 0 });
  expect([model.requests.length, model.lane(child.match).length]).toEqual([5, 1]);
  const [worker, ...others] = await workersIn(at, home);
  expect(others).toEqual([]);
  expect(await causesOf(at, worker?.worker ?? '')).toEqual(['incomplete', 'complete']);
});

test('one that is escalated stops, says how it goes on, and goes on with what a person says', async () => {
  const home = await makeHome(at.http, '--policy', 'promising');
  const model = await makeModel([{ text: 'I need another key. <promise>BLOCKED</promise>' }, done]);
  const ended = await runGemini(gemini, home, model.url);
  const [waiting] = await workersIn(at, home);
  const session = waiting?.worker ?? '';
  expect(ended.stderr).toContain(`stopgate resolve ${session} --resume --prompt`);
  // The program has ended; whoever must look still must.
  expect(waiting).toMatchObject({ state: 'escalated', lastDecision: { cause: 'escalated' } });

  const word = ['--resume', '--prompt', 'Use the other key', '--yes', '--nats', at.server.url];
  const { stdout } = await runShipped(['resolve', session, ...word], { cwd: at.folder.path });
  expect(stdout).toContain(`gemini --resume ${session} 'Use the other key'`);
  await resumeAgent(gemini, waiting, 'Use the other key', { at: home, env: geminiEnv(model.url) });
  expect(model.requests.at(-1)?.said).toContain('Use the other key');
  expect(await causesOf(at, session)).toEqual(['escalated', 'complete']);
});

test('where the policy stops it when complete, it ends after the tool that completed the plan', async () => {
  const home = await makeHome(at.http, '--policy', 'eager');
  // It is asked for at most every 2 s.
  const later = { ...todo('completed'), before: () => new Promise((next) => setTimeout(next, 2_100)) };
  const model = await makeModel([todo('pending'), later, { text: 'never said' }]);
  const ended = await runGemini(gemini, home, model.url);
  expect(ended).toMatchObject({ code: 0, stdout: expect.not.stringContaining('never said') });
  expect(model.requests).toHaveLength(2);
  const [worker] = await workersIn(at, home);
  expect(worker).toMatchObject({ state: 'stopped', policy: 'eager' });
  expect(await causesOf(at, worker?.worker ?? '')).toEqual(['complete']);
});

describe('a hook program that fails with words on stderr', () => {
  /** Fails twice, so that what it blocks for ever comes to an end here. */
  const crash = `import { appendFileSync, readFileSync } from 'node:fs';
    appendFileSync(process.env.HOME + '/calls', 'x');
    if (readFileSync(process.env.HOME + '/calls', 'utf8').length > 2) process.exit(0);
    process.stderr.write('out of luck');
    process.exit(3);`;
  const broken = async (edit: (settings: string, home: AgentHome) => string) => {
    const home = await makeHome(at.http, '--form', 'command');
    await home.write('home/crash.mjs', crash);
    const file = `${home.path}/${settingsName}`;
    const settings = JSON.parse(edit(await readFile(file, 'utf8'), home));
    // Of all events only the one that can block.
    const { AfterAgent } = settings.hooks;
    await home.write(settingsName, JSON.stringify({ ...settings, hooks: { AfterAgent } }));
    const model = await makeModel([done, done, done, done]);
    expect(await runGemini(gemini, home, model.url)).toMatchObject({ code: 0 });
    return model.requests.length;
  };
  const program = /[^ "']+hook-command\/main\.js/g;
  const crashing = (text: string, home: AgentHome) => text.replaceAll(program, `${home.home}/crash.mjs`);

  test('is no block by the line that `init` writes', async () => {
    expect(await broken(crashing)).toBe(1);
  });
  test('nor is one that is missing', async () => {
    expect(await broken((text) => text.replaceAll(program, '/nowhere/hook.js'))).toBe(1);
  });
  test('would block without the end of that line', async () => {
    expect(await broken((text, home) => crashing(text, home).replaceAll(' || exit 0', ''))).toBe(3);
  });
});
