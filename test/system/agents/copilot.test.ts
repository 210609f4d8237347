/** The real Copilot CLI, with a scripted model, behind a real stopgate. Each model turn is counted: a block costs one. */
import { tmpdir } from 'node:os';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { type Deployment, deploy } from '../../support/deployment.ts';
import { serveShipped } from '../../support/service.ts';
import { chatCompletions } from './support/chat-completions.ts';
import { connectAgent, resumeAgent } from './support/connect.ts';
import { copilotCli, copilotEnv, runCopilot } from './support/copilot.ts';
import { installAgent } from './support/install.ts';
import { type AgentHome, makeAgentHome } from './support/run.ts';
import { type Lane, scriptModel, type Turn } from './support/scripted-model.ts';
import { blockWords, causesOf, done, workersIn } from './support/workers.ts';

/** Sub-agents have to write a report. */
const config = `
policies: { default: { checks: [{ plan: {} }] }, report: { checks: [{ files: [report.md] }] } }
assign: [{ labels: { subagent: general-purpose }, policy: report }]
roots: [${tmpdir()}]
`;

let copilot: string;
let at: Deployment;
beforeAll(async () => {
  copilot = await installAgent(copilotCli);
  at = await deploy({ config });
}, 300_000);
afterAll(() => at.close());

async function makeHome(http = at.http): Promise<AgentHome> {
  const home = await makeAgentHome();
  await connectAgent('copilot', home, { program: copilot, http, init: ['--user'] });
  return home;
}
const makeModel = (turns: readonly Turn[], lanes?: readonly Lane[]) => scriptModel(chatCompletions, turns, lanes);
const sql = (query: string): Turn => ({ tool: 'sql', input: { query, description: 'the plan' } });
const open = sql("INSERT INTO todos (id, title, status) VALUES ('tests', 'Write the tests', 'pending')");
const closed = sql("UPDATE todos SET status = 'done' WHERE id = 'tests'");

test('a step that remains blocks its stop, and the model reads which; when all are done it is let go', async () => {
  const home = await makeHome();
  const model = await makeModel([open, done, closed, { text: 'Now I am.' }]);
  const ended = await runCopilot(copilot, home, model.url);
  expect(ended).toMatchObject({ code: 0, stdout: expect.stringContaining('Now I am.') });
  expect(model.requests).toHaveLength(4);
  expect(model.requests[2]?.said).toContain(blockWords);
  const [worker, ...others] = await workersIn(at, home);
  expect(worker).toMatchObject({ agent: 'copilot', state: 'stopped', plan: [{ status: 'done' }] });
  expect(others).toEqual([]);
  expect(await causesOf(at, worker?.worker ?? '')).toEqual(['incomplete', 'complete']);
});

test('one that never gets anywhere is let go after three blocks', async () => {
  const home = await makeHome();
  const model = await makeModel([open, done, done, done, done]);
  expect(await runCopilot(copilot, home, model.url)).toMatchObject({ code: 0 });
  expect(model.requests).toHaveLength(5);
  const [worker] = await workersIn(at, home);
  const blocked = 'incomplete';
  expect(await causesOf(at, worker?.worker ?? '')).toEqual([blocked, blocked, blocked, 'capped']);
});

test('a service that is killed in the middle lets it stop; it shows nothing of what its hook says', async () => {
  const own = await deploy({ config, start: serveShipped });
  onTestFinished(() => own.close());
  const home = await makeHome(own.http);
  const model = await makeModel([open, done, { ...done, before: () => own.service.kill('SIGKILL') }]);
  const ended = await runCopilot(copilot, home, model.url);
  expect(ended.code).toBe(0);
  // Its hooks have no field for a message, and what they say on stderr is dropped.
  expect(`${ended.stdout}${ended.stderr}`).not.toContain('stopgate');
  expect(model.requests).toHaveLength(3);
});

test('the line that resumes its session is taken, and the session is the same worker', async () => {
  const home = await makeHome();
  const model = await makeModel([done, done]);
  await runCopilot(copilot, home, model.url);
  const [worker] = await workersIn(at, home);
  const ended = await resumeAgent(copilot, worker, 'Use the other key', { at: home, env: copilotEnv(model.url) });
  expect(ended).toMatchObject({ code: 0 });
  expect(model.requests.at(-1)?.said).toContain('Use the other key');
  expect(model.requests).toHaveLength(2);
  expect((await workersIn(at, home)).map((it) => it.worker)).toEqual([worker?.worker]);
  expect(await causesOf(at, worker?.worker ?? '')).toEqual(['complete', 'complete']);
});

test('two sessions at once in one folder are two workers, each judged by its own plan', async () => {
  const home = await makeHome();
  const [first, second] = [await makeModel([open, done, closed, done]), await makeModel([done])];
  const ended = await Promise.all([first, second].map(({ url }) => runCopilot(copilot, home, url)));
  expect(ended.map(({ code }) => code)).toEqual([0, 0]);
  expect([first, second].map((model) => model.requests.length)).toEqual([4, 1]);
  const causes = await Promise.all((await workersIn(at, home)).map(({ worker }) => causesOf(at, worker)));
  expect(causes.sort((a, b) => a.length - b.length)).toEqual([['complete'], ['incomplete', 'complete']]);
});

const childTask = 'COUNT-THE-FILES';
const delegate = (mode: 'sync' | 'background'): Turn => ({
  tool: 'task',
  input: { agent_type: 'general-purpose', name: 'counter', description: 'count', prompt: childTask, mode },
});
const writes: Turn = { tool: 'bash', input: { command: 'echo 3 > report.md', description: 'write the report' } };
/** Its prompt stands after a line with the date. */
const childMatch = `\\n\\n${childTask}`;
const childLane = (...turns: Turn[]): Lane => ({ match: childMatch, turns });

test('a sub-agent is judged by its own policy, and its stop is not its parent’s', async () => {
  const home = await makeHome();
  const model = await makeModel([open, delegate('sync'), done, closed, done], [childLane(done, writes, done)]);
  expect(await runCopilot(copilot, home, model.url)).toMatchObject({ code: 0 });
  expect([model.requests.length, model.lane(childMatch).length]).toEqual([5, 3]);
  expect(model.lane(childMatch)[1]?.said).toContain('report.md');
  const workers = await workersIn(at, home);
  const parent = workers.find((it) => it.parent === null)?.worker;
  expect(workers.map((it) => [it.parent, it.policy]).sort()).toEqual(
    [
      [parent, 'report'],
      [null, 'default'],
    ].sort(),
  );
  for (const { worker } of workers) expect(await causesOf(at, worker)).toEqual(['incomplete', 'complete']);
});

test('a step that a sub-agent closes is closed for its parent: they share one table', async () => {
  const home = await makeHome();
  const model = await makeModel([open, delegate('sync'), done], [childLane(closed, writes, done)]);
  expect(await runCopilot(copilot, home, model.url)).toMatchObject({ code: 0 });
  expect([model.requests.length, model.lane(childMatch).length]).toEqual([3, 3]);
  const parent = (await workersIn(at, home)).find((it) => it.parent === null);
  expect(await causesOf(at, parent?.worker ?? '')).toEqual(['complete']);
});

test('a sub-agent in the background is waited for; its end is no prompt that would begin the retries anew', async () => {
  const home = await makeHome();
  const parentWaits = async () => {
    const parent = async () => (await workersIn(at, home)).find((it) => it.parent === null);
    await expect.poll(async () => (await parent())?.lastDecision?.cause, { timeout: 30_000 }).toBe('waiting');
  };
  const child = childLane({ ...writes, before: parentWaits }, done);
  const turns = [open, done, delegate('background'), done, done, done, done];
  const model = await makeModel(turns, [child]);
  expect(await runCopilot(copilot, home, model.url)).toMatchObject({ code: 0 });
  expect([model.requests.length, model.lane(childMatch).length]).toEqual([turns.length, 2]);
  const parent = (await workersIn(at, home)).find((it) => it.parent === null);
  const blocked = 'incomplete';
  expect(await causesOf(at, parent?.worker ?? '')).toEqual([blocked, 'waiting', blocked, blocked, 'capped']);
});
