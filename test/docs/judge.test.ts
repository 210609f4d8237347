/** The judge of one's own of docs/judge.md, as it stands there, with a scripted model. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { expect, onTestFinished, test } from 'vitest';
import { readEnvironment } from '../../src/config/environment.ts';
import { deploy } from '../support/deployment.ts';
import { root } from '../support/markdown.ts';
import { scriptModel } from '../support/scripted-model.ts';

test('a second model judges, and what it does not judge is no pass', async () => {
  const at = await deploy({
    config: 'policies: { default: { retries: null, checks: [{ remote: judge, timeout: 20s, onError: block }] } }',
  });
  onTestFinished(at.close);
  const model = await scriptModel([
    '{ "complete": false, "reason": "The tests were not run." }',
    '{ "complete": true, "reason": "Every step is done." }',
    'It looks good to me!',
  ]);
  const { PATH = '' } = readEnvironment();
  const judge = spawn(process.execPath, [join(root, 'docs/examples/judge.mjs')], {
    env: { PATH, STOPGATE_NATS: at.server.url, JUDGE_URL: model.url, JUDGE_KEY: 'key', JUDGE_MODEL: 'small' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = once(judge, 'exit');
  onTestFinished(async () => {
    judge.kill('SIGTERM');
    expect(await ended).toEqual([0, null]);
  });
  expect(await once(createInterface(judge.stdout), 'line')).toEqual(['serves stopgate.main.check.judge']);

  await at.client.publish('worker.w1.plan.updated', { steps: [{ title: 'Run the tests', status: 'done' }] });
  const stop = async (attempt: string) =>
    (await at.client.ask('decide.w1', { attempt, output: 'All done, trust me.' })).body;
  expect(await stop('a1')).toMatchObject({
    ...{ decision: 'block', cause: 'incomplete', reason: 'The tests were not run.' },
    nextPrompt: expect.stringContaining('The tests were not run.'),
  });
  expect(await stop('a2')).toMatchObject({ decision: 'allow', cause: 'complete' });
  expect(await stop('a3')).toMatchObject({ decision: 'block', feedback: [{ check: 'judge', outcome: 'error' }] });
  expect(await stop('a4')).toMatchObject({
    decision: 'block',
    feedback: [{ outcome: 'error', message: expect.stringContaining('status 500') }],
  });

  const [system, user] = model.asked[0]?.messages ?? [];
  expect(system).toMatchObject({ role: 'system', content: expect.stringContaining('"complete": true or false') });
  expect(user?.role).toBe('user');
  expect(JSON.parse(user?.content ?? '')).toMatchObject({
    plan: [{ title: 'Run the tests', status: 'done' }],
    agentOutput: 'All done, trust me.',
  });
});
