/**
 * Edge cases of what real agents send. Each case is a short session of recorded or reported calls that goes through the
 * agent's adapter and the fold.
 */
import { describe, expect, test } from 'vitest';
import type { NewEntry } from '../../../src/service/publish.ts';
import { type AgentFleet, createAgentFleet } from './agent-fleet.ts';
import { scripts, withPlan, withPromptText } from './scripts.ts';

const session = '0b5ab8b1-7f3f-4c39-9a34-3d1b0a7f2c11';
const never = { retries: 3, checks: [{ rules: ['tests_pass'] }] };
const whenSrc = { checks: [{ rules: ['tests_pass'], when: { filesMatch: 'src/**' } }] };
const claude = (hook_event_name: string, more: object = {}) => ({
  session_id: session,
  cwd: '/workspace/project',
  hook_event_name,
  ...more,
});
const claudeStop = (fleet: AgentFleet, more: object = {}) => fleet.call('claude', claude('Stop', more));
const causes = (fleet: AgentFleet) => fleet.causes(session);

describe('a prompt that no person wrote does not reset the retries', () => {
  const machine = [
    ['nothing', ''],
    ['a teammate', '<teammate-message teammate_id="tester">\n{"type":"idle_notification"}\n</teammate-message>'],
    [
      'a teammate, with a preamble',
      'Another Claude session sent a message:\n<agent-message from="a">hi</agent-message>',
    ],
    [
      'another session',
      '<cross-session-message from="x">done</cross-session-message>\nThis came from another session.',
    ],
    ['a teammate, bare', '{"type":"idle_notification","from":"tester"}'],
    ['a channel', '<channel source="ci">build failed</channel>'],
    ['a task', '<task-notification>\n<task-id>b1</task-id>\n<status>completed</status>\n</task-notification>'],
    ['its own program', '<system_notification>agent done</system_notification>'],
    ['an unknown element', '<new-kind-of-notice level="1">something</new-kind-of-notice>\n<other_notice/>'],
    ['a loop', '<<autonomous-loop-dynamic>>'],
    ['a compaction', 'This session is being continued from a previous conversation that ran out of context.'],
  ] as const;

  test.each(withPromptText.flatMap((it) => machine.map(([what, prompt]) => ({ ...it, what, prompt }))))(
    '$form: $what',
    async ({ agent, script, prompt }) => {
      const fleet = createAgentFleet(never);
      await fleet.call(agent, ...script.prompt(session, 'Write the tests.'));
      for (const _ of [1, 2, 3]) {
        await fleet.call(agent, ...script.stop(session));
        await fleet.call(agent, ...script.prompt(session, prompt));
      }
      expect(fleet.view(session)).toMatchObject({ state: 'working', retry: { count: 3 } });
      await fleet.call(agent, ...script.stop(session));
      expect(causes(fleet)).toEqual(['incomplete', 'incomplete', 'incomplete', 'capped']);
    },
  );

  const persons = [
    'please finish it',
    '<div>why is this red?</div>',
    '<task>Fix the tests</task>',
    'Another Claude session sent a message: what does that mean?',
    '<new-element>is what I call it</new-element>, and it is broken',
    '<command-name>/review</command-name>',
    'see [SYSTEM NOTIFICATION] in the log',
  ];
  test.each(withPromptText.flatMap((it) => persons.map((prompt) => ({ ...it, prompt }))))(
    '$form: a person’s prompt does: $prompt',
    async ({ agent, script, prompt }) => {
      const fleet = createAgentFleet(never);
      await fleet.call(agent, ...script.stop(session));
      await fleet.call(agent, ...script.prompt(session, prompt));
      expect(fleet.view(session).retry.count).toBe(0);
    },
  );

  test.each([
    ['user', '<teammate-message>pasted by a person</teammate-message>', 0],
    ['sdk', 'go', 0],
    ['system', 'go', 1],
    ['schedule_wakeup', 'go', 1],
    ['unknown_source', 'go', 1],
  ])('Claude Code names the author: %s', async (source, prompt, count) => {
    const fleet = createAgentFleet(never);
    await claudeStop(fleet);
    await fleet.call('claude', claude('UserPromptSubmit', { prompt, source }));
    expect(fleet.view(session).retry.count).toBe(count);
  });

  test('a scheduled prompt is recognised from the list of the last stop', async () => {
    const fleet = createAgentFleet(never);
    const crons = [{ id: 'c1', schedule: '*/5 * * * *', recurring: true, prompt: 'Look at the build.' }];
    await claudeStop(fleet, { session_crons: crons, background_tasks: [] });
    await fleet.call('claude', claude('UserPromptSubmit', { prompt: 'Look at the build.' }));
    expect(fleet.view(session).retry.count).toBe(1);
    await fleet.call('claude', claude('UserPromptSubmit', { prompt: 'Look at the tests.' }));
    expect(fleet.view(session).retry.count).toBe(0);
  });

  test('a one-time wake-up is recognised from the log, even if the list was forgotten', async () => {
    const before = createAgentFleet(never);
    const prompt = `Look at the build. ${'x'.repeat(500)}`;
    const crons = [{ id: 'c1', schedule: '0 0 * * *', recurring: false, prompt }];
    await claudeStop(before, { session_crons: crons, background_tasks: [] });
    const after = createAgentFleet(never);
    await claudeStop(after);
    const [started] = before.entries.filter(({ type }) => type === 'background.started');
    await after.publish(started as NewEntry);
    await after.call('claude', claude('UserPromptSubmit', { prompt }));
    expect(after.view(session).retry.count).toBe(1);
  });

  test.each([
    ['claude', 'CronCreate'],
    ['claude', 'ScheduleWakeup'],
    ['qwen', 'cron_create'],
  ])('%s: a prompt that the agent scheduled with %s is not a person’s and cannot pause', async (agent, tool_name) => {
    for (const by of [{}, { agent_id: 'a1' }]) {
      const fleet = createAgentFleet(never);
      await fleet.call(agent, claude('Stop'));
      const tool_input = { prompt: '/stopgate off' };
      await fleet.call(agent, { ...claude('PostToolUse', { tool_name, tool_input, tool_response: {} }), ...by });
      // Prompts scheduled with a tool may be missing from the list.
      await fleet.call(agent, claude('Stop', { session_crons: [], crons: [], background_tasks: [] }));
      await fleet.call(agent, claude('UserPromptSubmit', { prompt: '/stopgate off' }));
      expect(fleet.view(session)).toMatchObject({ paused: null, retry: { count: 2 } });
      await fleet.call(agent, claude('UserPromptSubmit', { prompt: '/stopgate on' }));
      await fleet.call(agent, claude('UserPromptSubmit', { prompt: 'go' }));
      expect(fleet.view(session).retry.count).toBe(0);
    }
  });

  test('a sub-agent’s prompt is an agent’s and ends no escalation', async () => {
    const fleet = createAgentFleet({ ...never, retries: 1, onCap: 'escalate' });
    await fleet.call('claude', claude('UserPromptSubmit', { prompt: 'go' }));
    for (const _ of [1, 2]) await claudeStop(fleet);
    expect(fleet.view(session).state).toBe('escalated');
    await fleet.call('claude', claude('UserPromptSubmit', { prompt: '<tick>now</tick>' }));
    expect(fleet.view(session).state).toBe('escalated');
    await fleet.call('codex', { ...claude('UserPromptSubmit', { prompt: 'do it' }), agent_id: 'a1' });
    expect(fleet.entries.at(-1)).toMatchObject({ type: 'prompt.submitted', data: { by: 'agent' } });
  });
});

describe('the folder', () => {
  test('a call from another folder first moves the worker', async () => {
    const fleet = createAgentFleet(never);
    await fleet.call('claude', claude('UserPromptSubmit', { prompt: 'go' }));
    const before = fleet.entries.length;
    const cwd = '/workspace/project/.claude/worktrees/feat';
    const entered = { tool_name: 'EnterWorktree', tool_input: {}, tool_response: {} };
    await fleet.call('claude', { ...claude('PostToolUse', entered), cwd });
    expect(fleet.entries.slice(before).map(({ type }) => type)).toEqual(['worker.moved', 'tool.used']);
    expect(fleet.view(session)).toMatchObject({ cwd, filesModified: { unknown: true } });
    await fleet.call('claude', { ...claude('SessionEnd'), cwd });
    await fleet.call('claude', claude('UserPromptSubmit', { prompt: 'go on', cwd: '/workspace/other/' }));
    expect(fleet.view(session).cwd).toBe('/workspace/other/');
    await fleet.call('claude', claude('PostToolBatch', { cwd: '/workspace/./other' }));
    expect(fleet.view(session).cwd).toBe('/workspace/other/');
  });

  test.each([
    ['', []],
    ['.', ['cwd']],
    ['packages/a', ['cwd']],
    ['~/project', ['cwd']],
  ])('a relative folder name does not move the worker: %j', async (cwd, noted) => {
    const fleet = createAgentFleet(never);
    const unread: string[] = [];
    const options = { noteUnread: (what: string) => unread.push(what) };
    await fleet.call('claude', claude('UserPromptSubmit', { prompt: 'go' }), undefined, options);
    await fleet.call('claude', claude('Stop', { cwd }), undefined, options);
    expect(fleet.view(session).cwd).toBe('/workspace/project');
    expect(unread).toEqual(noted);
  });

  const folderKeys: Readonly<Record<string, string>> = { opencode: 'directory', goose: 'working_dir' };
  // Their folder is in a list.
  const inLists = ['cursor', 'agy', 'cline'];
  test.each(scripts.filter(({ agent }) => !inLists.includes(agent)))(
    '$form: moves with the agent',
    async ({ agent, script }) => {
      const fleet = createAgentFleet(never);
      await fleet.call(agent, ...script.prompt(session, 'go'));
      const [body, event] = script.tool(session);
      await fleet.call(agent, { ...body, [folderKeys[agent] ?? 'cwd']: '/elsewhere' }, event);
      expect(fleet.view(session).cwd).toBe('/elsewhere');
    },
  );

  test('files are also named relative to the first folder, so that `cd src` does not evade a check', async () => {
    const fleet = createAgentFleet(whenSrc);
    const edit = (cwd: string, file_path: string) =>
      fleet.call('claude', { ...claude('PostToolUse', { tool_name: 'Edit', tool_input: { file_path } }), cwd });
    const last = () => (fleet.entries.at(-1)?.data as { files?: string[] } | undefined)?.files;
    await fleet.call('claude', claude('UserPromptSubmit', { prompt: 'go' }));
    await edit('/workspace/project/src', '/workspace/project/src/a.ts');
    expect(last()).toEqual(['src/a.ts', 'a.ts']);
    await fleet.call('claude', { ...claude('Stop'), cwd: '/workspace/project/src' });
    expect(causes(fleet)).toEqual(['incomplete']);
    await edit('/elsewhere', 'src/b.ts');
    expect(last()).toEqual(['src/b.ts']);
    await edit('/workspace/project', 'src/c.ts');
    expect(last()).toEqual(['src/c.ts']);
    await fleet.call('claude', { ...claude('SessionStart', { source: 'resume' }), cwd: '/workspace/project/src' });
    await edit('/workspace/project/src', 'd.ts');
    expect(last()).toEqual(['d.ts']);
  });

  test('switching to another folder of a Cursor workspace is not a move', async () => {
    const fleet = createAgentFleet(never);
    const tool = (...workspace_roots: string[]) =>
      fleet.call('cursor', {
        hook_event_name: 'postToolUse',
        conversation_id: session,
        workspace_roots,
        tool_name: 'Read',
      });
    await tool('/a', '/b');
    await tool('/b', '/a');
    expect(fleet.view(session).cwd).toBe('/a');
    await tool('/b');
    expect(fleet.view(session).cwd).toBe('/b');
  });
});

describe('the files that a tool may have changed', () => {
  const patch = '*** Begin Patch\n*** Update File: src/a.ts\n@@\n-a\n+b\n*** End Patch\n';
  type Used = readonly [agent: string, body: object, event?: string | undefined];
  const rows = (calls: readonly Used[]) => calls.map((used) => ({ agent: used[0], body: used[1], used }));
  const shellIn = (command: unknown): Used[] => [
    ['claude', claude('PostToolUse', { tool_name: 'Bash', tool_input: { command } })],
    ['codex', claude('PostToolUse', { tool_name: 'Bash', tool_input: { command } })],
    ['gemini', claude('AfterTool', { tool_name: 'run_shell_command', tool_input: { command } })],
    ['qwen', claude('PostToolUse', { tool_name: 'run_shell_command', tool_input: { command } })],
    [
      'copilot',
      { sessionId: session, cwd: '/workspace/project', toolName: 'bash', toolArgs: { command } },
      'postToolUse',
    ],
    [
      'cursor',
      { hook_event_name: 'postToolUse', conversation_id: session, tool_name: 'Shell', tool_input: { command } },
    ],
    ['opencode', { input: { sessionID: session, tool: 'bash', args: { command } }, output: {} }, 'tool.execute.after'],
    ['kiro', claude('PostToolUse', { tool_name: 'execute_bash', tool_input: { command } })],
    ['droid', claude('PostToolUse', { tool_name: 'Execute', tool_input: { command } })],
    ['goose', { event: 'PostToolUse', session_id: session, tool_name: 'developer__shell', tool_input: { command } }],
    ['kimi', claude('PostToolUse', { tool_name: 'Bash', tool_input: { command } })],
    [
      'cline',
      {
        hookName: 'tool_result',
        taskId: session,
        tool_result: { name: 'run_commands', input: { commands: [command] } },
      },
    ],
    ['shell', { worker: session, event: 'tool', command }],
  ];
  const changed = async ([agent, body, event]: Used) => {
    const fleet = createAgentFleet(whenSrc);
    await fleet.call(agent, body, event);
    const { filesModified } = fleet.view(session);
    return filesModified.unknown ? 'unknown' : filesModified.count > 0 ? 'files' : 'none';
  };

  test.each(rows(shellIn('sed -i s/a/b/ src/a.ts')))('$agent: a shell that writes', async ({ used }) => {
    expect(await changed(used)).toBe('unknown');
  });
  test.each(rows(shellIn('git status')))('$agent: a shell that reads', async ({ used }) => {
    expect(await changed(used)).toBe('none');
  });

  test.each(
    rows([
      ['copilot', { sessionId: session, cwd: '/w', toolName: 'apply_patch', toolArgs: patch }, 'postToolUse'],
      [
        'copilot',
        { sessionId: session, cwd: '/w', toolName: 'apply_patch', toolArgs: { input: patch } },
        'postToolUse',
      ],
      ['codex', claude('PostToolUse', { tool_name: 'apply_patch', tool_input: { command: patch } })],
      [
        'opencode',
        { input: { sessionID: session, tool: 'apply_patch', args: { patchText: patch } }, output: {}, directory: '/w' },
        'tool.execute.after',
      ],
      ['claude', claude('PostToolUse', { tool_name: 'Write', tool_input: { file_path: 'src/a.ts' } })],
    ]),
  )('$agent: the files of a patch or a write are known', async ({ used }) => {
    expect(await changed(used)).toBe('files');
    const fleet = createAgentFleet(whenSrc);
    const [agent, body, event] = used;
    await fleet.call(agent, body, event);
    expect(fleet.entries.at(-1)?.data).toMatchObject({ files: ['src/a.ts'] });
  });

  test('a patch applied by a shell names its files and may have changed others', async () => {
    const fleet = createAgentFleet(whenSrc);
    const command = `apply_patch <<'EOF'\n${patch}EOF`;
    await fleet.call(
      'codex',
      claude('PostToolUse', { tool_name: 'Bash', tool_input: { command: ['bash', '-lc', command] } }),
    );
    expect(fleet.entries.at(-1)?.data).toMatchObject({ files: ['src/a.ts'], changes: 'unknown' });
  });

  test.each(
    rows([
      ['claude', claude('PostToolUse', { tool_name: 'mcp__files__write_file', tool_input: { path: 'src/a.ts' } })],
      ['claude', claude('PostToolUse', { tool_name: 'mcp__db__query', tool_input: {} })],
      ['claude', claude('PostToolUse', { tool_name: 'Task', tool_input: { prompt: 'x' } })],
      ['claude', claude('PostToolUse', { tool_name: 'TaskOutput', tool_input: { task_id: 'b1' } })],
      ['claude', claude('PostToolUse', { tool_name: 'ToolOfTomorrow', tool_input: {} })],
      ['claude', claude('PostToolUse', { tool_name: 'constructor', tool_input: {} })],
      ['claude', claude('PostToolUse', { tool_name: 'Write', tool_input: { path_of_tomorrow: 'src/a.ts' } })],
      ['claude', claude('PostToolUse', { tool_name: 'Write', tool_input: { file_path: '/etc/hosts' } })],
      ['claude', claude('PostToolUse', { tool_name: 'Write', tool_input: { file_path: '../project-two/a.ts' } })],
      ['claude', claude('PostToolUseFailure', { tool_name: 'Bash', tool_input: { command: 'make' } })],
      ['gemini', claude('AfterTool', { tool_name: 'save_memory', tool_input: {} })],
      ['qwen', claude('PostToolUse', { tool_name: 'agent', tool_input: {} })],
      ['copilot', { sessionId: session, toolName: 'task', toolArgs: {} }, 'postToolUse'],
      ['copilot', { sessionId: session, toolName: 'read_bash', toolArgs: {} }, 'postToolUse'],
      ['codex', claude('PostToolUse', { tool_name: 'wait_agent', tool_input: {} })],
      ['cursor', { hook_event_name: 'postToolUse', conversation_id: session, tool_name: 'MCP:query' }],
      ['opencode', { input: { sessionID: session, tool: 'batch' }, output: {} }, 'tool.execute.after'],
      ['shell', { worker: session, event: 'tool', tool: 'make' }],
    ]),
  )('$agent: any file if it is unknown: $body', async ({ used }) => {
    expect(await changed(used)).toBe('unknown');
  });

  test.each(
    rows([
      ['claude', claude('PostToolUse', { tool_name: 'Read', tool_input: { file_path: 'src/a.ts' } })],
      [
        'claude',
        claude('PostToolUse', { tool_name: 'mcp__filesystem__read_text_file', tool_input: { path: 'src/a.ts' } }),
      ],
      ['gemini', claude('AfterTool', { tool_name: 'glob', tool_input: {} })],
      ['qwen', claude('PostToolUse', { tool_name: 'read_file', tool_input: {} })],
      ['copilot', { sessionId: session, toolName: 'view', toolArgs: { path: 'a' } }, 'postToolUse'],
      ['opencode', { input: { sessionID: session, tool: 'read' }, output: {} }, 'tool.execute.after'],
    ]),
  )('$agent: no file if that is known: $body', async ({ used }) => {
    expect(await changed(used)).toBe('none');
  });
});

describe('whether a command has run', () => {
  const ran = { checks: [{ ran: 'npm test' }] };
  const bash = (tool_response: unknown, input: object = {}) =>
    claude('PostToolUse', { tool_name: 'Bash', tool_input: { command: 'npm test', ...input }, tool_response });
  const codex = (tool_response: unknown) => bash(tool_response);
  const gemini = (llmContent: unknown, input: object = {}) => ({
    ...claude('AfterTool', { tool_name: 'run_shell_command', tool_input: { command: 'npm test', ...input } }),
    tool_response: { llmContent },
  });
  const qwen = (llmContent: string, input: object = {}) => ({
    ...gemini(llmContent, input),
    hook_event_name: 'PostToolUse',
  });
  const copilot = (textResultForLlm: string, resultType = 'success') => ({
    sessionId: session,
    cwd: '/workspace/project',
    toolName: 'bash',
    toolArgs: { command: 'npm test' },
    toolResult: { resultType, textResultForLlm },
  });
  const cursor = (tool_output: unknown) => ({
    hook_event_name: 'postToolUse',
    conversation_id: session,
    tool_name: 'Shell',
    tool_input: { command: 'npm test' },
    tool_output,
  });
  const opencode = (exit: number | null) => ({
    input: { sessionID: session, tool: 'bash', args: { command: 'npm test' } },
    output: { metadata: { exit } },
  });
  const runs = async (agent: string, body: object) => {
    const event = { copilot: 'postToolUse', opencode: 'tool.execute.after' }[agent];
    const fleet = createAgentFleet(ran);
    await fleet.call(agent, body, event);
    const { script } = scripts.find((it) => it.agent === agent) as (typeof scripts)[number];
    await fleet.call(agent, ...script.stop(session));
    return causes(fleet);
  };

  test.each<readonly [agent: string, what: string, body: object]>([
    ['claude', 'does not say how it ended', bash({ stdout: 'ok', interrupted: false })],
    ['codex', 'passes on only the output', codex('ok\nExit code of the last one: 1\n')],
    ['codex', 'ended with 0', codex('Chunk ID: 1\nWall time: 1 seconds\nProcess exited with code 0\nOutput:\nok')],
    ['gemini', 'omits exit code 0', gemini('<untrusted_context>\nOutput: ok\n</untrusted_context>')],
    ['qwen', 'ended with 0', qwen('Command: npm test\nOutput: Exit Code: 1\nExit Code: 0\nSignal: (none)')],
    ['copilot', 'ended with 0', copilot('ok\n<shellId: 0 completed with exit code 0>')],
    ['copilot', 'does not say how it ended', copilot('ok')],
    ['cursor', 'ended with 0', cursor('{"exitCode":0,"stdout":"ok"}')],
    ['opencode', 'ended with 0', opencode(0)],
  ])('$0: yes when it $1', async (agent, _what, body) => {
    expect(await runs(agent, body)).toEqual(['complete']);
  });

  test.each<readonly [agent: string, what: string, body: object]>([
    ['claude', 'was started in the background', bash({ backgroundTaskId: 'b1' }, { run_in_background: true })],
    ['claude', 'went into the background', bash({ stdout: '', backgroundTaskId: 'b1' })],
    ['claude', 'was interrupted', bash({ stdout: '', interrupted: true })],
    ['claude', 'is watched', claude('PostToolUse', { tool_name: 'Monitor', tool_input: { command: 'npm test' } })],
    ['codex', 'failed', codex({ output: 'x', metadata: { exit_code: 1 } })],
    ['codex', 'failed, in words', codex('Wall time: 1 seconds\nProcess exited with code 1\nOutput:\nx')],
    ['codex', 'still runs', codex('Wall time: 9 seconds\nProcess running with session ID 7\nOutput:\nx')],
    ['gemini', 'failed', gemini('<untrusted_context>\nOutput: Exit Code: 0\nExit Code: 1\n</untrusted_context>')],
    ['gemini', 'failed, in parts', gemini([{ text: 'Output: x\nExit Code: 1' }])],
    ['gemini', 'was ended by a signal', gemini('Output: x\nSignal: 9')],
    ['gemini', 'was cancelled', gemini('Command was cancelled by user before it could complete.')],
    ['gemini', 'went into the background', gemini('Command moved to background (PID: 7).')],
    ['gemini', 'was started in the background', gemini('x', { is_background: true })],
    ['qwen', 'failed', qwen('Output: x\nExit Code: 2\nSignal: (none)')],
    ['qwen', 'was started in the background', qwen('Background command started.', { is_background: true })],
    ['copilot', 'failed', copilot('x\n<shellId: 0 completed with exit code 1>')],
    ['copilot', 'still runs', copilot('<command with shellId: 3 is still running after 30 seconds>')],
    ['copilot', 'was refused', copilot('no', 'denied')],
    ['cursor', 'failed', cursor('{"exitCode":1,"stdout":"x"}')],
    ['opencode', 'failed', opencode(1)],
    ['opencode', 'was killed', opencode(null)],
  ])('$0: not when it $1', async (agent, _what, body) => {
    expect(await runs(agent, body)).toEqual(['incomplete']);
  });
});

describe('background work', () => {
  const work = (more: object) => ({ id: 'b1', type: 'shell', status: 'running', command: 'npm run build', ...more });
  const stopWith = async (...background_tasks: unknown[]) => {
    const fleet = createAgentFleet(never);
    await claudeStop(fleet, { background_tasks });
    return [causes(fleet)[0], fleet.view(session).background.map(({ id, kind, command }) => [id, kind, command])];
  };

  test.each([
    ['a shell', work({}), ['b1', 'shell', 'npm run build']],
    ['an unknown kind', work({ type: 'quantum', command: undefined }), ['b1', 'quantum', null]],
    ['no state', work({ status: undefined }), ['b1', 'shell', 'npm run build']],
    ['an id that is a number', work({ id: 7 }), ['7', 'shell', 'npm run build']],
    ['no id', work({ id: undefined }), ['shell 2', 'shell', 'npm run build']],
  ])('%s is waited for, even next to a malformed item', async (_what, item, shown) => {
    expect(await stopWith(null, item)).toEqual(['waiting', [shown]]);
  });

  test.each([
    ['a teammate, which stays listed while it is idle', work({ type: 'in_process_teammate', command: undefined })],
    ['finished work', work({ status: 'completed' })],
    ['work that was killed', work({ status: 'killed' })],
    ['work in an unknown state', work({ status: 'suspended' })],
    ['work whose status is not a string', work({ status: 7 })],
  ])('%s is not waited for', async (_what, item) => {
    expect(await stopWith(item)).toEqual(['incomplete', []]);
  });

  test('a one-time wake-up is waited for until it is due; a recurring one is not', async () => {
    const soon = new Date(Date.now() + 30 * 60_000);
    const at = (time: Date) => `${time.getMinutes()} ${time.getHours()} ${time.getDate()} ${time.getMonth() + 1} *`;
    const cron = (more: object) => ({ id: 'c1', schedule: at(soon), recurring: false, prompt: 'look', ...more });
    const stopped = async (session_crons: unknown[]) => {
      const fleet = createAgentFleet(never);
      await claudeStop(fleet, { session_crons, background_tasks: [] });
      return causes(fleet)[0];
    };
    expect(await stopped([cron({})])).toBe('waiting');
    expect(await stopped([cron({ recurring: undefined })])).toBe('waiting');
    expect(await stopped([cron({ schedule: '*/5 * * * *', recurring: true })])).toBe('incomplete');
    expect(await stopped([cron({ schedule: '*/5 * * * *', recurring: undefined })])).toBe('incomplete');
    expect(await stopped([cron({ schedule: at(new Date(Date.now() - 3_600_000)) })])).toBe('incomplete');
    expect(await stopped([cron({ schedule: 'soon' })])).toBe('incomplete');
    expect(await stopped([cron({ schedule: undefined })])).toBe('incomplete');
    expect(await stopped([7, {}])).toBe('incomplete');
  });

  test('a run without a person is recognised at its prompt, and its background work is not waited for', async () => {
    const fleet = createAgentFleet(never);
    await fleet.call('claude', claude('SessionStart', { source: 'startup' }));
    expect(fleet.view(session).interactive).toBeNull();
    await fleet.call('claude', claude('UserPromptSubmit', { prompt: 'go', source: 'sdk' }));
    expect(fleet.view(session)).toMatchObject({ interactive: false, state: 'working' });
    expect(await claudeStop(fleet, { background_tasks: [work({})] })).toMatchObject({ decision: 'block' });
    expect(causes(fleet)).toEqual(['waiting']);
  });
});

describe('malformed plan items', () => {
  test('an item without a status or title is kept', async () => {
    const fleet = createAgentFleet({ checks: [{ plan: {} }] });
    const todos = [
      { content: 'a', status: 'completed' },
      { content: 'b' },
      { id: 'x7', status: 'completed' },
      {},
      'c',
      7,
    ];
    await fleet.call(
      'claude',
      claude('PostToolUse', { tool_name: 'TodoWrite', tool_input: { todos }, tool_response: {} }),
    );
    expect(fleet.view(session).plan.map(({ title, status }) => [title, status])).toEqual([
      ['a', 'completed'],
      ['b', 'pending'],
      ['x7', 'completed'],
      ['step 4', 'pending'],
      ['c', 'pending'],
      ['7', 'pending'],
    ]);
  });

  const create = (tool_response: unknown, tool_input: object = { subject: 'Fix it' }) =>
    claude('PostToolUse', { tool_name: 'TaskCreate', tool_input, tool_response });
  const complete = (tool_response: unknown, taskId: unknown = '1') =>
    claude('PostToolUse', { tool_name: 'TaskUpdate', tool_input: { taskId, status: 'completed' }, tool_response });
  const words = 'Task #1 created successfully: Fix it';

  test.each([
    ['an object', { task: { id: 1, subject: 'Fix it' } }],
    ['a text', words],
    ['a list of texts', [{ type: 'text', text: words }]],
    ['a text within it', { content: [{ type: 'text', text: words }] }],
  ])('a step created with the result %s is completed by its id', async (_what, response) => {
    const fleet = createAgentFleet({ checks: [{ plan: {} }] });
    await fleet.call('claude', create(response));
    expect(fleet.view(session).plan).toEqual([{ step: '1', title: 'Fix it', status: 'pending' }]);
    for (const refused of ['Task not found', { success: false }, { success: 'false' }, [{ text: 'not allowed' }]])
      await fleet.call('claude', complete(refused));
    expect(fleet.view(session).plan).toMatchObject([{ status: 'pending' }]);
    await fleet.call('claude', complete('Updated task #1 status'));
    expect(fleet.view(session).plan).toMatchObject([{ status: 'completed' }]);
  });

  test('a created step without an id stays open until a list names the steps', async () => {
    const fleet = createAgentFleet({ checks: [{ plan: {} }] });
    await fleet.call('claude', create('created'));
    await fleet.call('claude', complete('Updated task #7 status', 7));
    expect(await claudeStop(fleet)).toMatchObject({ decision: 'block' });
    const listed = (tool_response: string) => claude('PostToolUse', { tool_name: 'TaskList', tool_response });
    await fleet.call('claude', listed('#7 [completed] Fix it\n#8 [pending] Test it [blocked by #7]'));
    expect(fleet.view(session).plan).toMatchObject([
      { step: '7', status: 'completed' },
      { step: '8', status: 'pending' },
    ]);
  });

  test.each<readonly [agent: string, body: object]>([
    ['claude', claude('PostToolUse', { tool_name: 'TodoWrite', tool_input: { todos: 'all of it' } })],
    ['claude', claude('PostToolUse', { tool_name: 'TodoWrite' })],
    ['claude', claude('PostToolUse', { tool_name: 'TaskList', tool_response: 'No tasks found' })],
    ['claude', create('created', {})],
    ['claude', complete({ success: true }, {})],
    ['codex', claude('PostToolUse', { tool_name: 'update_plan', tool_input: { plan: 7 } })],
    ['codex', claude('PostToolUse', { tool_name: 'update_goal', tool_response: 'done' })],
    ['gemini', claude('AfterTool', { tool_name: 'write_todos', tool_input: { todos: null } })],
    ['qwen', claude('PostToolUse', { tool_name: 'todo_write', tool_input: { todos: true } })],
    ['opencode', { type: 'todo.updated', properties: { sessionID: session, todos: 7 } }],
    [
      'copilot',
      { sessionId: session, toolName: 'sql', toolArgs: { query: 'DROP TABLE todos' }, hookEventName: 'postToolUse' },
    ],
  ])('%s: an unreadable change leaves the plan unchanged and is noted: %j', async (agent, body) => {
    const fleet = createAgentFleet({ checks: [{ plan: {} }] });
    await fleet.call('shell', { worker: session, event: 'plan', steps: [{ title: 'old' }] });
    const unread: string[] = [];
    await fleet.call(agent, body, undefined, { noteUnread: (what) => unread.push(what) });
    expect(unread).toEqual(['plan']);
    expect(fleet.entries.at(-1)?.data).toMatchObject({ note: expect.stringMatching(/^the plan is unknown/) });
    expect(fleet.view(session).plan).toMatchObject([{ title: 'old', status: 'pending' }]);
  });

  test.each([
    ['a text of JSON', '[{"content":"a"}]'],
    ['a text of JSON in JSON', JSON.stringify('[{"content":"a"}]')],
    ['an object with the list', { todos: [{ content: 'a' }] }],
    ['an object by ids', { x: { content: 'a' } }],
  ])('a list given as %s is a plan', async (_what, todos) => {
    const fleet = createAgentFleet({ checks: [{ plan: {} }] });
    await fleet.call('claude', claude('PostToolUse', { tool_name: 'TodoWrite', tool_input: { todos } }));
    expect(fleet.view(session).plan).toEqual([{ title: 'a', status: 'pending' }]);
  });

  test.each(withPlan.filter(({ agent }) => ['claude', 'qwen', 'gemini', 'opencode', 'shell'].includes(agent)))(
    '$form: a title of another type does not lose the plan',
    async ({ agent, script }) => {
      const fleet = createAgentFleet({ checks: [{ plan: {} }] });
      const [body, event] = script.plan(session, 'odd');
      const damaged = JSON.parse(JSON.stringify(body).replaceAll(/"(title|content|description)":"odd"/g, '"$1":null'));
      await fleet.call(agent, damaged, event);
      expect(fleet.view(session).plan).toHaveLength(1);
    },
  );
});

describe('the permission mode', () => {
  test('is a label that follows the session and selects the policy', async () => {
    const planning = { checks: [] };
    const fleet = createAgentFleet(never, {
      policies: { default: never, planning },
      assign: [{ labels: { mode: 'plan' }, policy: 'planning' }],
    });
    await fleet.call('claude', claude('UserPromptSubmit', { prompt: 'go', permission_mode: 'plan' }));
    expect(fleet.view(session)).toMatchObject({ labels: { mode: 'plan' }, policy: 'planning' });
    await claudeStop(fleet, { permission_mode: 'acceptEdits' });
    expect(causes(fleet)).toEqual(['incomplete']);
    expect(fleet.view(session)).toMatchObject({ labels: { mode: 'acceptEdits' }, retry: { count: 1 } });
  });
});

describe('a step list shared by several workers', () => {
  const created = (session_id: string, id: string) => ({
    ...claude('PostToolUse', { tool_name: 'TaskCreate', tool_input: { subject: `step ${id}` } }),
    session_id,
    tool_response: { task: { id } },
  });
  const done = (session_id: string, taskId: string, more: object = {}) => ({
    ...claude('PostToolUse', { tool_name: 'TaskUpdate', tool_input: { taskId, status: 'completed' }, ...more }),
    session_id,
    tool_response: { success: true, updatedFields: ['status'] },
  });
  const open = (fleet: AgentFleet, worker: string) =>
    fleet.view(worker).plan.filter(({ status }) => status !== 'completed').length;

  test('a step that one session completes is completed for all', async () => {
    const fleet = createAgentFleet({ checks: [{ plan: {} }] });
    const shared = { taskList: 'release' };
    await fleet.call('claude', created('lead', '1'), undefined, shared);
    await fleet.call('claude', created('other', '1'));
    await fleet.call('claude', created('mate', '2'), undefined, shared);
    await fleet.call('claude', done('mate', '1'), undefined, shared);
    expect([open(fleet, 'lead'), open(fleet, 'other'), open(fleet, 'mate')]).toEqual([0, 1, 1]);
  });

  test('a session and its sub-agents share a list, and so does a team', async () => {
    const fleet = createAgentFleet({ checks: [{ plan: {} }] });
    await fleet.call('claude', { ...created('lead', '1'), agent_id: 'a1', team_name: 't' });
    await fleet.call('claude', done('lead', '1'));
    expect(open(fleet, 'lead-a1')).toBe(0);
    await fleet.call('claude', { ...created('lead', '2'), team_name: 't' });
    await fleet.call('claude', done('mate', '2', { team_name: 't' }));
    expect(open(fleet, 'lead')).toBe(0);
  });

  test('a caller without the right to write to other workers does not change their plans', async () => {
    const fleet = createAgentFleet({ checks: [{ plan: {} }] });
    await fleet.call('claude', created('lead', '1'), undefined, { taskList: 'l' });
    await fleet.call('claude', done('mate', '1'), undefined, {
      taskList: 'l',
      mayWrite: (worker) => worker === 'mate',
    });
    expect(open(fleet, 'lead')).toBe(1);
  });
});

describe('commands that a person types as a prompt', () => {
  const blocks = ['claude', 'codex', 'qwen', 'gemini', 'droid', 'shell'];

  test.each(withPromptText)('$form: off, on and status', async ({ form, agent, script }) => {
    const fleet = createAgentFleet(never);
    const say = async (words: string) => {
      const answer = (await fleet.call(agent, ...script.prompt(session, words))) as Record<string, unknown> | null;
      const output = answer?.hookSpecificOutput as { permissionDecisionReason?: string } | undefined;
      return String(answer?.reason ?? answer?.user_message ?? answer?.note ?? output?.permissionDecisionReason);
    };
    await fleet.call(agent, ...script.stop(session));
    expect(await say('/stopgate off 30m')).toMatch(/^stopgate: this session's stops are not judged for 30m\./);
    expect(fleet.view(session).paused).toMatchObject({ by: 'the person at the session', until: expect.any(String) });
    expect(await say(' /stopgate off\n')).toMatch(/until it ends/);
    expect(fleet.view(session).paused?.until).toBeNull();
    expect(await fleet.call(agent, ...script.stop(session))).toBeNull();
    expect(await say('/stopgate')).toMatch(/paused by the person at the session/);
    expect(await say('/stopgate on')).toMatch(/judged again/);
    expect(fleet.view(session).paused).toBeNull();
    await fleet.call(agent, ...script.stop(session));
    expect(causes(fleet)).toEqual(['incomplete', 'bypassed', 'incomplete']);
    // If the prompt reaches the model, it counts as a person's.
    const kept = blocks.includes(agent) || agent === 'cursor' || agent === 'kimi';
    expect(
      fleet.entries.some(({ type }) => type === 'prompt.submitted'),
      form,
    ).toBe(!kept);
  });

  test.each(blocks)('%s: the answer keeps the prompt from the model', async (agent) => {
    const { script } = scripts.find((it) => it.form === agent) as (typeof scripts)[number];
    const fleet = createAgentFleet(never);
    const answer = await fleet.call(agent, ...script.prompt(session, '/stopgate status'));
    expect(answer).toEqual({
      decision: agent === 'gemini' ? 'deny' : 'block',
      reason: expect.stringMatching(/^stopgate: this session is idle, under the policy default \(1 check\)\./),
    });
  });

  test.each([
    '/stopgate off please',
    '/stopgate off 30x',
    '/stopgate off 8d',
    '/stopgate off 0s',
    '/stopgate on 5m',
    '/stopgate offx',
    'run /stopgate off',
    '/stopgate\noff and more',
  ])('%j is a prompt for the agent', async (prompt) => {
    const fleet = createAgentFleet(never);
    expect(await fleet.call('claude', claude('UserPromptSubmit', { prompt }))).toBeNull();
    expect(fleet.view(session).paused).toBeNull();
    expect(fleet.entries.at(-1)?.type).toBe('prompt.submitted');
  });

  test('only a person can give them: not an agent, its program or its output', async () => {
    const fleet = createAgentFleet(never);
    const prompt = '/stopgate off';
    await fleet.call('claude', claude('UserPromptSubmit', { prompt, source: 'system' }));
    await fleet.call('claude', claude('UserPromptSubmit', { prompt, source: 'schedule_wakeup' }));
    await fleet.call('claude', claude('UserPromptSubmit', { prompt, agent_id: 'a1' }));
    await fleet.call('claude', claude('Stop', { last_assistant_message: prompt }));
    await fleet.call('shell', { worker: session, event: 'prompt', text: prompt, by: 'agent' });
    expect(fleet.view(session).paused).toBeNull();
  });

  test('a policy may forbid pauses, and the person is told', async () => {
    const fleet = createAgentFleet({ ...never, pause: 'deny' });
    const answer = await fleet.call('claude', claude('UserPromptSubmit', { prompt: '/stopgate off' }));
    expect(answer).toMatchObject({ decision: 'block', reason: expect.stringMatching(/lets nobody pause its workers/) });
    expect(fleet.view(session).paused).toBeNull();
  });
});
