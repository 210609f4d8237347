/**
 * How a resolution reaches a session that waits for it: the request of OpenCode's plugin, and what `resolve` prints.
 */
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { runCommand } from '../../support/command.ts';
import { type Deployment, deploy } from '../../support/deployment.ts';
import { endService } from '../../support/service.ts';
import { type Answer, ask } from '../http/request.ts';

const config = 'policies: { default: { promises: true } }\n';

let at: Deployment;
beforeAll(async () => {
  at = await deploy({ config });
});
afterAll(() => at.close());

const giveUp = (session: string, { http } = at) =>
  ask(http, '/hooks/opencode', {
    body: {
      type: 'session.idle',
      properties: { sessionID: session },
      directory: '/work space/project',
      lastMessage: '<promise>BLOCKED</promise>',
    },
  });
const wake = (session: string, { http } = at, options: { onTaken?: () => void } = {}) =>
  ask(http, `/hooks/opencode/wake?worker=${session}`, { method: 'GET', ...options });
const resolve = (session: string, data: object) =>
  at.client.publish(`own.worker.${session}.escalation.resolved`, { by: 'me', ...data });

test('the request is held until a person resolves the escalation, and gets the prompt', async () => {
  expect((await giveUp('ses_1')).json).toMatchObject({ decision: 'allow', waits: true });
  let answer: Answer | null = null;
  const asked = wake('ses_1').then((it) => {
    answer = it;
  });
  // An acknowledgement changes the escalation, but does not resolve it.
  await at.client.publish('own.worker.ses_1.escalation.acknowledged', { by: 'me' });
  expect((await at.client.ask('get.worker.ses_1')).body).toMatchObject({ escalation: { acknowledgedBy: 'me' } });
  expect(answer).toBeNull();
  await resolve('ses_1', { verdict: 'resume', prompt: 'Use the other key' });
  await asked;
  expect(answer).toMatchObject({ status: 200, json: { prompt: 'Use the other key' } });
  // Until the session is prompted, the resolution can be requested again.
  expect((await wake('ses_1')).json).toEqual({ prompt: 'Use the other key' });
  await ask(at.http, '/hooks/opencode?event=chat.message', {
    body: { input: { sessionID: 'ses_1' }, output: { parts: [{ type: 'text', text: 'Use the other key' }] } },
  });
  expect((await wake('ses_1')).json).toEqual({ prompt: null });
});

test('a resolution to stop, or without a prompt, has a prompt of null', async () => {
  for (const [session, verdict] of [
    ['ses_2', 'stop'],
    ['ses_3', 'resume'],
  ] as const) {
    await giveUp(session);
    const asked = wake(session);
    await resolve(session, { verdict });
    expect((await asked).json).toEqual({ prompt: null });
  }
});

test('an unknown session, and a request without one, are errors', async () => {
  expect((await wake('ses_unknown')).status).toBe(404);
  expect((await wake('')).status).toBe(400);
  expect((await ask(at.http, '/hooks/nobody/wake?worker=w', { method: 'GET' })).status).toBe(404);
});

test('a stopping service ends the request, which must be sent again', async () => {
  const own = await deploy({ config });
  onTestFinished(() => own.close());
  await giveUp('ses_1', own);
  let asked: Promise<Answer> | undefined;
  // A connection whose request has not been read is closed without an answer.
  await new Promise<void>((onTaken) => {
    asked = wake('ses_1', own, { onTaken });
  });
  await endService(own.service);
  expect(await asked).toMatchObject({ status: 204 });
});

test('`stopgate resolve` prints how the agent gets the prompt', async () => {
  const say = async (session: string) => {
    const word = ['--resume', '--prompt', "Use Bob's key", '--yes', '--nats', at.server.url];
    return (await runCommand(['resolve', session, ...word], { cwd: at.folder.path })).stdout;
  };
  await giveUp('ses_4');
  expect(await say('ses_4')).toBe(
    [
      'ses_4: resolved; now idle',
      'its plugin prompts it while OpenCode runs',
      "to resume it: cd '/work space/project' && opencode run --session ses_4 'Use Bob'\\''s key'",
      '',
    ].join('\n'),
  );
  await at.client.publish('worker.w1.worker.registered', { agent: 'mine' });
  await at.client.ask('decide.w1', { output: '<promise>BLOCKED</promise>' });
  expect(await say('w1')).toBe('w1: resolved; now idle\nits agent gets this with the next prompt\n');
});
