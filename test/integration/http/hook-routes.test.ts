/** `POST /hooks/<agent>`: one hook call becomes entries, and a stop becomes a decision. */
import { expect, test } from 'vitest';
import { AppError } from '../../../src/errors.ts';
import { recorded } from '../../unit/agents/recordings/claude.ts';
import { ask } from './request.ts';
import { createGate, errorOf, useServer } from './server-fixture.ts';

const http = useServer();

const hook = (body: object, url = http.server.url) => ask(url, '/hooks/claude', { body });
const { session_id: session } = recorded('Stop') as { session_id: string };
const known = {
  worker: session,
  presence: 'active',
  agent: 'claude',
  cwd: '/workspace/project',
  lastDecision: null,
  background: [],
  inputs: [],
  labels: { mode: 'bypassPermissions' },
};

/** Adds the fields of every decision that these tests do not use. */
const blocked = {
  decision: 'block' as const,
  action: 'continue',
  cause: 'incomplete',
  reason: 'the reason',
  nextPrompt: null,
  feedback: [],
  verdicts: [],
};

test('a stop is decided after its entries are stored, under an attempt id of its own, and a block is returned', async () => {
  http.service.answer = { ...blocked, nextPrompt: 'go on' };
  const answer = await hook(recorded('Stop'));
  expect([answer.status, answer.json]).toEqual([
    200,
    { hookSpecificOutput: { hookEventName: 'Stop', additionalContext: 'go on' } },
  ]);
  expect(http.service.published.map(({ type }) => type)).toEqual(['worker.registered']);
  await hook(recorded('Stop'));
  const bodies = http.service.requests.map(({ body }) => body as { attempt: string });
  expect(bodies[0]).toEqual({
    attempt: expect.stringMatching(/^[0-9a-f-]{36}$/),
    stopReason: 'end_turn',
    output: 'First attempt to stop.',
  });
  expect(bodies[1]?.attempt).not.toBe(bodies[0]?.attempt);
});

test('an allowed stop, or a call without one, gets an empty 204', async () => {
  for (const name of ['Stop', 'PreToolUse', 'SubagentStop.compact']) {
    const answer = await hook(recorded(name));
    expect([name, answer.status, answer.text]).toEqual([name, 204, '']);
  }
});

test('uses the state of the worker in the fleet', async () => {
  http.service.views.set(session, { ...known, awaitsInput: true });
  await hook(recorded('PostToolUse'));
  expect(http.service.published.map(({ type }) => type)).toEqual(['input.received', 'tool.used']);
});

test('calls of one worker are stored in order, even if the first is slow', async () => {
  http.service.views.set(session, known);
  const slow = createGate();
  http.service.pause = slow.promise;
  const first = hook(recorded('PostToolUse'));
  await expect.poll(() => http.service.readCount).toBe(1);
  const second = hook(recorded('PostToolUseFailure'));
  slow.resolve();
  await Promise.all([first, second]);
  expect(http.service.published.map(({ data }) => (data as { ok: boolean }).ok)).toEqual([true, false]);
});

test('a held stop does not delay other calls of its worker', async () => {
  http.service.views.set(session, known);
  const held = createGate();
  http.service.pause = held.promise;
  const stop = hook(recorded('Stop'));
  await expect.poll(() => http.service.requests).toHaveLength(1);
  http.service.pause = Promise.resolve();
  expect((await hook(recorded('UserPromptSubmit'))).status).toBe(204);
  expect(http.service.published.map(({ type }) => type)).toEqual(['prompt.submitted']);
  held.resolve();
  expect((await stop).status).toBe(204);
});

test('an unavailable service gives 503 and a warning; the next call tries again', async () => {
  http.service.fault = new AppError('log.unavailable', 'no NATS');
  for (const name of ['PreToolUse', 'Stop']) {
    const answer = await hook(recorded(name));
    expect([answer.status, errorOf(answer).code]).toEqual([503, 'UNAVAILABLE']);
  }
  expect(http.log.warn).toHaveBeenCalledTimes(2);
  http.service.fault = null;
  expect((await hook(recorded('PreToolUse'))).status).toBe(204);
});

test.each([
  ['abc-1', 'abc-1'],
  ['"abc-1"', 'abc-1'],
  [' "abc-1" ', 'abc-1'],
  ['a b/c', expect.stringMatching(/^a-b-c-[0-9a-f]{16}$/)],
])('the key %j names the attempt', async (key, attempt) => {
  await ask(http.server.url, '/hooks/claude', { body: recorded('Stop'), headers: { 'idempotency-key': key } });
  expect(http.service.requests[0]?.body).toMatchObject({ attempt });
});

test('a stop that cannot be decided is 503', async () => {
  http.service.views.set(session, known);
  http.service.fault = new AppError('service.busy', 'too many');
  expect((await hook(recorded('Stop'))).status).toBe(503);
});

test('the URL names the event if the agent does not', async () => {
  http.service.answer = blocked;
  const body = { sessionId: 's1', stopReason: 'end_turn', stop_hook_active: false };
  const answer = await ask(http.server.url, '/hooks/copilot?event=agentStop', { body });
  expect([answer.status, answer.json]).toEqual([200, { decision: 'block', reason: 'the reason' }]);
  const nameless = await ask(http.server.url, '/hooks/copilot', { body });
  expect([nameless.status, errorOf(nameless).message]).toEqual([400, expect.stringContaining('?event=')]);
  expect(http.service.requests).toHaveLength(1);
});

test('10 MB of tool output is accepted and dropped; more than 16 MiB is refused', async () => {
  const body = (size: number) => ({ ...recorded('PostToolUse'), tool_response: { stdout: 'x'.repeat(size) } });
  expect((await hook(body(10_000_000))).status).toBe(204);
  expect(JSON.stringify(http.service.published).length).toBeLessThan(1_000);
  expect((await hook(body(17_000_000))).status).toBe(413);
});

test('invalid UTF-8 does not fail the call', async () => {
  const text = JSON.stringify({ ...recorded('Stop'), last_assistant_message: 'BROKEN' });
  const bytes = Buffer.from(text.replace('BROKEN', '\u00ff\u00fe ok'), 'latin1');
  const headers = { 'content-type': 'application/json' };
  const answer = await fetch(`${http.server.url}/hooks/claude`, { method: 'POST', headers, body: bytes });
  expect(answer.status).toBe(204);
  expect(http.service.requests.at(-1)?.body).toMatchObject({ output: '\ufffd\ufffd ok' });
});

test('an unknown agent gets the list of supported ones', async () => {
  const answer = await ask(http.server.url, '/hooks/other', { body: {} });
  expect([answer.status, errorOf(answer).message]).toEqual([404, expect.stringContaining('claude')]);
});

test('a malformed call is 400', async () => {
  const answer = await hook({ hook_event_name: 'Stop', session_id: 'a b' });
  expect([answer.status, (answer.json as { error: { issues: unknown[] } }).error.issues]).toEqual([
    400,
    [expect.objectContaining({ path: 'session_id' })],
  ]);
});
