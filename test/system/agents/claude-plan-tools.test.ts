/** When the real Claude Code offers plan tools to its model, and how `stopgate init` enables them. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { program, readPlanTools } from '../../../src/agents/claude/settings.ts';
import { type Deployment, deploy } from '../../support/deployment.ts';
import { claudeCode, installAgent } from './support/install.ts';
import { claudeScene, type SceneOptions } from './support/scene.ts';
import { expectCauses, planPolicy } from './support/workers.ts';

let claude: string;
let at: Deployment;
beforeAll(async () => {
  claude = await installAgent(claudeCode);
  at = await deploy({ config: 'policies: { default: { checks: [{ rules: [done] }], retries: 0 } }\n' });
});
afterAll(() => at.close());

const scene = (options: Partial<SceneOptions>, { http }: Deployment = at) =>
  claudeScene({ program: claude, http, turns: [{ text: 'done' }], ...options });
const planTool = expect.arrayContaining(['TaskCreate', 'TaskUpdate']);

const variable = 'CLAUDE_CODE_ENABLE_TODO_TOOLS';
test.each<[settings: object, env: Record<string, string>]>([
  [{}, {}],
  [{ model: 'opus' }, {}],
  [{ model: 'claude-opus-4-5' }, {}],
  [{ model: 'claude-opus-4-7' }, {}],
  [{ model: 'claude-opus-4-8' }, {}],
  [{ model: 'claude-sonnet-5' }, {}],
  [{ model: 'claude-haiku-4-5-20251001' }, {}],
  [{ model: 'opus' }, { ANTHROPIC_MODEL: 'claude-sonnet-4-6[1m]' }],
  [{ model: 'sonnet' }, { ANTHROPIC_DEFAULT_SONNET_MODEL: 'claude-sonnet-4-5' }],
  [{}, { [variable]: 'yes' }],
  [{}, { [variable]: '2' }],
  [{ env: { [variable]: '0' } }, { [variable]: '1' }],
])('with settings %j and environment %j, plan tools are offered as predicted', async (settings, env) => {
  const { home, model, run } = await scene({ env });
  await home.write('home/.claude/settings.json', JSON.stringify(settings));
  const places = { cwd: home.project, home: home.home, env };
  const { state } = readPlanTools(places, program.folder(places));
  expect((await run('Say hello.')).code).toBe(0);
  expect(model.requests[0]?.tools.includes('TaskCreate')).toBe(state === 'on');
});

test('init enables them only if a policy has a plan check', async () => {
  const without = await scene({});
  expect((await without.run('Say hello.')).code).toBe(0);
  expect(without.model.requests[0]?.tools).not.toContain('TaskCreate');

  const planned = await deploy({ config: planPolicy });
  try {
    const plan = { tool: 'TaskCreate', input: { subject: 'Write the tests', description: 'of the parser' } };
    const finish = { tool: 'TaskUpdate', input: { taskId: '1', status: 'completed' } };
    const { model, run } = await scene({ turns: [plan, { text: 'one' }, finish, { text: 'two' }] }, planned);
    const { worker } = await run('Write the tests.');
    expect(model.requests[0]?.tools).toEqual(planTool);
    await expectCauses(planned, worker, ['incomplete', 'complete']);
  } finally {
    await planned.close();
  }
});
