/** A judge from stopgate.yaml to the decision, the log and the spend, by the service and by `stopgate runner`. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { readEnvironment } from '../../../src/config/environment.ts';
import { type Deployment, deploy } from '../../support/deployment.ts';
import { type Answer, openJudge, replies } from '../../support/judge-model.ts';
import { endService, type Service, startService } from '../../support/service.ts';

const key = 'sk-of-the-service';
let answer: Answer = { pass: true, reason: 'fine' };
let model: Awaited<ReturnType<typeof openJudge>>;
let at: Deployment;
let box: Service;

beforeAll(async () => {
  const give: Answer = (response) => (typeof answer === 'function' ? answer : replies(200, verdict(answer)))(response);
  model = await openJudge([give], { endsWithTest: false });
  const judge = { prompt: 'Report.md says why.', model: 'claude-x', endpoint: model.origin, keyEnv: 'JUDGE_KEY' };
  const checks = [{ judge, onError: 'block' }];
  const policies = { default: { checks }, away: { runner: 'box', checks }, lax: { checks: [{ judge }] } };
  at = await deploy({ config: JSON.stringify({ policies }), env: { JUDGE_KEY: key } });
  const { PATH = '' } = readEnvironment();
  await promisify(execFile)('git', ['init', '-q'], { cwd: at.folder.path, env: { PATH } });
  await at.folder.write('report.md', 'Because.\n');
  await at.folder.write('box.yaml', JSON.stringify({ judges: [{ endpoint: model.origin, keyEnv: 'JUDGE_KEY' }] }));
  const args = ['runner', '--name', 'box', '--nats', at.server.url, '--config', 'box.yaml'];
  box = await startService(args, at.folder.path, { JUDGE_KEY: key });
});
afterAll(async () => {
  await endService(box);
  await at.close();
  await model.close();
});

const verdict = (input: unknown) => ({
  ...{ type: 'message', content: [{ type: 'tool_use', name: 'verdict', input }] },
  usage: { input_tokens: 1_000, output_tokens: 50 },
});
const stored = (subject: string) => at.client.stored('STOPGATE_main', `stopgate.main.${subject}`);

test.each([
  { where: 'the service', policy: 'default' },
  { where: 'stopgate runner', policy: 'away' },
])('in $where its no blocks with its reason, its yes completes, and both are counted once', async ({ policy }) => {
  const worker = `w-${policy}`;
  await at.client.publish(`task.T-${policy}.task.created`, { title: 'Say why' });
  await at.client.publish(`worker.${worker}.worker.registered`, { policy, cwd: at.folder.path });
  await at.client.publish(`worker.${worker}.task.claimed`, { task: `T-${policy}` });
  const stop = async (attempt: string) =>
    (await at.client.ask(`decide.${worker}`, { attempt, output: 'I wrote it.' })).body;
  answer = { pass: false, reason: 'It does not say since when.' };
  expect(await stop('a1')).toMatchObject({
    ...{ decision: 'block', cause: 'incomplete', reason: 'It does not say since when.' },
    feedback: [{ check: 'judge', outcome: 'fail', message: 'It does not say since when.' }],
    nextPrompt: expect.stringContaining('It does not say since when.'),
  });
  const { path, headers, system, user } = model.asked.at(-1) ?? {};
  expect([path, headers?.['x-api-key']]).toEqual(['/v1/messages', key]);
  expect(system).toContain('Report.md says why.');
  for (const shown of [`T-${policy}: Say why`, 'I wrote it.', '+Because.']) expect(user).toContain(shown);
  expect((await at.client.ask(`decide.${worker}`, { attempt: 'a1' })).body).toMatchObject({ attempt: 'a1' });
  answer = { pass: true, reason: 'It does.' };
  expect(await stop('a2')).toMatchObject({ decision: 'allow', cause: 'complete' });
  expect(await stored(`own.worker.${worker}.check.finished`)).toMatchObject([
    { check: 'judge', outcome: 'fail', metadata: { model: 'claude-x' } },
    { check: 'judge', outcome: 'pass', reason: 'It does.' },
  ]);
  const report = { input: 1_000, output: 50, model: 'claude-x' };
  expect(await stored(`worker.${worker}.usage.reported`)).toEqual([report, report]);
  const { body } = await at.client.ask(`get.worker.${worker}`);
  expect(body).toMatchObject({ usage: { session: { tokens: 2_100 } } });
});

test.each([
  { policy: 'default', decision: { decision: 'block', cause: 'incomplete' } },
  { policy: 'lax', decision: { decision: 'allow', action: 'continue', cause: 'unjudged' } },
])('an answer that is no answer is never a pass: $policy', async ({ policy, decision }) => {
  answer = replies(200, { content: [{ type: 'text', text: 'pass' }] });
  await at.client.publish(`worker.no-${policy}.worker.registered`, { policy, cwd: at.folder.path });
  const { body } = await at.client.ask(`decide.no-${policy}`, { attempt: 'a1' });
  expect(body).toMatchObject({
    ...decision,
    feedback: [{ outcome: 'error', message: 'Judge "claude-x" gave no verdict: its answer is not one verdict' }],
  });
});

test('the key is in no entry and in no line of the log', async () => {
  answer = replies(401, { error: { message: `not ${key}` } });
  await at.client.publish('worker.told.worker.registered', { policy: 'default', cwd: at.folder.path });
  const { body } = await at.client.ask('decide.told', { attempt: 'a1' });
  expect(body).toMatchObject({ feedback: [{ message: 'Judge "claude-x" answered 401: not ***' }] });
  expect(JSON.stringify([await stored('>'), at.log()])).not.toContain(key);
});
