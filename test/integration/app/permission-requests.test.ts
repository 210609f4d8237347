/** Permission requests held for an operator's answer: over HTTP hooks, the command line and the API. */
import { request as openRequest } from 'node:http';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { WorkerView } from '../../../machines/index.ts';
import { runCommand } from '../../support/command.ts';
import { type Deployment, deploy } from '../../support/deployment.ts';
import { recorded } from '../../unit/agents/recordings/claude.ts';
import { ask } from '../http/request.ts';

let at: Deployment;
beforeAll(async () => {
  at = await deploy({
    config:
      'policies: { default: { ask: 5m }, brief: { ask: 1 }, long: { ask: 60d }, none: {} }\nassign: [{ worker: brief, policy: brief }]\n',
    args: ['--token', 'operators-only'],
  });
});
afterAll(() => at.close());

const token = { authorization: 'Bearer operators-only' };
const permission = (session: string, policy = 'default') =>
  ask(at.http, `/hooks/claude?policy=${policy}`, {
    headers: token,
    body: { ...recorded('PermissionRequest'), session_id: session },
  });
const view = async (worker: string) => (await at.client.ask(`get.worker.${worker}`)).body as unknown as WorkerView;
/** Waits until the worker asks, and returns the request. */
async function asking(worker: string): Promise<string> {
  await expect.poll(async () => (await view(worker)).inputs?.[0]?.request ?? null).not.toBeNull();
  return (await view(worker)).inputs[0]?.request ?? '';
}
const answer = (...args: string[]) =>
  runCommand(['answer', ...args, '--yes', '--by', 'ann', '--nats', at.server.url], { cwd: at.folder.path });
const decided = (decision: object) => ({ hookSpecificOutput: { hookEventName: 'PermissionRequest', decision } });

test('an operator allows it, and the log names the operator', async () => {
  const held = permission('s1');
  const request = await asking('s1');
  expect(await view('s1')).toMatchObject({
    awaitsInput: true,
    rules: { askMs: 300_000 },
    inputs: [{ kind: 'permission', tool: 'Bash', detail: '{"command":"touch x","description":"x"}' }],
  });
  expect(await answer('s1', '--allow')).toEqual({ code: 0, stdout: 's1: allow by ann\n', stderr: '' });
  expect((await held).json).toEqual(decided({ behavior: 'allow' }));
  expect(await view('s1')).toMatchObject({ awaitsInput: false, inputs: [], lastAnswer: { request, by: 'ann' } });
  expect(await at.client.stored('STOPGATE_main', 'stopgate.main.own.worker.s1.input.answered')).toEqual([
    { by: 'ann', request, verdict: 'allow' },
  ]);
});

/** Root cause: the wait was a Node timer, which refuses 60 days, and the hook got a 500. */
test('it is held as long as the policy says, even for months', async () => {
  const held = permission('s60', 'long');
  await asking('s60');
  expect((await answer('s60', '--allow')).code).toBe(0);
  expect(await held).toMatchObject({ status: 200, json: decided({ behavior: 'allow' }) });
});

test('an operator denies it over HTTP, with a reason for the model; a second answer is refused', async () => {
  const held = permission('s2');
  const request = await asking('s2');
  const deny = (by: string) =>
    ask(at.http, '/api/main/operator/answer', {
      headers: token,
      body: { id: 's2', by, request, verdict: 'deny', message: 'Not on main' },
    });
  const answers = await Promise.all([deny('ann'), deny('bob')]);
  expect(answers.map(({ status }) => status).sort()).toEqual([200, 409]);
  expect((await held).json).toEqual(decided({ behavior: 'deny', message: 'Not on main' }));
  const late = await answer('s2', '--allow', '--request', request);
  expect({ code: late.code, stderr: late.stderr }).toEqual({
    code: 1,
    stderr: expect.stringMatching(new RegExp(`no open request ${request}; .*was answered by (ann|bob): deny`)),
  });
  expect(
    (await ask(at.http, '/api/main/operator/answer', { body: { id: 's2', by: 'x', verdict: 'allow' } })).status,
  ).toBe(401);
});

test('without an answer in time, or without "ask", the agent asks in its own terminal and still waits', async () => {
  for (const [session, policy] of [
    ['brief', 'brief'],
    ['s3', 'none'],
  ] as const) {
    expect((await permission(session, policy)).status).toBe(204);
    const { awaitsInput, inputs } = await view(session);
    expect([awaitsInput, inputs.map(({ request }) => request)]).toEqual([true, [null]]);
    expect((await answer(session, '--allow')).stderr).toContain('has no request that can be answered');
  }
});

test('the answer to a request does not answer a later one with the same id', async () => {
  const permissionFor = (command: string) =>
    ask(at.http, '/hooks/opencode', {
      headers: token,
      body: {
        type: 'permission.asked',
        properties: { sessionID: 's7', id: 'per_1', permission: 'bash', metadata: { command } },
      },
    });
  const harmless = permissionFor('ls');
  await asking('s7');
  await answer('s7', '--allow');
  expect((await harmless).json).toEqual({ reply: { reply: 'once' } });
  const harmful = permissionFor('rm -rf /');
  await asking('s7');
  await answer('s7', '--deny', '--message', 'Never');
  expect((await harmful).json).toEqual({ reply: { reply: 'reject', message: 'Never' } });
});

describe('it ends without an operator', () => {
  test('when the agent’s turn ends; the result of a tool may belong to another tool', async () => {
    const held = permission('s4');
    await asking('s4');
    const say = (name: string) =>
      ask(at.http, '/hooks/claude', { headers: token, body: { ...recorded(name), session_id: 's4' } });
    await say('PostToolUse');
    expect(await view('s4')).toMatchObject({ awaitsInput: true });
    await say('Stop');
    expect((await held).status).toBe(204);
    expect(await view('s4')).toMatchObject({ awaitsInput: false, inputs: [] });
  });

  test('when the agent no longer waits for its hook; then nobody can answer', async () => {
    const body = JSON.stringify({ ...recorded('PermissionRequest'), session_id: 's5' });
    const { hostname, port } = new URL(at.http);
    const sent = openRequest({
      hostname,
      port,
      path: '/hooks/claude',
      method: 'POST',
      agent: false,
      headers: { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body), ...token },
    });
    sent.on('error', () => undefined);
    sent.end(body);
    await asking('s5');
    sent.destroy();
    await expect.poll(async () => (await view('s5')).inputs).toEqual([]);
    expect((await answer('s5', '--allow')).code).toBe(1);
  });
});

test('one of several requests must be named; neither or both options are bad usage', async () => {
  for (const request of ['r1', 'r2']) await at.client.publish('worker.s6.input.requested', { request });
  expect((await answer('s6', '--allow')).stderr).toContain('worker s6 has 2 open requests, name one: r1, r2');
  expect((await answer('s6', '--allow', '--request', 'r2')).code).toBe(0);
  expect((await view('s6')).inputs).toMatchObject([{ request: 'r1' }]);
  expect((await answer('s6')).code).toBe(2);
  expect((await answer('s6', '--allow', '--deny')).code).toBe(2);
});
