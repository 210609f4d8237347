/** Qwen Code's adapter, tested with calls recorded from 0.24.4. */
import { describe, expect, test } from 'vitest';
import { allowed, blocked, draftsOf, heartbeat } from './entry-drafts.ts';
import { recordingsOf } from './recordings/recordings.ts';

const { names, recorded } = recordingsOf('qwen');
const { read, translate, drafts } = draftsOf('qwen');
const proven = recorded('stop-block') as { stdout: { reason: string } };
const session = recorded('Stop').session_id;
const child = `${session}-general-purpose-call_fake_1_0`;
const call = (name: string) => ({ call: recorded(name).tool_use_id });

const expectations: Record<string, { says: unknown[]; stop?: object; by?: string }> = {
  Notification: { says: [heartbeat] },
  PermissionRequest: { says: [] },
  PostToolUse: {
    says: [['tool.used', { tool: 'run_shell_command', ok: true, ...call('PostToolUse'), command: 'true' }]],
  },
  'PostToolUse.todo_write': {
    says: [
      ['tool.used', { tool: 'todo_write', ok: true, ...call('PostToolUse.todo_write') }],
      ['plan.updated', { steps: [{ title: 'Write the tests', status: 'pending' }] }],
    ],
  },
  'PostToolUse.write_file': {
    says: [['tool.used', { tool: 'write_file', ok: true, ...call('PostToolUse.write_file'), files: ['a.txt'] }]],
  },
  PostToolUseFailure: { says: [['tool.used', { tool: 'read_file', ok: false, ...call('PostToolUseFailure') }]] },
  PreToolUse: { says: [['tool.started', { tool: 'run_shell_command', ...call('PostToolUse') }]] },
  'PreToolUse.structured_output': { says: [], stop: { stopReason: 'structured_output', output: '{"answer":1}' } },
  SessionEnd: { says: [['session.ended', { reason: 'prompt_input_exit' }]] },
  SessionStart: {
    says: [['worker.registered', { agent: 'qwen', cwd: '/workspace/project', labels: { mode: 'yolo' } }]],
  },
  Stop: { says: [], stop: { stopReason: 'end_turn', output: 'I am done.' } },
  'Stop.background-running': {
    says: [['background.started', { id: 'general-purpose-call_fake_1_0', kind: 'general-purpose' }]],
    stop: { stopReason: 'end_turn', output: 'really' },
  },
  'Stop.second': { says: [], stop: { stopReason: 'end_turn', output: 'Now.' } },
  SubagentStart: {
    says: [
      [
        'worker.registered',
        {
          agent: 'qwen',
          cwd: '/workspace/project',
          parent: session,
          labels: { subagent: 'general-purpose', mode: 'yolo' },
        },
      ],
    ],
    by: child,
  },
  // A sub-agent lists itself as background work but does not wait for itself.
  SubagentStop: { says: [], stop: { stopReason: 'end_turn', output: 'done' }, by: child },
  'SubagentStop.second': { says: [], stop: { stopReason: 'end_turn', output: '(script exhausted)' }, by: child },
  TodoCompleted: { says: [] },
  'TodoCompleted.postWrite': { says: [] },
  UserPromptSubmit: { says: [['prompt.submitted', { text: 'do the task' }]] },
  'UserPromptSubmit.after-block': { says: [heartbeat] },
  'UserPromptSubmit.after-tool': { says: [['prompt.submitted', { text: '', by: 'system' }]] },
};

describe('each recorded call', () => {
  test.each(Object.entries(expectations))('%s, after the recorded block', (name, { says, stop, by }) => {
    const translation = translate(recorded(name), { lastDecision: blocked(proven.stdout.reason) });
    expect(translation.entries.map(({ type, data }) => [type, data])).toEqual(says);
    expect(translation.stop).toEqual(stop ?? null);
    expect(translation.worker).toBe(by ?? session);
  });

  test('every recording is covered', () => {
    expect(Object.keys(expectations).sort()).toEqual([...names].sort());
  });
});

test('a block has the recorded form', () => {
  expect(read(recorded('Stop')).answer(blocked(proven.stdout.reason))).toEqual(proven.stdout);
  expect(read(recorded('Stop')).answer(allowed)).toBeNull();
  expect(read(recorded('UserPromptSubmit')).answer(blocked('x'))).toBeNull();
});

test('structured output is denied', () => {
  expect(read(recorded('PreToolUse.structured_output')).answer(blocked('x'))).toEqual({
    hookSpecificOutput: { hookEventName: 'PreToolUse', permissionDecision: 'deny', permissionDecisionReason: 'x' },
  });
});

test('a step is checked before the list is written, not after it', () => {
  expect(translate(recorded('TodoCompleted')).check).toBe('step');
  expect(translate(recorded('TodoCompleted.postWrite')).check).toBeNull();
  expect(read(recorded('TodoCompleted')).answer(blocked('x'), 'step')).toEqual({
    decision: 'block',
    reason: 'The step is not marked as done. x',
  });
});

test('a permission may be held for an operator; a question is not, because it would be allowed without an answer', () => {
  expect(translate(recorded('PermissionRequest')).ask).toMatchObject({ kind: 'permission', tool: 'run_shell_command' });
  const by = { by: 'ann', message: null, request: 'r', at: '2026-11-22T18:00:00.000Z' };
  expect(read(recorded('PermissionRequest')).answerInput({ ...by, verdict: 'allow' })).toEqual({
    hookSpecificOutput: { hookEventName: 'PermissionRequest', decision: { behavior: 'allow' } },
  });
  const tool_input = { questions: [{ question: 'Which key?', options: [] }] };
  const question = { ...recorded('PermissionRequest'), tool_name: 'ask_user_question', tool_input };
  expect(translate(question).ask).toBeNull();
  expect(drafts(question)).toMatchObject([['input.requested', { kind: 'question' }]]);
});

test('a tool’s result and the end of a turn end the wait for a person', () => {
  for (const name of ['PostToolUse', 'Stop'])
    expect(drafts(recorded(name), { awaitsInput: true })[0]).toEqual(['input.received', {}]);
});

test('background work that is no longer listed has ended', () => {
  expect(drafts(recorded('Stop'), { background: ['b'] })).toEqual([['background.finished', { id: 'b' }]]);
});

test('a usage limit is recognised; other model failures are not', () => {
  const failure = (error: string) => drafts({ ...recorded('Stop'), hook_event_name: 'StopFailure', error });
  expect(failure('rate_limit')).toEqual([['limit.reached', {}]]);
  expect(failure('server_error')).toEqual([]);
});

test('the resolution of an escalation is delivered with the next prompt; a session start does not clear it', () => {
  const resolved = { resolution: 'Use the other key' };
  expect(translate(recorded('SessionStart'), resolved)).toMatchObject({
    entries: [{ type: 'heartbeat.sent' }],
    immediateAnswer: null,
  });
  expect(translate(recorded('UserPromptSubmit'), resolved).immediateAnswer).toMatchObject({
    hookSpecificOutput: { additionalContext: expect.stringContaining('Use the other key') },
  });
});
