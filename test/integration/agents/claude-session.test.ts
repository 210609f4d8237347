/** Recorded calls of Claude Code against a real service: its answers, and the resulting state of the fleet. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { WorkerView } from '../../../machines/index.ts';
import { countEntries, type Deployment, deploy } from '../../support/deployment.ts';
import { recorded } from '../../unit/agents/recordings/claude.ts';
import { claudeSession, claudeSessionId } from '../../unit/agents/session.ts';
import { type Answer, ask } from '../http/request.ts';

const config = 'policies: { default: { checks: [{ plan: {} }] } }\n';
const allowed = { status: 204, text: '' };

let at: Deployment;
beforeAll(async () => {
  at = await deploy({ config, nats: {} });
});
afterAll(() => at.close());

/** Posts one call of a session like Claude Code. */
const post = (body: object, headers: Record<string, string> = {}): Promise<Answer> =>
  ask(at.http, '/hooks/claude', { body, headers });
const call = (session: string, name: string, changes: object = {}) =>
  post({ ...recorded(name), session_id: session, ...changes });
const view = async (worker: string): Promise<WorkerView> =>
  (await at.client.ask(`get.worker.${worker}`)).body as unknown as WorkerView;
/** An HTTP answer may arrive slightly before its entry. */
const causes = async (worker: string) =>
  (await at.client.stored('STOPGATE_main', `stopgate.main.decision.${worker}`)).map(({ cause }) => cause);

/** Plans an open step. */
const plan = (session: string, subject: string) =>
  call(session, 'PostToolUse.TaskCreate', {
    tool_input: { subject, description: subject },
    tool_response: { task: { id: '1', subject } },
  });
const complete = (session: string) => call(session, 'PostToolUse.TaskUpdate.completed');
const blockedFor = (title: string) => ({
  status: 200,
  json: {
    hookSpecificOutput: { additionalContext: expect.stringContaining(`1 of 1 plan steps remain: ${title}`) },
  },
});

test('a whole session: blocked while a step remains, allowed when all are done', async () => {
  const answers: [string, number, unknown][] = [];
  for (const { body } of claudeSession) {
    const { status, json } = await post(body);
    answers.push([String(body.hook_event_name), status, json]);
    if (body.hook_event_name === 'Stop' && status === 200) {
      expect(await view(claudeSessionId)).toMatchObject({
        state: 'blocked',
        agent: 'claude',
        cwd: '/workspace/project',
        retry: { count: 1, max: 3 },
        plan: [
          { step: '1', title: 'Write the tests', status: 'completed' },
          { step: '2', title: 'Fix the lint', status: 'pending' },
        ],
      });
    }
  }
  const reason = expect.stringContaining('1 of 2 plan steps remain: Fix the lint');
  expect(answers).toEqual(
    claudeSession.map(({ body, answer }) =>
      answer === 'block'
        ? [body.hook_event_name, 200, { hookSpecificOutput: { hookEventName: 'Stop', additionalContext: reason } }]
        : [body.hook_event_name, 204, null],
    ),
  );
  expect(await view(claudeSessionId)).toMatchObject({
    state: 'stopped',
    retry: { count: 0 },
    lastDecision: { decision: 'allow' },
  });
  await expect.poll(() => causes(claudeSessionId)).toEqual(['incomplete', 'complete']);
});

describe('the retry count', () => {
  test('is not reset by prompts from our own blocks or by notifications, and its limit is exact', async () => {
    const session = 'session-of-retries';
    await call(session, 'UserPromptSubmit');
    await plan(session, 'Write the tests');
    const { hookSpecificOutput } = (await call(session, 'Stop')).json as {
      hookSpecificOutput: { additionalContext: string };
    };
    const reason = hookSpecificOutput.additionalContext;
    const unjudged = 'Nobody could judge this stop (no service at http://127.0.0.1:4280), and it is set to block then.';
    for (const prompt of [reason, `Stop hook feedback:\n${reason}`, unjudged, `Stop hook feedback:\n${unjudged}`])
      await call(session, 'UserPromptSubmit', { prompt });
    expect(await view(session)).toMatchObject({ state: 'blocked', retry: { count: 1 } });

    expect(await call(session, 'Stop.second')).toMatchObject(blockedFor('Write the tests'));
    await call(session, 'UserPromptSubmit.task-notification');
    expect((await view(session)).retry.count).toBe(2);

    expect(await call(session, 'Stop.second')).toMatchObject(blockedFor('Write the tests'));
    expect(await call(session, 'Stop.second')).toMatchObject(allowed);
    await expect.poll(() => causes(session)).toEqual(['incomplete', 'incomplete', 'incomplete', 'capped']);
  });

  test('is reset by a person’s prompt', async () => {
    const session = 'session-of-a-person';
    await plan(session, 'Write the tests');
    await call(session, 'Stop');
    expect((await view(session)).retry.count).toBe(1);
    await call(session, 'UserPromptSubmit', { prompt: 'please go on' });
    expect(await view(session)).toMatchObject({ state: 'working', retry: { count: 0 } });
  });
});

test('a turn may end while background work runs; its notification ends the wait', async () => {
  const session = 'session-in-background';
  await plan(session, 'Write the tests');
  expect(await call(session, 'Stop.background-running')).toMatchObject(allowed);
  expect(await view(session)).toMatchObject({
    state: 'idle',
    background: [{ id: 'ae60021059d27341b', kind: 'subagent' }],
    lastDecision: { cause: 'waiting' },
  });
  await call(session, 'UserPromptSubmit.task-notification');
  expect(await view(session)).toMatchObject({ state: 'working', background: [] });
  expect(await call(session, 'Stop')).toMatchObject(blockedFor('Write the tests'));
});

test('two sessions in one folder are separate workers', async () => {
  await plan('session-one', 'Write the tests');
  await plan('session-two', 'Fix the lint');
  await complete('session-two');
  const answers = await Promise.all(['session-one', 'session-two'].map((session) => call(session, 'Stop')));
  expect(answers).toMatchObject([blockedFor('Write the tests'), allowed]);
  expect((await view('session-one')).cwd).toBe((await view('session-two')).cwd);
  expect(await view('session-one')).toMatchObject({
    state: 'blocked',
    plan: [{ title: 'Write the tests', status: 'pending' }],
  });
  expect(await view('session-two')).toMatchObject({
    state: 'stopped',
    plan: [{ title: 'Fix the lint', status: 'completed' }],
  });
});

describe('a sub-agent', () => {
  const agent = String(recorded('SubagentStart').agent_id);
  const asChild = { agent_id: agent, agent_type: 'general-purpose' };

  test('stops for itself, without changing its parent', async () => {
    const session = 'session-of-a-parent';
    await plan(session, 'Write the tests');
    expect(await call(session, 'Stop')).toMatchObject(blockedFor('Write the tests'));
    const { idle: _, ...before } = await view(session);
    await call(session, 'SubagentStart');
    expect(await call(session, 'SubagentStop')).toMatchObject(allowed);
    expect(await view(`${session}-${agent}`)).toMatchObject({
      state: 'stopped',
      parent: session,
      labels: { subagent: 'general-purpose' },
      plan: [],
    });
    expect(await view(session)).toMatchObject(before);
  });

  test('is judged by its own plan', async () => {
    const session = 'session-of-another-parent';
    await call(session, 'UserPromptSubmit');
    await call(session, 'PostToolUse.TaskCreate', {
      ...asChild,
      tool_response: { task: { id: '9', subject: 'Look around' } },
    });
    expect((await call(session, 'SubagentStop')).json).toMatchObject({
      decision: 'block',
    });
    expect(await view(`${session}-${agent}`)).toMatchObject({ state: 'blocked', retry: { count: 1 } });
    expect(await view(session)).toMatchObject({ state: 'working', retry: { count: 0 }, plan: [] });
    expect(await call(session, 'Stop')).toMatchObject(allowed);
  });

  test('that is only a compaction is not a worker', async () => {
    const before = await countEntries(at.client);
    expect(await call('session-compacted', 'SubagentStop.compact')).toMatchObject(allowed);
    expect(await countEntries(at.client)).toBe(before);
  });
});

describe('who may post', () => {
  const stop = { ...recorded('Stop'), session_id: 'session-foreign' };
  test.each([
    ['a foreign Host', { host: 'evil.example:80' }, 421, 'MISDIRECTED'],
    ['a foreign Origin', { origin: 'http://evil.example' }, 403, 'FORBIDDEN'],
    ['the opaque Origin', { origin: 'null' }, 403, 'FORBIDDEN'],
    ['a form', { 'content-type': 'text/plain' }, 415, 'UNSUPPORTED_MEDIA_TYPE'],
  ])('%s is refused, and nothing is logged', async (_what, headers, status, code) => {
    const before = await countEntries(at.client);
    expect(await post(stop, headers)).toMatchObject({ status, json: { error: { code } } });
    expect(await countEntries(at.client)).toBe(before);
  });

  test('a call that is not Claude Code’s is an error, and so is an unknown agent', async () => {
    expect(await post({ hook_event_name: 'Stop' })).toMatchObject({
      status: 400,
      json: { error: { code: 'BAD_REQUEST' } },
    });
    expect(await ask(at.http, '/hooks/nobody', { body: stop })).toMatchObject({ status: 404 });
  });
});

test('without NATS, a stop gets 503 in time; it is judged once NATS is back', async () => {
  const session = 'session-cut-off';
  await plan(session, 'Write the tests');
  await at.server.kill('SIGKILL');
  expect(await call(session, 'Stop')).toMatchObject({ status: 503, json: { error: { code: 'UNAVAILABLE' } } });
  await at.server.restart();
  await expect.poll(() => call(session, 'Stop'), { interval: 200 }).toMatchObject(blockedFor('Write the tests'));
});
