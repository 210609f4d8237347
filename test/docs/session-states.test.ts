/** The receiver of docs/session-states.md, with a real service and stand-ins for the APIs of Linear and Slack. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, onTestFinished, test } from 'vitest';
import { deploy, makeFolder } from '../support/deployment.ts';
import { openLoopbackServer } from '../support/loopback-server.ts';
import { root } from '../support/markdown.ts';

const secret = 'between-the-two';

/** Answers like Linear and Slack; refuses the first call, as both do when they are busy. */
async function openApis() {
  const calls: { path: string; authorization: string | undefined; body: Record<string, unknown> }[] = [];
  let count = 0;
  const { origin, close } = await openLoopbackServer(async (request, response) => {
    const body = JSON.parse(await text(request)) as Record<string, unknown>;
    count += 1;
    if (count === 1) return void response.writeHead(503).end();
    calls.push({ path: request.url ?? '', authorization: request.headers.authorization, body });
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ ok: true, data: { agentActivityCreate: { success: true } } }));
  });
  onTestFinished(close);
  return { calls, url: origin };
}

test('what needs a person is the state of its session in Linear and Slack, once', async () => {
  const apis = await openApis();
  const sessions = { w1: { linear: 'LS-1', slack: { channel: 'C1', thread: '1.2' } } };
  const folder = await makeFolder({ 'sessions.json': JSON.stringify(sessions) });
  onTestFinished(() => folder.remove());
  const child = spawn(process.execPath, [join(root, 'docs/examples/session-states.mjs')], {
    env: {
      HOOK_SECRET: secret,
      SESSIONS: join(folder.path, 'sessions.json'),
      LINEAR_TOKEN: 'lin',
      SLACK_TOKEN: 'xoxb',
      LINEAR_URL: `${apis.url}/graphql`,
      SLACK_URL: `${apis.url}/api`,
      LISTEN: '127.0.0.1:0',
    },
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  onTestFinished(async () => {
    child.kill('SIGTERM');
    if (child.exitCode === null) await once(child, 'exit');
  });
  const [line] = (await once(child.stdout, 'data')) as [Buffer];
  const receiver = /http:\S+/.exec(line.toString())?.[0] ?? '';

  const config = `policies: { default: { promises: true } }
escalation: { webhook: { url: "${receiver}", secretEnv: HOOK_SECRET, links: { url: "https://stop.example" } } }\n`;
  const at = await deploy({ config, env: { HOOK_SECRET: secret } });
  onTestFinished(at.close);
  // Nobody has named a session of w2.
  for (const worker of ['w2', 'w1'])
    await at.client.ask(`decide.${worker}`, { attempt: 'a1', output: '<promise>BLOCKED</promise>' });
  await expect.poll(() => apis.calls.length).toBe(2);
  await expect
    .poll(() => at.client.stored('STOPGATE_main', 'stopgate.main.own.worker.w1.escalation.notified'))
    .toHaveLength(1);
  expect(apis.calls).toEqual([
    {
      path: '/graphql',
      authorization: 'Bearer lin',
      body: {
        query: expect.stringContaining('agentActivityCreate(input: $input)'),
        variables: {
          input: {
            agentSessionId: 'LS-1',
            content: {
              type: 'elicitation',
              body: 'The agent asked for a person\n\nhttps://stop.example/?fleet=main&worker=w1',
            },
          },
        },
      },
    },
    {
      path: '/api/assistant.threads.setStatus',
      authorization: 'Bearer xoxb',
      body: { channel_id: 'C1', thread_ts: '1.2', status: 'needs a person' },
    },
  ]);
  const forged = await fetch(receiver, { method: 'POST', body: JSON.stringify({ id: 'w1', kind: 'waiting' }) });
  expect(forged.status).toBe(401);
  expect(apis.calls).toHaveLength(2);
});
