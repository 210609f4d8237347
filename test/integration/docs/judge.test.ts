/** The recipe of docs/configuration.md for an independent judge, as it stands there, with a scripted model. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { expect, onTestFinished, test } from 'vitest';
import { readEnvironment } from '../../../src/config/environment.ts';
import { deploy } from '../../support/deployment.ts';
import { root } from '../../support/markdown.ts';

type Asked = { model: string; messages: { role: string; content: string }[] };

/** An API of chat completions on loopback, which gives one answer after the other. */
async function scriptJudge(answers: readonly string[]) {
  const asked: Asked[] = [];
  const server = createServer(async (request, response) => {
    asked.push(JSON.parse(await text(request)));
    const content = answers[asked.length - 1];
    response.writeHead(content === undefined ? 500 : 200, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ choices: [{ message: { role: 'assistant', content } }] }));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(async () => {
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  });
  return { asked, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1` };
}

test('a second model judges, and what it does not judge is no pass', async () => {
  const at = await deploy({
    config: 'policies: { default: { retries: null, checks: [{ remote: judge, timeout: 20s, onError: block }] } }',
  });
  onTestFinished(at.close);
  const model = await scriptJudge([
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
    (await at.client.ask('decide.w1', { attempt, output: 'All done, trust me.' }, 25_000)).body;
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
