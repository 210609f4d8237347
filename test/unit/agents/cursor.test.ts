/** Cursor's adapter. The calls were written from its documentation, not recorded. */
import { describe, expect, test } from 'vitest';
import { allowed, blocked, draftsOf, heartbeat } from './entry-drafts.ts';

const { read, translate, drafts } = draftsOf('cursor');
const conversation = '668320d2-2fd8-4888-b33c-2a466fec86e7';
const call = (hook_event_name: string, more: object = {}) => ({
  conversation_id: conversation,
  generation_id: '490b90b7-a2ce-4c2c-bb76-cb77b125df2f',
  hook_event_name,
  cursor_version: '3.7.21',
  workspace_roots: ['/workspace/project'],
  ...more,
});
const stop = (more: object = {}) => call('stop', { status: 'completed', loop_count: 0, ...more });

describe('each documented call', () => {
  test.each([
    ['sessionStart', call('sessionStart', { composer_mode: 'agent' }), [heartbeat]],
    [
      'beforeSubmitPrompt',
      call('beforeSubmitPrompt', { prompt: 'say hello', attachments: [] }),
      [['prompt.submitted', { text: 'say hello' }]],
    ],
    [
      'postToolUse',
      call('postToolUse', { tool_name: 'Shell', tool_use_id: 't1', tool_output: '{}' }),
      [['tool.used', { tool: 'Shell', ok: true, call: 't1', changes: 'unknown' }]],
    ],
    [
      'postToolUseFailure',
      call('postToolUseFailure', { tool_name: 'Shell', failure_type: 'timeout' }),
      [['tool.used', { tool: 'Shell', ok: false, changes: 'unknown' }]],
    ],
    [
      'afterFileEdit',
      call('afterFileEdit', { file_path: '/workspace/project/src/a.ts', edits: [] }),
      [['tool.used', { tool: 'edit', ok: true, files: ['src/a.ts'] }]],
    ],
    ['stop', stop(), []],
    ['sessionEnd', call('sessionEnd', { reason: 'user_close' }), [['session.ended', { reason: 'user_close' }]]],
    ['another', call('afterAgentThought', { text: 'hm' }), [heartbeat]],
  ])('%s', (_name, body, says) => {
    expect(drafts(body)).toEqual(says);
    expect(translate(body).worker).toBe(conversation);
  });

  test('the first call registers the conversation in its folder', () => {
    expect(drafts(call('sessionStart'), { registered: false })).toEqual([
      ['worker.registered', { agent: 'cursor', cwd: '/workspace/project' }],
    ]);
  });
});

test('a block is the next prompt', () => {
  expect(read(stop()).answer(blocked('the reason', 'go on'))).toEqual({ followup_message: 'go on' });
  expect(read(stop()).answer(allowed)).toBeNull();
  expect(read(call('postToolUse')).answer(blocked('x'))).toBeNull();
});

test('a follow-up that comes back as a prompt is not a person’s', () => {
  const lastDecision = blocked('the reason', 'go on with the tests');
  expect(drafts(call('beforeSubmitPrompt', { prompt: 'go on with the tests' }), { lastDecision })).toEqual([heartbeat]);
});

test('a turn that a person ended is an interrupt; one that ended with an error is not a stop', () => {
  expect(translate(stop({ status: 'completed' })).stop).toEqual({ stopReason: 'end_turn' });
  expect(translate(stop({ status: 'aborted' })).stop).toEqual({ stopReason: 'user_interrupt' });
  expect(translate(stop({ status: 'error' })).stop).toBeNull();
  expect(read(stop({ status: 'error' })).answer(blocked('x'))).toBeNull();
});

test('a sub-agent with an id stops for itself; a stop without an id is ignored', () => {
  const known = call('subagentStop', {
    status: 'completed',
    subagent_id: 's1',
    subagent_type: 'explore',
    summary: 'seen',
  });
  expect(translate(known)).toMatchObject({ worker: `${conversation}-s1`, stop: { output: 'seen' } });
  expect(drafts(known, { registered: false })).toEqual([
    [
      'worker.registered',
      { agent: 'cursor', cwd: '/workspace/project', parent: conversation, labels: { subagent: 'explore' } },
    ],
  ]);
  const nameless = call('subagentStop', { status: 'completed', subagent_type: 'explore' });
  expect(translate(nameless)).toMatchObject({ worker: conversation, stop: null });
  expect(read(nameless).answer(blocked('x'))).toBeNull();
});
