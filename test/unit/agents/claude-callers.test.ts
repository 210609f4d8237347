/** Other programs that run the hooks of Claude Code's settings: recognised, judged, and answered in a form of theirs. */
import { describe, expect, test } from 'vitest';
import { agents } from '../../../src/agents/index.ts';
import { createAgentFleet } from './agent-fleet.ts';
import { recorded } from './recordings/claude.ts';

const policy = { checks: [{ plan: { required: true } }] };
const reason = 'No plan yet';

/** As documented by the vendors; Copilot's was recorded with 1.0.102, which ran `.claude/settings.json`. */
const calls = {
  cursor: {
    conversation_id: 's1',
    generation_id: 'g1',
    hook_event_name: 'stop',
    workspace_roots: ['/work'],
    cursor_version: '3.7.21',
    status: 'completed',
  },
  vscode: {
    timestamp: '2026-02-09T10:30:00.000Z',
    cwd: '/work',
    sessionId: 's1',
    hookEventName: 'Stop',
    transcript_path: '/t.json',
    stop_hook_active: false,
  },
  copilot: {
    hook_event_name: 'Stop',
    session_id: 's1',
    timestamp: '2026-11-29T01:02:08.148Z',
    cwd: '/work',
    transcript_path: '/home/user/.copilot/session-state/s1/events.jsonl',
    stop_reason: 'end_turn',
    stop_hook_active: false,
  },
  devin: { hook_event_name: 'Stop', session_id: 's1', prompt_id: 'p1', stop_hook_active: false },
  grok: { hookEventName: 'Stop', sessionId: 's1', cwd: '/work', workspaceRoot: '/work' },
  unknown: { hookEventName: 'Stop', sessionId: 's1', cwd: '/work' },
} as const;

describe('a stop that is blocked', () => {
  const block = { decision: 'block', reason: expect.stringContaining(reason) };
  const nested = { hookSpecificOutput: { hookEventName: 'Stop', ...block } };
  test.each([
    ['cursor', { followup_message: block.reason, ...block }],
    ['vscode', { ...block, ...nested }],
    ['copilot', { ...block, ...nested }],
    ['devin', block],
  ] as const)('%s', async (caller, answer) => {
    const fleet = createAgentFleet(policy);
    expect(await fleet.call('claude', calls[caller])).toEqual(answer);
    expect(fleet.view('s1')).toMatchObject({ state: 'blocked', agent: caller });
  });

  test('Claude Code, where it honours context, gets no error and no hook line', async () => {
    const fleet = createAgentFleet(policy);
    const stop = recorded('Stop');
    const context = { hookEventName: 'Stop', additionalContext: expect.stringContaining(reason) };
    expect(await fleet.call('claude', stop)).toEqual({ hookSpecificOutput: context });
    expect(fleet.causes(stop.session_id as string)).toEqual(['incomplete']);
  });

  test.each(['prompt_id', 'session_crons', 'background_tasks', 'transcript_path'])(
    'Claude Code without %s, which may not know context, is blocked',
    async (field) => {
      const { [field]: _, ...older } = recorded('Stop') as Record<string, unknown>;
      expect(await createAgentFleet(policy).call('claude', older)).toEqual(block);
    },
  );
});

describe('a program that is not known to obey', () => {
  test.each([
    ['grok', 'Grok Build'],
    ['unknown', 'A program that stopgate does not know'],
  ] as const)('%s: the stop is not judged, and its name is in the decision', async (caller, title) => {
    const fleet = createAgentFleet(policy);
    expect(await fleet.call('claude', calls[caller])).toEqual({ systemMessage: expect.stringContaining(title) });
    const { state, agent, lastDecision } = fleet.view('s1');
    expect({ state, agent }).toEqual({ state: 'idle', agent: caller });
    expect(lastDecision).toMatchObject({ cause: 'unjudged', reason: expect.stringContaining(title) });
  });
});

test('no program but Claude Code is resumed as one', () => {
  for (const caller of ['vscode', 'devin', 'grok', 'unknown']) expect(agents.get(caller)).toBeUndefined();
});

test('Cursor reports its events under either name', async () => {
  const fleet = createAgentFleet(policy);
  await fleet.call('claude', { ...calls.cursor, hook_event_name: 'UserPromptSubmit', prompt: 'fix it' });
  expect(fleet.view('s1')).toMatchObject({ state: 'working', cwd: '/work' });
  await fleet.call('claude', { ...calls.cursor, hook_event_name: 'Stop' });
  expect(fleet.causes('s1')).toEqual(['incomplete']);
});

test('tools of VS Code and Devin are known', async () => {
  const fleet = createAgentFleet({ checks: [{ ran: 'npm test' }] });
  const tool = { hookEventName: 'PostToolUse', tool_name: 'run_in_terminal', tool_input: { command: 'npm test' } };
  await fleet.call('claude', { ...calls.vscode, ...tool, tool_response: 'ok' });
  await fleet.call('claude', calls.vscode);
  expect(fleet.causes('s1')).toEqual(['complete']);
  const exec = { hook_event_name: 'PostToolUse', tool_name: 'exec', tool_input: { command: 'npm test' } };
  await fleet.call('claude', { ...calls.devin, session_id: 's2', ...exec, tool_response: { success: true } });
  await fleet.call('claude', { ...calls.devin, session_id: 's2' });
  expect(fleet.causes('s2')).toEqual(['complete']);
});

describe('interrupts and waits of Claude Code', () => {
  const session = { session_id: 's1', cwd: '/work' };
  const event = (name: string, more: object = {}) => ({ ...session, hook_event_name: name, ...more });
  const interrupted = { presence: 'interrupted', sentence: 'Interrupted by its user: the stop was not judged' };

  test('a tool that the user interrupted ends the turn', async () => {
    const fleet = createAgentFleet(policy);
    await fleet.call('claude', event('UserPromptSubmit', { prompt: 'go' }));
    const failed = event('PostToolUseFailure', { tool_name: 'Bash', is_interrupt: true });
    expect(await fleet.call('claude', failed)).toBeNull();
    fleet.pass(600_000);
    expect(fleet.view('s1')).toMatchObject(interrupted);
    await fleet.call('claude', event('UserPromptSubmit', { prompt: 'go on' }));
    expect(fleet.view('s1')).toMatchObject({ presence: 'active', state: 'working' });
  });

  test('an empty prompt in the middle of a turn means an interrupt, after a stop it does not', async () => {
    const fleet = createAgentFleet(policy);
    const idle = event('Notification', { notification_type: 'idle_prompt', message: 'waiting' });
    await fleet.call('claude', event('UserPromptSubmit', { prompt: 'go' }));
    await fleet.call('claude', idle);
    expect(fleet.view('s1')).toMatchObject(interrupted);
    await fleet.call('claude', event('UserPromptSubmit', { prompt: 'go' }));
    await fleet.call('claude', event('Stop'));
    await fleet.call('claude', idle);
    expect(fleet.causes('s1')).toEqual(['bypassed', 'incomplete']);
  });

  test('a notice and a question of an MCP server wait for a person, once', async () => {
    const fleet = createAgentFleet(policy);
    await fleet.call('claude', event('Elicitation', { mcp_server_name: 'db', message: 'Which table?' }));
    await fleet.call('claude', event('Notification', { notification_type: 'elicitation_dialog', message: 'Which?' }));
    expect(fleet.view('s1')).toMatchObject({ awaitsInput: true, inputs: [{ message: 'Which table?' }] });
    await fleet.call('claude', event('ElicitationResult', { mcp_server_name: 'db', action: 'accept' }));
    expect(fleet.view('s1').awaitsInput).toBe(false);
    await fleet.call('claude', event('Notification', { notification_type: 'permission_prompt', message: 'Bash?' }));
    expect(fleet.view('s1')).toMatchObject({ inputs: [{ kind: 'permission', message: 'Bash?' }] });
  });

  test('a denied tool has not run', async () => {
    const fleet = createAgentFleet(policy);
    await fleet.call('claude', event('PreToolUse', { tool_name: 'Bash', tool_use_id: 't1' }));
    expect(fleet.view('s1').calls).toHaveLength(1);
    await fleet.call('claude', event('PermissionDenied', { tool_name: 'Bash', tool_use_id: 't1', reason: 'no' }));
    expect(fleet.view('s1')).toMatchObject({ calls: [], filesModified: { unknown: false } });
  });
});
