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

  test('a patch by a shell names its files, and may have changed others', async () => {
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
    ]),
  )('$agent: any file, where nobody knows: $body', async ({ used }) => {
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
  )('$agent: none, where it is known: $body', async ({ used }) => {
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

  test.each([
    ['a text of JSON', '[{"content":"a"}]'],
    ['an object by ids', { x: { content: 'a' } }],
  ])('a list that is %s is a plan', async (_what, todos) => {
    const fleet = createAgentFleet({ checks: [{ plan: {} }] });
    await fleet.call('claude', claude('PostToolUse', { tool_name: 'TodoWrite', tool_input: { todos } }));
    expect(fleet.view(session).plan).toEqual([{ title: 'a', status: 'pending' }]);
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

describe('a list of steps that several share', () => {
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

  test('a step that another session of the list completes is completed for all', async () => {
    const fleet = createAgentFleet({ checks: [{ plan: {} }] });
    const shared = { taskList: 'release' };
    await fleet.call('claude', created('lead', '1'), undefined, shared);
    await fleet.call('claude', created('other', '1'));
    await fleet.call('claude', created('mate', '2'), undefined, shared);
    await fleet.call('claude', done('mate', '1'), undefined, shared);
    expect([open(fleet, 'lead'), open(fleet, 'other'), open(fleet, 'mate')]).toEqual([0, 1, 1]);
  });

  test('and so it is within a session, and in a team', async () => {
    const fleet = createAgentFleet({ checks: [{ plan: {} }] });
    await fleet.call('claude', { ...created('lead', '1'), agent_id: 'a1', team_name: 't' });
    await fleet.call('claude', done('lead', '1'));
    expect(open(fleet, 'lead-a1')).toBe(0);
    await fleet.call('claude', { ...created('lead', '2'), team_name: 't' });
    await fleet.call('claude', done('mate', '2', { team_name: 't' }));
    expect(open(fleet, 'lead')).toBe(0);
  });

  test('a caller that may not write to the others changes nothing of theirs', async () => {
    const fleet = createAgentFleet({ checks: [{ plan: {} }] });
    await fleet.call('claude', created('lead', '1'), undefined, { taskList: 'l' });
    await fleet.call('claude', done('mate', '1'), undefined, {
      taskList: 'l',
      mayWrite: (worker) => worker === 'mate',
    });
    expect(open(fleet, 'lead')).toBe(1);
  });
});

describe('what a person tells stopgate by a prompt', () => {
  const blocks = ['claude', 'codex', 'qwen', 'gemini', 'shell'];

  test.each(scripts)('$form: off, on and status', async ({ form, agent, script }) => {
    const fleet = createAgentFleet(never);
    const say = async (words: string) => {
      const answer = (await fleet.call(agent, ...script.prompt(session, words))) as Record<string, unknown> | null;
      return String(answer?.reason ?? answer?.user_message ?? answer?.note);
    };
    await fleet.call(agent, ...script.stop(session));
    expect(await say('/stopgate off 30m')).toMatch(/^stopgate: stops of this session are not judged for 30m\./);
    expect(fleet.view(session).paused).toMatchObject({ by: 'the person at the session', until: expect.any(String) });
    expect(await say(' /stopgate off\n')).toMatch(/until it ends/);
    expect(fleet.view(session).paused?.until).toBeNull();
    expect(await fleet.call(agent, ...script.stop(session))).toBeNull();
    expect(await say('/stopgate')).toMatch(/paused by the person at the session/);
    expect(await say('/stopgate on')).toMatch(/judged again/);
    expect(fleet.view(session).paused).toBeNull();
    await fleet.call(agent, ...script.stop(session));
    expect(causes(fleet)).toEqual(['incomplete', 'bypassed', 'incomplete']);
    // Where the prompt reaches the model, a person has prompted it.
    const kept = blocks.includes(agent) || agent === 'cursor';
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

  test('nobody but a person: not an agent, not its program, and not what it says', async () => {
    const fleet = createAgentFleet(never);
    const prompt = '/stopgate off';
    await fleet.call('claude', claude('UserPromptSubmit', { prompt, source: 'system' }));
    await fleet.call('claude', claude('UserPromptSubmit', { prompt, source: 'schedule_wakeup' }));
    await fleet.call('claude', claude('UserPromptSubmit', { prompt, agent_id: 'a1' }));
    await fleet.call('claude', claude('Stop', { last_assistant_message: prompt }));
    await fleet.call('shell', { worker: session, event: 'prompt', text: prompt, by: 'agent' });
    expect(fleet.view(session).paused).toBeNull();
  });

  test('a policy may deny it, and the person is told', async () => {
    const fleet = createAgentFleet({ ...never, pause: 'deny' });
    const answer = await fleet.call('claude', claude('UserPromptSubmit', { prompt: '/stopgate off' }));
    expect(answer).toMatchObject({ decision: 'block', reason: expect.stringMatching(/lets nobody pause its workers/) });
    expect(fleet.view(session).paused).toBeNull();
  });
});
