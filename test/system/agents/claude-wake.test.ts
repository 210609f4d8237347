/** The real Claude Code, kept open for more input, with a scripted model: a resolution wakes an escalated session. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Deployment, deploy } from '../../support/deployment.ts';
import { runShipped } from '../../support/shipped.ts';
import { claudeCode, installAgent } from './support/install.ts';
import { openClaude } from './support/open-claude.ts';
import type { AgentHome } from './support/run.ts';
import { claudeScene } from './support/scene.ts';
import type { Turn } from './support/scripted-model.ts';
import { expectCauses, viewOf } from './support/workers.ts';

const stuck = { text: 'I need another key. <promise>BLOCKED</promise>' };

let claude: string;
let at: Deployment;
beforeAll(async () => {
  claude = await installAgent(claudeCode);
  at = await deploy({ config: 'policies: { default: { promises: true, checks: [{ plan: {} }] } }\n' });
});
afterAll(() => at.close());

async function begin(turns: readonly Turn[], init: readonly string[] = []) {
  const scene = await claudeScene({ program: claude, http: at.http, turns, init: ['--wake', ...init] });
  return { ...scene, agent: await openClaude(claude, { home: scene.home, modelUrl: scene.model.url }) };
}
const resolve = (session: string, { path }: AgentHome, ...word: string[]) =>
  runShipped(['resolve', session, ...word, '--yes', '--nats', at.server.url], { cwd: path });

test.each([
  ['HTTP', []],
  ['command', ['--form', 'command']],
])('it continues once with the prompt of the resolution, with %s hooks', async (_form, init) => {
  const { home, model, agent } = await begin([stuck, stuck, { text: 'done' }, { text: 'never said' }], init);
  await expectCauses(at, agent.session, ['escalated']);
  await resolve(agent.session, home, '--resume', '--prompt', 'Use the other key');
  await expectCauses(at, agent.session, ['escalated', 'escalated']);
  expect(model.requests[1]?.input).toContain('says: Use the other key');
  await resolve(agent.session, home, '--resume', '--prompt', 'Use the third key');
  await expectCauses(at, agent.session, ['escalated', 'escalated', 'complete']);
  expect(model.requests[2]?.input).toContain('says: Use the third key');
  expect((await viewOf(at, agent.session)).resolution).toBeNull();
  expect(model.requests).toHaveLength(3);
  await agent.end();
});

test('a session that a person stopped is not woken, nor is a blocked one', async () => {
  const plan = { tool: 'TaskCreate', input: { subject: 'Write the tests', description: 'of the parser' } };
  const done = { tool: 'TaskUpdate', input: { taskId: '1', status: 'completed' } };
  const { home, model, agent } = await begin([plan, { text: 'one' }, done, stuck, { text: 'never said' }]);
  await expectCauses(at, agent.session, ['incomplete', 'escalated']);
  await resolve(agent.session, home, '--stop');
  expect((await viewOf(at, agent.session)).state).toBe('stopped');
  // Nothing waits any longer: a hook still in the background would delay its end.
  await agent.end();
  expect(model.requests).toHaveLength(4);
});
