/** The real Gemini CLI, beyond the tests for all headless agents (plan-turns.test.ts). Model turns are counted. */
import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Deployment } from '../../support/deployment.ts';
import { runShipped } from '../../support/shipped.ts';
import { resumeAgent } from './support/connect.ts';
import { deployForAgents } from './support/deploy.ts';
import { geminiEnv } from './support/gemini.ts';
import { gemini, makeHeadlessHome } from './support/headless.ts';
import { installAgent } from './support/install.ts';
import type { AgentHome } from './support/run.ts';
import { type Conversation, scriptModel, type Turn } from './support/scripted-model.ts';
import { causesOf, done, planPolicy, workersIn } from './support/workers.ts';

const config = `${planPolicy.replace(/ }\n$/, '')}, eager: { stopWhenComplete: true, checks: [{ plan: {} }] }, promising: { promises: true, checks: [{ plan: {} }] } }\n`;

let program: string;
let at: Deployment;
beforeAll(async () => {
  program = await installAgent(gemini.program);
  at = await deployForAgents({ config });
});
afterAll(() => at.close());

const makeHome = (...init: string[]) => makeHeadlessHome(gemini, { program, http: at.http, init: ['--user', ...init] });
const makeModel = (turns: readonly Turn[], conversations?: readonly Conversation[]) =>
  scriptModel(gemini.api, turns, conversations);
const { open, close, run } = gemini;

test('a sub-agent does not ask to stop; only its parent’s stop is judged', async () => {
  const home = await makeHome();
  const task = 'COUNT-THE-FILES';
  const delegate = { tool: 'invoke_agent', input: { agent_name: 'generalist', prompt: task } };
  const complete = { tool: 'complete_task', input: { result: { response: 'three' } } };
  const child = { match: `"text":"${task}`, turns: [complete] };
  const model = await makeModel([open, delegate, done, close, done], [child]);
  expect(await run(program, home, model.url)).toMatchObject({ code: 0 });
  expect([model.requests.length, model.conversation(child.match).length]).toEqual([5, 1]);
  const [worker, ...others] = await workersIn(at, home);
  expect(others).toEqual([]);
  expect(await causesOf(at, worker?.worker ?? '')).toEqual(['incomplete', 'complete']);
});

test('an escalated session stops, says how to resume it, and resumes with a person’s prompt', async () => {
  const home = await makeHome('--policy', 'promising');
  const model = await makeModel([{ text: 'I need another key. <promise>BLOCKED</promise>' }, done]);
  const ended = await run(program, home, model.url);
  const [waiting] = await workersIn(at, home);
  const session = waiting?.worker ?? '';
  expect(ended.stderr).toContain(`stopgate resolve ${session} --resume --prompt`);
  // The program has ended, but the escalation is still open.
  expect(waiting).toMatchObject({ state: 'escalated', lastDecision: { cause: 'escalated' } });

  const word = ['--resume', '--prompt', 'Use the other key', '--yes', '--nats', at.server.url];
  const { stdout } = await runShipped(['resolve', session, ...word], { cwd: at.folder.path });
  expect(stdout).toContain(`gemini --resume ${session} 'Use the other key'`);
  await resumeAgent(program, waiting, 'Use the other key', { at: home, env: geminiEnv(model.url) });
  expect(model.requests.at(-1)?.input).toContain('Use the other key');
  expect(await causesOf(at, session)).toEqual(['escalated', 'complete']);
});

test('with stopWhenComplete, it ends after the tool that completed the plan', async () => {
  const home = await makeHome('--policy', 'eager');
  // Checked at most every 2 s.
  const later = { ...close, before: () => new Promise((next) => setTimeout(next, 2_100)) };
  const model = await makeModel([open, later, { text: 'never said' }]);
  const ended = await run(program, home, model.url);
  expect(ended).toMatchObject({ code: 0, stdout: expect.not.stringContaining('never said') });
  expect(model.requests).toHaveLength(2);
  const [worker] = await workersIn(at, home);
  expect(worker).toMatchObject({ state: 'stopped', policy: 'eager' });
  expect(await causesOf(at, worker?.worker ?? '')).toEqual(['complete']);
});

const settingsFile = 'home/.gemini/settings.json';

describe('a hook program that fails with a message on stderr', () => {
  /** Fails only twice, so that the test ends although it would block forever. */
  const crash = `import { appendFileSync, readFileSync } from 'node:fs';
    appendFileSync(process.env.HOME + '/calls', 'x');
    if (readFileSync(process.env.HOME + '/calls', 'utf8').length > 2) process.exit(0);
    process.stderr.write('out of luck');
    process.exit(3);`;
  const broken = async (edit: (settings: string, home: AgentHome) => string) => {
    const home = await makeHome('--form', 'command');
    await home.write('home/crash.mjs', crash);
    const file = `${home.path}/${settingsFile}`;
    const settings = JSON.parse(edit(await readFile(file, 'utf8'), home));
    // Only the event that can block.
    const { AfterAgent } = settings.hooks;
    await home.write(settingsFile, JSON.stringify({ ...settings, hooks: { AfterAgent } }));
    const model = await makeModel([done, done, done, done]);
    expect(await run(program, home, model.url)).toMatchObject({ code: 0 });
    return model.requests.length;
  };
  const hookProgram = /[^ "']+hook-command\/main\.js/g;
  const crashing = (text: string, home: AgentHome) => text.replaceAll(hookProgram, `${home.home}/crash.mjs`);

  test('does not block with the command that `init` writes', async () => {
    expect(await broken(crashing)).toBe(1);
  });
  test('does not block if it is missing', async () => {
    expect(await broken((text) => text.replaceAll(hookProgram, '/nowhere/hook.js'))).toBe(1);
  });
  test('would block without the end of that command', async () => {
    expect(await broken((text, home) => crashing(text, home).replaceAll(' || exit 0', ''))).toBe(3);
  });
});
