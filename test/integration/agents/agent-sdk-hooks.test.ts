/**
 * The callbacks for the Claude Agent SDK, called like the SDK does, against a real service. The SDK itself:
 * test/system/agents.
 */
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest';
import { type HookOutput, type StopHooks, stopHooks, untilResolved } from '../../../src/agents/claude/agent-sdk.ts';
import { type Deployment, deploy } from '../../support/deployment.ts';
import { recorded } from '../../unit/agents/recordings/claude.ts';

let at: Deployment;
beforeAll(async () => {
  at = await deploy({
    config: 'policies: { default: { checks: [{ plan: {} }] }, free: {}, stuck: { promises: true } }\n',
  });
});
afterAll(() => at.close());

const unreachable = '127.0.0.1:9';
const call = (hooks: StopHooks, name: string, session: string, signal = new AbortController().signal) => {
  const input = { hook_event_name: '', ...recorded(name), session_id: session };
  const callback = hooks[String(input.hook_event_name)]?.[0]?.hooks[0];
  return callback?.(input, undefined, { signal }) as Promise<HookOutput>;
};

test('the plan is stored, and a stop is blocked while a step remains', async () => {
  const hooks = stopHooks({ http: at.http });
  expect(await call(hooks, 'SessionStart', 'sdk-1')).toEqual({});
  expect(await call(hooks, 'PostToolUse.TaskCreate', 'sdk-1')).toEqual({});
  expect(await call(hooks, 'Stop', 'sdk-1')).toEqual({
    hookSpecificOutput: {
      hookEventName: 'Stop',
      additionalContext: expect.stringContaining('1 of 1 plan steps remain'),
    },
  });
  await call(hooks, 'PostToolUse.TaskUpdate.completed', 'sdk-1');
  expect(await call(hooks, 'Stop', 'sdk-1')).toEqual({});
});

test('the session gets the given policy', async () => {
  await call(stopHooks({ http: at.http, policy: 'free' }), 'UserPromptSubmit', 'sdk-2');
  expect((await at.client.ask('get.worker.sdk-2')).body).toMatchObject({ policy: 'free' });
});

test('without a service, a stop is allowed with a notice, by default a warning; other events pass', async () => {
  const warned = vi.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
  onTestFinished(() => warned.mockRestore());
  const hooks = stopHooks({ http: unreachable });
  expect(await call(hooks, 'PostToolUse', 'sdk-3')).toEqual({});
  expect(warned).not.toHaveBeenCalled();
  const systemMessage = expect.stringMatching(/^stopgate: this stop was not judged: .* It is allowed\.$/);
  expect(await call(hooks, 'Stop', 'sdk-3')).toEqual({ systemMessage });
  expect(warned).toHaveBeenCalledExactlyOnceWith(systemMessage, 'StopgateWarning');
});

test('a call that the agent aborts is not awaited', async () => {
  const own = await deploy({
    config:
      'policies: { default: { checks: [{ command: slow }] } }\ncommands: { slow: { run: [sleep, "20"], cwd: . } }\n',
  });
  onTestFinished(() => own.close());
  const gone = new AbortController();
  const stop = call(stopHooks({ http: own.http, onUnjudged: () => undefined }), 'Stop', 'sdk-4', gone.signal);
  await expect.poll(async () => (await own.client.ask('get.worker.sdk-4')).body).toMatchObject({ state: 'validating' });
  gone.abort();
  expect(await stop).toMatchObject({ systemMessage: expect.stringContaining('gave up') });
});

async function giveUp(session: string): Promise<void> {
  const stop = { ...recorded('Stop'), session_id: session, last_assistant_message: '<promise>BLOCKED</promise>' };
  const [matcher] = stopHooks({ http: at.http, policy: 'stuck' }).Stop ?? [];
  const { signal } = new AbortController();
  await matcher?.hooks[0]?.(stop as never, undefined, { signal });
  expect((await at.client.ask(`get.worker.${session}`)).body).toMatchObject({ state: 'escalated' });
}
const resolve = (session: string, data: object) =>
  at.client.publish(`own.worker.${session}.escalation.resolved`, { by: 'me', ...data });

test('the wait for an escalated session returns the resolution’s prompt, or null for a stop', async () => {
  for (const [session, data, word] of [
    ['sdk-5', { verdict: 'resume', prompt: 'Use the other key' }, 'Use the other key'],
    ['sdk-6', { verdict: 'stop' }, null],
  ] as const) {
    await giveUp(session);
    const waited = untilResolved(session, { http: at.http });
    expect(await Promise.race([waited, at.client.ask('list.workers').then(() => 'waits')])).toBe('waits');
    await resolve(session, data);
    expect(await waited).toBe(word);
  }
});

test('the wait ends with its signal or, for an unknown session, with an error', async () => {
  await giveUp('sdk-7');
  const gone = new AbortController();
  const waited = untilResolved('sdk-7', { http: at.http, signal: gone.signal });
  gone.abort(new Error('enough'));
  await expect(waited).rejects.toThrow('enough');
  await expect(untilResolved('sdk-unknown', { http: at.http })).rejects.toThrow('worker sdk-unknown is unknown');
  const away = untilResolved('sdk-7', { http: unreachable, signal: AbortSignal.timeout(200) });
  await expect(away).rejects.toThrow('timeout');
});

test('an invalid address or token throws immediately', () => {
  expect(() => stopHooks({ http: 'a b' })).toThrow('is not HOST:PORT');
  expect(() => stopHooks({ token: 'a b' })).toThrow('printable ASCII');
});
