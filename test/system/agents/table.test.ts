/** The agents of the table that are on npm: real programs with a scripted model and a real stopgate. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Deployment } from '../../support/deployment.ts';
import { chatCompletions } from './support/chat-completions.ts';
import { connectAgent, resumeAgent } from './support/connect.ts';
import { deployForAgents } from './support/deploy.ts';
import { installAgent } from './support/install.ts';
import { makeAgentHome } from './support/run.ts';
import { scriptModel, type Turn } from './support/scripted-model.ts';
import { envOf, runTableAgent, stalledTurns, tableAgents, writeOwnSettings } from './support/table.ts';
import { causesOf, done, expectCauses, workersIn } from './support/workers.ts';

const config =
  'policies: { default: { checks: [{ rules: [tests_pass] }] }, files: { checks: [{ rules: [tests_pass], when: { filesMatch: "*.txt" } }] } }\n';
const missing = 'Failed rules: tests_pass';

let at: Deployment;
beforeAll(async () => {
  at = await deployForAgents({ config });
});
afterAll(() => at.close());

describe.each(tableAgents)('$agent', (row) => {
  const { agent, args, writes, stalled, resumes } = row;
  let program: string;
  beforeAll(async () => {
    program = await installAgent(row.program);
  });

  async function scene(turns: readonly Turn[], init: readonly string[] = []) {
    const home = await makeAgentHome();
    const model = await scriptModel(chatCompletions, turns);
    await writeOwnSettings(agent, home, model.url);
    await connectAgent(agent, home, { program, http: at.http, init: ['--user', ...init] });
    return { home, model, run: (words = args) => runTableAgent(row, program, home, words) };
  }

  test.each([['curl'], ['command']])('its stop is judged, with hooks of the form %s', async (form) => {
    const { home, model, run } = await scene(stalledTurns, ['--form', form]);
    expect(await run()).toMatchObject({ code: 0 });
    await expect.poll(() => workersIn(at, home)).toMatchObject([{ agent, cwd: home.project }]);
    const [worker] = await workersIn(at, home);
    await expectCauses(at, worker?.worker ?? '', stalled);
    const isHeld = agent !== 'cline';
    expect(model.requests).toHaveLength(isHeld ? Math.max(2, stalled.length) : 1);
    expect(model.requests[1]?.input.includes(missing) ?? false).toBe(isHeld);
  });

  test('a file that it writes is known', async () => {
    const { home, run } = await scene([writes, done, done, done, done], ['--policy', 'files']);
    expect(await run()).toMatchObject({ code: 0 });
    await expect.poll(() => workersIn(at, home)).toMatchObject([{ filesModified: { unknown: false } }]);
    const [worker] = await workersIn(at, home);
    await expectCauses(at, worker?.worker ?? '', stalled);
  });

  test('nothing written, nothing to check', async () => {
    const { home, run } = await scene([done], ['--policy', 'files']);
    await run();
    await expect.poll(async () => causesOf(at, (await workersIn(at, home))[0]?.worker ?? '')).toEqual(['complete']);
  });

  test.skipIf(!resumes)('the printed command resumes the session as the same worker', async () => {
    const { home, model, run } = await scene([done, done, done], ['--policy', 'files']);
    await run();
    await expect.poll(async () => (await workersIn(at, home))[0]?.state).toBe('stopped');
    const [worker] = await workersIn(at, home);
    const ended = await resumeAgent(program, worker, 'Use the other key', { at: home, env: envOf(agent, program) });
    expect(ended).toMatchObject({ code: 0 });
    expect(model.requests.at(-1)?.input).toContain('Use the other key');
    expect((await workersIn(at, home)).map((it) => it.worker)).toEqual([worker?.worker]);
  });
});
