/** The real Copilot CLI, beyond the tests for all headless agents (plan-turns.test.ts). Model turns are counted. */
import { tmpdir } from 'node:os';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Deployment } from '../../support/deployment.ts';
import { deployForAgents } from './support/deploy.ts';
import { copilot, makeHeadlessHome } from './support/headless.ts';
import { installAgent } from './support/install.ts';
import { type Conversation, scriptModel, type Turn } from './support/scripted-model.ts';
import { causesOf, done, workersIn } from './support/workers.ts';

/** Sub-agents have to write a report. */
const config = `
policies: { default: { checks: [{ plan: {} }] }, report: { checks: [{ files: [report.md] }] } }
assign: [{ labels: { subagent: general-purpose }, policy: report }]
roots: [${tmpdir()}]
`;

let program: string;
let at: Deployment;
beforeAll(async () => {
  program = await installAgent(copilot.program);
  at = await deployForAgents({ config });
});
afterAll(() => at.close());

const makeHome = () => makeHeadlessHome(copilot, { program, http: at.http });
const makeModel = (turns: readonly Turn[], conversations?: readonly Conversation[]) =>
  scriptModel(copilot.api, turns, conversations);
const { open, close: closed, run } = copilot;

const childTask = 'COUNT-THE-FILES';
const delegate = (mode: 'sync' | 'background'): Turn => ({
  tool: 'task',
  input: { agent_type: 'general-purpose', name: 'counter', description: 'count', prompt: childTask, mode },
});
const writes: Turn = { tool: 'bash', input: { command: 'echo 3 > report.md', description: 'write the report' } };
/** Its prompt follows a line with the date. */
const childMatch = `\\n\\n${childTask}`;
const childConversation = (...turns: Turn[]): Conversation => ({ match: childMatch, turns });

test('a sub-agent is judged by its own policy, separately from its parent', async () => {
  const home = await makeHome();
  const model = await makeModel([open, delegate('sync'), done, closed, done], [childConversation(done, writes, done)]);
  expect(await run(program, home, model.url)).toMatchObject({ code: 0 });
  expect([model.requests.length, model.conversation(childMatch).length]).toEqual([5, 3]);
  expect(model.conversation(childMatch)[1]?.input).toContain('report.md');
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

test('a step that a sub-agent completes is completed for its parent', async () => {
  const home = await makeHome();
  const model = await makeModel([open, delegate('sync'), done], [childConversation(closed, writes, done)]);
  expect(await run(program, home, model.url)).toMatchObject({ code: 0 });
  expect([model.requests.length, model.conversation(childMatch).length]).toEqual([3, 3]);
  const parent = (await workersIn(at, home)).find((it) => it.parent === null);
  expect(await causesOf(at, parent?.worker ?? '')).toEqual(['complete']);
});

test('a background sub-agent is waited for, and its end does not reset the retries', async () => {
  const home = await makeHome();
  const parentWaits = async () => {
    const parent = async () => (await workersIn(at, home)).find((it) => it.parent === null);
    await expect.poll(async () => (await parent())?.lastDecision?.cause).toBe('waiting');
  };
  const child = childConversation({ ...writes, before: parentWaits }, done);
  const turns = [open, done, delegate('background'), done, done, done, done];
  const model = await makeModel(turns, [child]);
  expect(await run(program, home, model.url)).toMatchObject({ code: 0 });
  expect([model.requests.length, model.conversation(childMatch).length]).toEqual([turns.length, 2]);
  const parent = (await workersIn(at, home)).find((it) => it.parent === null);
  const blocked = 'incomplete';
  const causes = await causesOf(at, parent?.worker ?? '');
  // On a busy machine the sub-agent's start may be reported after the parent's next stop.
  expect(causes.filter((cause) => cause !== 'waiting')).toEqual([blocked, blocked, blocked, 'capped']);
  expect(causes).toHaveLength(5);
});
