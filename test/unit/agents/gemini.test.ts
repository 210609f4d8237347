/** Gemini CLI's adapter, tested with calls recorded from 0.61.0. */
import { describe, expect, test } from 'vitest';
import { allowed, blocked, draftsOf, heartbeat } from './entry-drafts.ts';
import { recordingsOf } from './recordings/recordings.ts';

const { names, recorded } = recordingsOf('gemini');
const { read, translate, drafts } = draftsOf('gemini');
const todos = [
  { title: 'Write the tests', status: 'in_progress' },
  { title: 'Fix the lint', status: 'pending' },
];

const expectations: Record<string, { says: unknown[]; stop?: string }> = {
  AfterAgent: { says: [], stop: 'First attempt to stop.' },
  'AfterAgent.second': { says: [], stop: 'First attempt to stop.\nSecond attempt to stop.' },
  AfterModel: { says: [] },
  AfterTool: { says: [['tool.used', { tool: 'run_shell_command', ok: true, command: 'echo hello' }]] },
  'AfterTool.write_todos': {
    says: [
      ['tool.used', { tool: 'write_todos', ok: true }],
      ['plan.updated', { steps: todos }],
    ],
  },
  'BeforeAgent.after-block': { says: [heartbeat] },
  BeforeAgent: { says: [['prompt.submitted', { text: 'say hello' }]] },
  BeforeModel: { says: [] },
  BeforeTool: { says: [['tool.started', { tool: 'run_shell_command' }]] },
  BeforeToolSelection: { says: [] },
  PreCompress: { says: [] },
  SessionEnd: { says: [['session.ended', { reason: 'exit' }]] },
  SessionStart: { says: [['worker.registered', { agent: 'gemini', cwd: '/workspace/project' }]] },
};
const proven = recorded('stop-block') as { stdout: { reason: string } };

describe('each recorded call', () => {
  test.each(Object.entries(expectations))('%s, after the recorded block', (name, { says, stop }) => {
    const translation = translate(recorded(name), { lastDecision: blocked(proven.stdout.reason) });
    expect(translation.entries.map(({ type, data }) => [type, data])).toEqual(says);
    expect(translation.stop).toEqual(stop === undefined ? null : { stopReason: 'end_turn', output: stop });
  });

  test('every recording is covered', () => {
    expect(Object.keys(expectations).sort()).toEqual([...names].sort());
  });
});

test('a block has the recorded form', () => {
  expect(read(recorded('AfterAgent')).answer(blocked(proven.stdout.reason))).toEqual(proven.stdout);
  expect(read(recorded('AfterAgent')).answer(allowed)).toBeNull();
  expect(read(recorded('BeforeAgent')).answer(blocked('x'))).toBeNull();
});

test('stop_hook_active is ignored, because it is reset after any tool', () => {
  const [one, two] = [false, true].map((stop_hook_active) =>
    translate({ ...recorded('AfterAgent'), stop_hook_active }),
  );
  expect(one).toEqual(two);
});

test('the text of a block is a person’s prompt if nothing was blocked', () => {
  expect(drafts(recorded('BeforeAgent.after-block'))).toEqual([['prompt.submitted', { text: proven.stdout.reason }]]);
});

test('reports files, failed tools and an unreadable plan', () => {
  const tool = (tool_name: string, tool_input: object, tool_response: object = {}) =>
    drafts({ ...recorded('AfterTool'), tool_name, tool_input, tool_response });
  const file_path = '/workspace/project/src/a.ts';
  expect(tool('write_file', { file_path })).toEqual([
    ['tool.used', { tool: 'write_file', ok: true, files: ['src/a.ts'] }],
  ]);
  expect(tool('replace', { file_path }, { error: { message: 'no' } })).toEqual([
    ['tool.used', { tool: 'replace', ok: false }],
  ]);
  expect(tool('read_file', { file_path })).toEqual([['tool.used', { tool: 'read_file', ok: true }]]);
  expect(tool('write_todos', { todos: 'x' })).toHaveLength(1);
  expect(tool('write_todos', { todos: [] }, { error: 'x' })).toEqual([
    ['tool.used', { tool: 'write_todos', ok: false }],
  ]);
});

test('a permission waits for a person until a tool’s result or the end of the turn', () => {
  const body = { ...recorded('AfterTool'), hook_event_name: 'Notification', notification_type: 'ToolPermission' };
  expect(drafts({ ...body, message: 'Run ls?' })).toEqual([
    ['input.requested', { kind: 'permission', message: 'Run ls?' }],
  ]);
  for (const name of ['AfterTool', 'AfterAgent'])
    expect(drafts(recorded(name), { awaitsInput: true })[0]).toEqual(['input.received', {}]);
});

test('an escalated stop is allowed, with a notice to the person', () => {
  const escalated = { decision: 'allow', action: 'escalate', reason: 'It needs a key', nextPrompt: null } as const;
  const body = recorded('AfterAgent');
  expect(read(body).answer(escalated)).toEqual({
    systemMessage: `stopgate: this session waits for a person: It needs a key. When that is settled: stopgate resolve ${body.session_id} --resume --prompt "…"`,
  });
});

test('the end of an escalated session is not stored', () => {
  expect(drafts(recorded('SessionEnd'), { escalated: true })).toEqual([]);
});
