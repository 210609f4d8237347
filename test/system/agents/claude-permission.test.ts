/** The real Claude Code asks for a permission, and an operator answers it. With both kinds of hooks. */
import { existsSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Deployment, deploy } from '../../support/deployment.ts';
import { runShipped } from '../../support/shipped.ts';
import { claudeCode, installAgent } from './support/install.ts';
import { claudeScene } from './support/scene.ts';
import { workersIn } from './support/workers.ts';

let claude: string;
let at: Deployment;
beforeAll(async () => {
  claude = await installAgent(claudeCode);
  at = await deploy({ config: 'policies: { default: { ask: 5m } }\n' });
});
afterAll(() => at.close());

const touch = { tool: 'Bash', input: { command: 'touch made', description: 'make a file' } };

describe.each([
  ['HTTP hooks', []],
  ['command hooks', ['--form', 'command']],
] as const)('by %s', (_form, init) => {
  /** `words` are the arguments of `stopgate answer`. */
  async function runAnswered(...words: string[]) {
    const scene = await claudeScene({ program: claude, http: at.http, init, turns: [touch, { text: 'done' }] });
    const running = scene.run('Make the file.', ['--permission-mode', 'default']);
    const asking = async () => (await workersIn(at, scene.home)).find(({ inputs }) => inputs[0]?.request)?.worker ?? '';
    await expect.poll(asking).not.toBe('');
    const args = ['answer', await asking(), ...words, '--yes', '--by', 'ann', '--nats', at.server.url];
    const answered = await runShipped(args, { cwd: at.folder.path });
    expect(answered).toMatchObject({ code: 0, stderr: '' });
    const ended = await running;
    expect(ended.code).toBe(0);
    const [worker] = await workersIn(at, scene.home);
    return { ...scene, worker, isMade: existsSync(`${scene.home.project}/made`) };
  }

  test('the tool runs if allowed', async () => {
    const { isMade, worker, model } = await runAnswered('--allow');
    expect(isMade).toBe(true);
    expect(model.requests).toHaveLength(2);
    expect(worker).toMatchObject({ awaitsInput: false, inputs: [], lastAnswer: { by: 'ann', verdict: 'allow' } });
  });

  test('the tool does not run if denied, and the model reads why', async () => {
    const { isMade, model } = await runAnswered('--deny', '--message', 'Not in this folder');
    expect(isMade).toBe(false);
    expect(model.requests[1]?.input).toContain('Not in this folder');
  });
});
