/**
 * What real agents send where a list of ours ends. Each case is a short session, made of calls that were recorded or
 * reported, through its adapter and the fold.
 */
import { describe, expect, test } from 'vitest';
import { type AgentFleet, createAgentFleet } from './agent-fleet.ts';
import { scripts, withPlan } from './scripts.ts';

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

describe('a prompt that no person made leaves the count of retries as it is', () => {
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
    ['a channel', '<channel source="ci">build failed</channel>'],
    ['a task', '<task-notification>\n<task-id>b1</task-id>\n<status>completed</status>\n</task-notification>'],
    ['its own program', '<system_notification>agent done</system_notification>'],
    ['an element that no list has', '<new-kind-of-notice level="1">something</new-kind-of-notice>\n<other_notice/>'],
    ['a loop', '<<autonomous-loop-dynamic>>'],
    ['a compaction', 'This session is being continued from a previous conversation that ran out of context.'],
  ] as const;

  test.each(scripts.flatMap((it) => machine.map(([what, prompt]) => ({ ...it, what, prompt }))))(
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
  test.each(scripts.flatMap((it) => persons.map((prompt) => ({ ...it, prompt }))))(
    '$form: but a person’s is one: $prompt',
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
    ['a word that no list has', 'go', 1],
  ])('Claude Code says who it was: %s', async (source, prompt, count) => {
    const fleet = createAgentFleet(never);
    await claudeStop(fleet);
    await fleet.call('claude', claude('UserPromptSubmit', { prompt, source }));
    expect(fleet.view(session).retry.count).toBe(count);
  });

  test('a scheduled prompt is told by the list of the last stop', async () => {
    const fleet = createAgentFleet(never);
    const crons = [{ id: 'c1', schedule: '*/5 * * * *', recurring: true, prompt: 'Look at the build.' }];
    await claudeStop(fleet, { session_crons: crons, background_tasks: [] });
    await fleet.call('claude', claude('UserPromptSubmit', { prompt: 'Look at the build.' }));
    expect(fleet.view(session).retry.count).toBe(1);
    await fleet.call('claude', claude('UserPromptSubmit', { prompt: 'Look at the tests.' }));
    expect(fleet.view(session).retry.count).toBe(0);
  });

  test('a sub-agent’s prompt is an agent’s, and escalations stay', async () => {
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
  test('a call from another one moves the worker before anything else', async () => {
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

  test.each(scripts.filter(({ agent }) => agent !== 'cursor'))('$form: each agent’s', async ({ agent, script }) => {
    const fleet = createAgentFleet(never);
    await fleet.call(agent, ...script.prompt(session, 'go'));
    const [body, event] = script.tool(session);
    const key = agent === 'opencode' ? 'directory' : 'cwd';
    await fleet.call(agent, { ...body, [key]: '/elsewhere' }, event);
    expect(fleet.view(session).cwd).toBe('/elsewhere');
  });

  test('Cursor’s second folder is no move', async () => {
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

describe('what a tool may have changed', () => {
  const patch = '*** Begin Patch\n*** Update File: src/a.ts\n@@\n-a\n+b\n*** End Patch\n';
  type Used = readonly [agent: string, body: object, event?: string];
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
    ['shell', { worker: session, event: 'tool', command }],
  ];
  const changed = async ([agent, body, event]: Used) => {
    const fleet = createAgentFleet(whenSrc);
    await fleet.call(agent, body, event);
    const { filesModified } = fleet.view(session);
    return filesModified.unknown ? 'unknown' : filesModified.count > 0 ? 'files' : 'none';
  };

  test.each(shellIn('sed -i s/a/b/ src/a.ts'))('%s: a shell that writes', async (...used) => {
    expect(await changed(used)).toBe('unknown');
  });
  test.each(shellIn('git status'))('%s: a shell that reads', async (...used) => {
    expect(await changed(used)).toBe('none');
  });

  test.each<Used>([
    ['copilot', { sessionId: session, cwd: '/w', toolName: 'apply_patch', toolArgs: patch }, 'postToolUse'],
    ['copilot', { sessionId: session, cwd: '/w', toolName: 'apply_patch', toolArgs: { input: patch } }, 'postToolUse'],
    ['codex', claude('PostToolUse', { tool_name: 'apply_patch', tool_input: { command: patch } })],
    [
      'opencode',
      { input: { sessionID: session, tool: 'apply_patch', args: { patchText: patch } }, output: {}, directory: '/w' },
      'tool.execute.after',
    ],
    ['claude', claude('PostToolUse', { tool_name: 'Write', tool_input: { file_path: 'src/a.ts' } })],
  ])('%s: the files of a patch or a write are known', async (...used) => {
    expect(await changed(used)).toBe('files');
    const fleet = createAgentFleet(whenSrc);
    await fleet.call(...used);
    expect(fleet.entries.at(-1)?.data).toMatchObject({ files: ['src/a.ts'] });
  });

  test('a patch by a shell names its files, and may have changed others', async () => {
    const fleet = createAgentFleet(whenSrc);
    const command = `apply_patch <<'EOF'\n${patch}EOF`;
    await fleet.call(
      'codex',
      claude('PostToolUse', { tool_name: 'Bash', tool_input: { command: ['bash', '-lc', command] } }),
    );
    expect(fleet.entries.at(-1)?.data).toMatchObject({ files: ['src/a.ts'], changes: 'unknown' });
  });

  test.each<Used>([
    ['claude', claude('PostToolUse', { tool_name: 'mcp__files__write_file', tool_input: { path: 'src/a.ts' } })],
    ['claude', claude('PostToolUse', { tool_name: 'mcp__db__query', tool_input: {} })],
    ['claude', claude('PostToolUse', { tool_name: 'Task', tool_input: { prompt: 'x' } })],
    ['claude', claude('PostToolUse', { tool_name: 'ToolOfTomorrow', tool_input: {} })],
    ['claude', claude('PostToolUse', { tool_name: 'constructor', tool_input: {} })],
    ['claude', claude('PostToolUse', { tool_name: 'Write', tool_input: { path_of_tomorrow: 'src/a.ts' } })],
    ['claude', claude('PostToolUse', { tool_name: 'Write', tool_input: { file_path: '/etc/hosts' } })],
    ['claude', claude('PostToolUse', { tool_name: 'Write', tool_input: { file_path: '../project-two/a.ts' } })],
    ['claude', claude('PostToolUseFailure', { tool_name: 'Bash', tool_input: { command: 'make' } })],
    ['gemini', claude('AfterTool', { tool_name: 'save_memory', tool_input: {} })],
    ['qwen', claude('PostToolUse', { tool_name: 'agent', tool_input: {} })],
    ['copilot', { sessionId: session, toolName: 'task', toolArgs: {} }, 'postToolUse'],
    ['cursor', { hook_event_name: 'postToolUse', conversation_id: session, tool_name: 'MCP:query' }],
    ['opencode', { input: { sessionID: session, tool: 'batch' }, output: {} }, 'tool.execute.after'],
    ['shell', { worker: session, event: 'tool', tool: 'make' }],
  ])('%s: any file, where nobody knows: %j', async (...used) => {
    expect(await changed(used)).toBe('unknown');
  });

  test.each<Used>([
    ['claude', claude('PostToolUse', { tool_name: 'Read', tool_input: { file_path: 'src/a.ts' } })],
    [
      'claude',
      claude('PostToolUse', { tool_name: 'mcp__filesystem__read_text_file', tool_input: { path: 'src/a.ts' } }),
    ],
    ['gemini', claude('AfterTool', { tool_name: 'glob', tool_input: {} })],
    ['qwen', claude('PostToolUse', { tool_name: 'read_file', tool_input: {} })],
    ['copilot', { sessionId: session, toolName: 'view', toolArgs: { path: 'a' } }, 'postToolUse'],
    ['opencode', { input: { sessionID: session, tool: 'read' }, output: {} }, 'tool.execute.after'],
  ])('%s: none, where it is known: %j', async (...used) => {
    expect(await changed(used)).toBe('none');
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
    ['a kind that no list has', work({ type: 'quantum', command: undefined }), ['b1', 'quantum', null]],
    ['a state that no list has', work({ status: 'suspended' }), ['b1', 'shell', 'npm run build']],
    ['no state', work({ status: undefined }), ['b1', 'shell', 'npm run build']],
    ['an id that is a number', work({ id: 7 }), ['7', 'shell', 'npm run build']],
    ['no id', work({ id: undefined }), ['shell 2', 'shell', 'npm run build']],
  ])('%s is waited for, beside what is no item', async (_what, item, shown) => {
    expect(await stopWith(null, item)).toEqual(['waiting', [shown]]);
  });

  test.each([
    ['a teammate, which stays listed while it is idle', work({ type: 'in_process_teammate', command: undefined })],
    ['work that is over', work({ status: 'completed' })],
    ['work that was killed', work({ status: 'killed' })],
  ])('%s is not', async (_what, item) => {
    expect(await stopWith(item)).toEqual(['incomplete', []]);
  });

  test('a single wake-up is waited for until it is due; one that comes again and again is not', async () => {
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
    expect(await stopped([7, {}])).toBe('incomplete');
  });

  test('a run without a person says so with its prompt, and its work is not waited for', async () => {
    const fleet = createAgentFleet(never);
    await fleet.call('claude', claude('SessionStart', { source: 'startup' }));
    expect(fleet.view(session).interactive).toBeNull();
    await fleet.call('claude', claude('UserPromptSubmit', { prompt: 'go', source: 'sdk' }));
    expect(fleet.view(session)).toMatchObject({ interactive: false, state: 'working' });
    expect(await claudeStop(fleet, { background_tasks: [work({})] })).toMatchObject({ decision: 'block' });
    expect(causes(fleet)).toEqual(['waiting']);
  });
});

describe('a plan item that is odd loses only itself', () => {
  test('without a status, without a title, and no item at all', async () => {
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

  test.each(withPlan.filter(({ agent }) => ['claude', 'qwen', 'gemini', 'opencode', 'shell'].includes(agent)))(
    '$form: a title of another type does not cost the plan',
    async ({ agent, script }) => {
      const fleet = createAgentFleet({ checks: [{ plan: {} }] });
      const [body, event] = script.plan(session, 'odd');
      const damaged = JSON.parse(JSON.stringify(body).replaceAll(/"(title|content|description)":"odd"/g, '"$1":null'));
      await fleet.call(agent, damaged, event);
      expect(fleet.view(session).plan).toHaveLength(1);
    },
  );
});

describe('the mode', () => {
  test('is a label that follows the session, and decides which policy holds', async () => {
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
