/** One stop that two sets of hooks report counts once, and a superseded call never decides for itself. */
import { expect, test } from 'vitest';
import { createAgentFleet } from './agent-fleet.ts';

const never = { checks: [{ plan: { required: true } }], retries: 2 };
const stop = { session_id: 's1', cwd: '/project', hook_event_name: 'Stop' };
const user = { set: '/hooks/claude?scope=user' };
const project = { set: '/hooks/claude' };

test('hooks of the user and of the project: two calls of a stop are one attempt with one answer', async () => {
  const fleet = createAgentFleet(never);
  for (const _ of [1, 2]) {
    const first = await fleet.call('claude', stop, undefined, user);
    fleet.wait(50);
    expect(await fleet.call('claude', stop, undefined, project)).toEqual(first);
  }
  expect(fleet.view('s1').retry.count).toBe(2);
  await fleet.call('claude', stop, undefined, user);
  expect(await fleet.call('claude', stop, undefined, project)).toBeNull();
  expect(fleet.causes('s1')).toEqual(['incomplete', 'incomplete', 'capped']);
});

test('two programs: the stop of one conversation counts once', async () => {
  const fleet = createAgentFleet(never);
  const cursor = { conversation_id: 's1', hook_event_name: 'stop', workspace_roots: ['/project'], status: 'completed' };
  await fleet.call('cursor', cursor, undefined, { set: '/hooks/cursor' });
  await fleet.call('claude', cursor, undefined, project);
  expect(fleet.causes('s1')).toEqual(['incomplete']);
});

test('another stop is another attempt: of the same hooks, for another reason, or much later', async () => {
  const fleet = createAgentFleet({ ...never, retries: 9 });
  await fleet.call('claude', stop, undefined, user);
  await fleet.call('claude', stop, undefined, user);
  const output = { ...stop, hook_event_name: 'PreToolUse', tool_name: 'StructuredOutput' };
  await fleet.call('claude', output, undefined, project);
  expect(fleet.view('s1').retry.count).toBe(3);
  const late = createAgentFleet(never);
  await late.call('claude', stop, undefined, user);
  late.wait(30_000);
  await late.call('claude', stop, undefined, project);
  expect(late.view('s1').retry.count).toBe(2);
});

test('after a prompt, the first call of either set is another stop', async () => {
  const fleet = createAgentFleet(never);
  await fleet.call('claude', stop, undefined, user);
  await fleet.call('claude', { ...stop, hook_event_name: 'UserPromptSubmit', prompt: 'Go on' }, undefined, user);
  await fleet.call('claude', stop, undefined, project);
  expect(fleet.causes('s1')).toEqual(['incomplete', 'incomplete']);
});

test('a call that is posted again after the other set has joined keeps its attempt', async () => {
  const fleet = createAgentFleet(never);
  await fleet.call('claude', stop, undefined, { ...user, key: 'k1' });
  await fleet.call('claude', stop, undefined, { ...project, key: 'k2' });
  await fleet.call('claude', stop, undefined, { ...project, key: 'k2' });
  expect(fleet.causes('s1')).toEqual(['incomplete']);
});
