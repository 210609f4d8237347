/** Claude Code's adapter, by what it really sent: every recording, then what recordings cannot show. */
import { describe, expect, test } from 'vitest';
import { readFields } from '../../../machines/index.ts';
import { agents, type PriorWorker, type Translation, toPriorWorker, unknownWorker } from '../../../src/agents/index.ts';
import type { AppError } from '../../../src/errors.ts';
import { type Recording, recorded, recordingNames } from './recordings/claude.ts';
import { recordingsOf } from './recordings/recordings.ts';
import { claudeSession, claudeSessionId } from './session.ts';

const registered: PriorWorker = { ...unknownWorker, registered: true, cwd: '/workspace/project' };

function translate(body: object, prior: Partial<PriorWorker> = {}): Translation {
  const translation = read(body).translate({ ...registered, ...prior });
  for (const { entity, id, type, data } of translation.entries) {
    const entry = readFields({ area: entity, fleet: 'main', id, type }, data);
    expect(entry, `${type} is an entry that the machines take`).not.toHaveProperty('code');
    expect(Buffer.byteLength(JSON.stringify(data))).toBeLessThan(65_536);
  }
  return translation;
}
const read = (body: object) => {
  const reader = agents.get('claude')?.readHook;
  if (reader === undefined) throw new Error('no adapter');
  return reader(body);
};
const drafts = (body: object, prior: Partial<PriorWorker> = {}) =>
  translate(body, prior).entries.map(({ type, data }) => [type, data]);
const heartbeat = ['heartbeat.sent', {}];
const bash = ['tool.used', { tool: 'Bash', ok: true, call: 'toolu_fake_1_0' }];

const session = 'b196feb6-47b9-4de4-b065-6c0a87fc41c0';
const child = '5e29e641-46ab-471e-ac1c-2c2c7e38f1ee-a8e954343990513d2';

/** What each recording says of a worker that is known; `stop`: it asks, with this output. */
const expectations: Record<string, { says: unknown[]; worker?: string; stop?: string; stopReason?: string }> = {
  MessageDisplay: { says: [heartbeat], worker: session },
  PermissionRequest: { says: [['input.requested', { kind: 'permission', message: 'Bash' }]] },
  PostCompact: { says: [heartbeat] },
  PostToolBatch: { says: [heartbeat] },
  'PostToolUse.TaskCreate': {
    says: [
      ['tool.used', { tool: 'TaskCreate', ok: true, call: 'toolu_fake_1_0' }],
      ['step.updated', { step: '1', title: 'Write the tests', status: 'pending' }],
    ],
  },
  'PostToolUse.TaskList': {
    says: [
      ['tool.used', { tool: 'TaskList', ok: true, call: 'toolu_fake_7_0' }],
      ['plan.updated', { steps: [{ title: 'Write the tests', status: 'completed', step: '1' }] }],
    ],
  },
  'PostToolUse.TaskUpdate.completed': {
    says: [
      ['tool.used', { tool: 'TaskUpdate', ok: true, call: 'toolu_fake_5_0' }],
      ['step.updated', { step: '1', status: 'completed' }],
    ],
  },
  'PostToolUse.TaskUpdate.deleted': {
    says: [
      ['tool.used', { tool: 'TaskUpdate', ok: true, call: 'toolu_fake_6_0' }],
      ['step.updated', { step: '2', status: 'deleted' }],
    ],
  },
  'PostToolUse.TaskUpdate.in_progress': {
    says: [
      ['tool.used', { tool: 'TaskUpdate', ok: true, call: 'toolu_fake_3_0' }],
      ['step.updated', { step: '1', status: 'in_progress' }],
    ],
  },
  'PostToolUse.TaskUpdate.refused': { says: [['tool.used', { tool: 'TaskUpdate', ok: true, call: 'toolu_2_0' }]] },
  PostToolUse: { says: [bash], worker: session },
  PostToolUseFailure: { says: [['tool.used', { tool: 'Bash', ok: false, call: 'toolu_fake_2_0' }]] },
  PreCompact: { says: [heartbeat] },
  PreToolUse: { says: [heartbeat] },
  'PreToolUse.StructuredOutput': { says: [], stop: '{"answer":"x"}', stopReason: 'structured_output' },
  SessionEnd: { says: [['session.ended', { reason: 'other' }]] },
  'SessionStart.compact': { says: [] },
  SessionStart: { says: [['worker.registered', { agent: 'claude', cwd: '/workspace/project' }]] },
  'SessionStart.resume': { says: [['worker.registered', { agent: 'claude', cwd: '/workspace/project' }]] },
  'Stop.background-running': {
    says: [['background.started', { id: 'ae60021059d27341b', kind: 'subagent' }]],
    stop: 'main done',
  },
  'Stop.background-shell': { says: [['background.started', { id: 'beclel8w8', kind: 'shell' }]], stop: 'main done' },
  'Stop.http': { says: [], worker: 'eed8b5bc-2608-4076-8fde-2b4dc8a61b67', stop: 'one' },
  Stop: { says: [], worker: session, stop: 'First attempt to stop.' },
  'Stop.second': { says: [], worker: session, stop: 'Second attempt to stop.' },
  SubagentStart: {
    says: [
      [
        'worker.registered',
        {
          agent: 'claude',
          cwd: '/workspace/project',
          parent: '5e29e641-46ab-471e-ac1c-2c2c7e38f1ee',
          labels: { subagent: 'general-purpose' },
        },
      ],
    ],
    worker: child,
  },
  StopFailure: { says: [['limit.reached', {}]] },
  'SubagentStop.compact': { says: [] },
  SubagentStop: { says: [], worker: child, stop: 'child stop 1' },
  'SubagentStop.second': { says: [], worker: child, stop: 'child stop 2' },
  TaskCompleted: { says: [heartbeat] },
  TaskCreated: { says: [heartbeat] },
  UserPromptSubmit: { says: [['prompt.submitted', { text: 'say hello' }]], worker: session },
  'UserPromptSubmit.task-notification': { says: [['background.finished', { id: 'ae60021059d27341b' }]] },
};

describe('each recorded call', () => {
  test.each(Object.entries(expectations))('%s', (name, { says, worker, stop, stopReason = 'end_turn' }) => {
    const translation = translate(recorded(name));
    expect(translation.entries.map(({ type, data }) => [type, data])).toEqual(says);
    expect(translation.stop).toEqual(stop === undefined ? null : { stopReason, output: stop });
    if (worker !== undefined) expect(translation.worker).toBe(worker);
    for (const entry of translation.entries) expect(entry).toMatchObject({ entity: 'worker', id: translation.worker });
  });

  test('none is left out', () => {
    const calls = recordingNames.filter((name) => !name.startsWith('stop-'));
    expect(Object.keys(expectations).sort()).toEqual([...calls].sort());
  });
});

describe('the first call of a session', () => {
  test('registers it, and is no heartbeat beside', () => {
    expect(translate(recorded('PreToolUse'), unknownWorker).entries).toEqual([
      {
        entity: 'worker',
        id: session,
        type: 'worker.registered',
        data: { agent: 'claude', cwd: '/workspace/project' },
        messageId: `${session}:registered`,
      },
    ]);
  });

  test.each(['UserPromptSubmit', 'PostToolUse', 'Stop.background-shell', 'StopFailure'])('%s', (name) => {
    const body = recorded(name);
    expect(drafts(body, unknownWorker)[0]?.[0]).toBe('worker.registered');
  });

  test('a compaction of a session that nobody knew registers it', () => {
    expect(drafts(recorded('SessionStart.compact'), unknownWorker).map(([type]) => type)).toEqual([
      'worker.registered',
    ]);
  });

  test('is not its end', () => {
    expect(drafts(recorded('SessionEnd'), unknownWorker)).toEqual([]);
  });

  test('a stop of an unknown child registers the child with its parent', () => {
    const { entries, worker, stop } = translate(recorded('SubagentStop'), unknownWorker);
    expect(entries.map(({ type, id }) => [type, id])).toEqual([['worker.registered', child]]);
    expect(entries[0]?.data).toMatchObject({ parent: recorded('SubagentStop').session_id, agent: 'claude' });
    expect([worker, stop?.output]).toEqual([child, 'child stop 1']);
  });

  test('a worker that somebody else made is registered by us; one of an agent is not', () => {
    const view = { cwd: null, lastDecision: null, background: [], awaitsInput: false, presence: 'limited' } as const;
    expect(toPriorWorker({ ...view, agent: null } as never)).toMatchObject({ registered: false, limited: true });
    expect(toPriorWorker({ ...view, agent: 'claude' } as never)).toMatchObject({ registered: true });
  });
});

describe('a prompt that nobody typed', () => {
  const reason = '1 of 2 plan steps remain: Fix the lint';
  const nextPrompt = 'Go on with the plan: Fix the lint. Then stop again.';
  const blocked = { lastDecision: { decision: 'block', reason, nextPrompt } } as const;
  const prompted = (prompt: string, prior: Partial<PriorWorker>) =>
    drafts({ ...recorded('UserPromptSubmit'), prompt }, prior);

  test.each([
    ['the reason', reason],
    ['the next prompt', nextPrompt],
    ['with the prefix', `Stop hook feedback:\n${nextPrompt}`],
    ['with the prefix and the command line', `Stop hook feedback:\n- [node /opt/hooks/some-long-name.mjs]: ${reason}`],
    ['with other line ends and space', `  ${nextPrompt}\r\n`],
    ['with a word around it', `[hook] ${reason}`],
  ])('our own block: %s', (_name, prompt) => {
    expect(prompted(prompt, blocked)).toEqual([heartbeat]);
  });

  test('our own block, cut and without its colours', () => {
    const long = `\u001b[31mFailed\u001b[0m ${'tests '.repeat(1_000)}`;
    const known = { lastDecision: { decision: 'block', action: 'continue', reason, nextPrompt: long } } as const;
    const sent = read(recorded('Stop')).answer(known.lastDecision) as { reason: string };
    expect(prompted(`Stop hook feedback:\n${sent.reason}`, known)).toEqual([heartbeat]);
  });

  test.each([
    ['nothing was decided', reason, { lastDecision: null }],
    ['it was allowed', reason, { lastDecision: { decision: 'allow', reason, nextPrompt: null } as const }],
    ['other words', 'please go on', blocked],
    [
      'a quotation in a person’s own words',
      `It keeps saying "${reason}". ${'Please leave the lint alone. '.repeat(3)}`,
      blocked,
    ],
  ])('but a person: %s', (_name, prompt, known) => {
    expect(prompted(prompt, known)).toEqual([['prompt.submitted', { text: prompt }]]);
  });

  test('a block without words matches no prompt', () => {
    const known = { lastDecision: { decision: 'block', reason: '', nextPrompt: null } } as const;
    expect(prompted('hello', known)).toEqual([['prompt.submitted', { text: 'hello' }]]);
  });

  test('several ends of background work, each once; no tag within a result counts', () => {
    const end = (id: string) =>
      `<task-notification>\n<task-id>${id}</task-id>\n<result><task-id>no</task-id></result>\n</task-notification>`;
    expect(prompted(`\n${end('a')}\n${end('b')}\n${end('a')}`, {})).toEqual([
      ['background.finished', { id: 'a' }],
      ['background.finished', { id: 'b' }],
    ]);
    expect(prompted('<task-notification>who knows', {})).toEqual([heartbeat]);
  });

  test('a long prompt is cut at a whole character', () => {
    const [, data] = prompted(`${'x'.repeat(1_999)}😀 and more`, {})[0] as [string, { text: string }];
    expect(data.text).toBe('x'.repeat(1_999));
  });
});

describe('a person’s answer to an escalation', () => {
  const told = (name: string, resolution: string | null) => translate(recorded(name), { resolution }).immediateAnswer;

  test('goes along with the next prompt, or start, and with nothing else', () => {
    for (const [name, hookEventName] of [
      ['UserPromptSubmit', 'UserPromptSubmit'],
      ['SessionStart.resume', 'SessionStart'],
    ] as const)
      expect(told(name, 'Use the \u001b[1mother\u001b[0m key')).toEqual({
        hookSpecificOutput: { hookEventName, additionalContext: expect.stringMatching(/says: Use the other key$/) },
      });
    expect(told('PostToolUse', 'x')).toBeNull();
    expect(told('UserPromptSubmit', null)).toBeNull();
  });

  test('is never longer than what an agent reads', () => {
    expect(JSON.stringify(told('UserPromptSubmit', 'x'.repeat(10_000))).length).toBeLessThan(2_100);
  });
});

describe('tools', () => {
  const used = (tool_name: string, tool_input: object, more: object = {}) => ({
    ...recorded('PostToolUse'),
    ...{ tool_name, tool_input, ...more },
  });
  const filesOf = (body: object, prior: Partial<PriorWorker> = {}) =>
    drafts(body, prior)
      .filter(([type]) => type === 'tool.used')
      .map(([, data]) => (data as { files?: string[] }).files)[0];

  test.each([
    ['Write', { file_path: '/workspace/project/src/a.ts' }, ['src/a.ts']],
    ['Edit', { file_path: '/workspace/project/a.ts' }, ['a.ts']],
    ['MultiEdit', { file_path: '/workspace/project/..a/b.ts' }, ['..a/b.ts']],
    ['NotebookEdit', { notebook_path: '/workspace/project/n.ipynb' }, ['n.ipynb']],
    ['Write', { file_path: '/etc/hosts' }, ['/etc/hosts']],
    ['Write', { file_path: '/workspace/project-two/a.ts' }, ['/workspace/project-two/a.ts']],
    ['Write', { file_path: 'src/a.ts' }, ['src/a.ts']],
    ['Read', { file_path: '/workspace/project/src/a.ts' }, undefined],
    ['Write', { file_path: '' }, undefined],
    ['Write', {}, undefined],
  ])('%s of %j changes %j', (tool, input, files) => {
    expect(filesOf(used(tool, input))).toEqual(files);
  });

  test('a file counts from where the worker was registered, not from where the agent has gone', () => {
    const body = used('Write', { file_path: '/workspace/project/src/a.ts' }, { cwd: '/workspace/project/src' });
    expect(filesOf(body)).toEqual(['src/a.ts']);
    expect(filesOf(body, { cwd: null })).toEqual(['a.ts']);
  });

  test('a path of Windows', () => {
    const known = { cwd: 'C:\\work' };
    expect(filesOf(used('Write', { file_path: 'C:\\work\\src\\a.ts' }), known)).toEqual(['src/a.ts']);
    expect(filesOf(used('Write', { file_path: 'D:\\a.ts' }), known)).toEqual(['D:\\a.ts']);
  });

  test('a failed write has changed nothing that we know of', () => {
    const body = { ...used('Write', { file_path: '/workspace/project/a.ts' }), hook_event_name: 'PostToolUseFailure' };
    expect(filesOf(body)).toBeUndefined();
  });

  test('a result shows that the person has answered and that the limit is over', () => {
    const known = { awaitsInput: true, limited: true };
    const first = [
      ['input.received', {}],
      ['limit.cleared', {}],
    ];
    expect(drafts(recorded('PostToolUse'), known)).toEqual([...first, bash]);
    expect(drafts(recorded('PostToolUseFailure'), known).slice(0, 2)).toEqual(first);
    // A permission that was refused leaves no result: only the stop shows that nobody is waited for.
    expect(drafts(recorded('Stop'), known)).toEqual(first);
    expect(drafts(recorded('PreToolUse'), known)).toEqual([heartbeat]);
  });

  test('a question waits for a person', () => {
    const body = { ...recorded('PreToolUse'), tool_name: 'AskUserQuestion' };
    expect(drafts(body)).toEqual([['input.requested', { kind: 'question', message: 'AskUserQuestion' }]]);
  });

  test('those of a sub-agent are the child’s', () => {
    const body = { ...recorded('PostToolUse'), agent_id: 'a1', agent_type: 'Explore' };
    const { worker, entries } = translate(body);
    expect([worker, entries.map(({ id }) => id)]).toEqual([`${session}-a1`, [`${session}-a1`]]);
  });
});

describe('the plan', () => {
  const planOf = (body: object) => drafts(body)[1];
  const dataOf = <Data>(body: object) => (planOf(body) ?? [])[1] as Data;
  const todo = (todos: unknown) => ({ ...recorded('PostToolUse'), tool_name: 'TodoWrite', tool_input: { todos } });
  const listed = (tasks: unknown) => ({ ...recorded('PostToolUse.TaskList'), tool_response: { tasks } });

  test('TodoWrite gives the whole list', () => {
    const todos = [
      { content: 'a', status: 'completed', activeForm: 'doing a' },
      { content: 'b', status: 'pending', activeForm: 'doing b' },
    ];
    const steps = [
      { title: 'a', status: 'completed' },
      { title: 'b', status: 'pending' },
    ];
    expect(planOf(todo(todos))).toEqual(['plan.updated', { steps }]);
    expect(planOf(todo('none'))).toBeUndefined();
  });

  test('TaskUpdate: a new title; a refused one; one that changes no step', () => {
    const body = recorded('PostToolUse.TaskUpdate.completed');
    expect(planOf({ ...body, tool_input: { taskId: 7, subject: 'New' } })).toEqual([
      'step.updated',
      { step: '7', title: 'New' },
    ]);
    expect(planOf({ ...body, tool_response: { success: false, error: 'Task not found' } })).toBeUndefined();
    expect(planOf({ ...body, tool_response: { success: true, updatedFields: [] } })).toBeUndefined();
    expect(planOf({ ...body, tool_input: { taskId: '1', owner: 'me' } })).toBeUndefined();
  });

  test('an id that is none gets a safe one, always the same', () => {
    const body = (id: string) => ({
      ...recorded('PostToolUse.TaskCreate'),
      tool_response: { task: { id, subject: 's' } },
    });
    const step = (id: string) => dataOf<{ step: string }>(body(id)).step;
    expect(step('a.b')).toMatch(/^a-b-[0-9a-f]{16}$/);
    expect(step('a.b')).toBe(step('a.b'));
    expect(step('a.b')).not.toBe(step('a b'));
    expect(step('…')).toMatch(/^id-[0-9a-f]{16}$/);
  });

  test('TaskList without its deleted tasks; an empty list is a plan too; other words change nothing', () => {
    const task = (id: string, status: string) => ({ id, subject: `s${id}`, status });
    expect(planOf(listed([task('1', 'deleted'), task('2', 'pending')]))).toEqual([
      'plan.updated',
      { steps: [{ title: 's2', status: 'pending', step: '2' }] },
    ]);
    expect(planOf(listed([]))).toEqual(['plan.updated', { steps: [] }]);
    expect(planOf({ ...recorded('PostToolUse.TaskList'), tool_response: 'No tasks found' })).toBeUndefined();
  });

  test('of a sub-agent: a step that it has not made is its session’s, and the session’s list is not its own', () => {
    const asChild = { agent_id: 'a1', agent_type: 'general-purpose' };
    const updated = { ...recorded('PostToolUse.TaskUpdate.completed'), ...asChild };
    const { worker, entries } = translate(updated);
    const ofStep = (made: typeof entries) => made.find(({ type }) => type === 'step.updated')?.id;
    expect(ofStep(entries)).toBe(recorded('PostToolUse.TaskUpdate.completed').session_id);
    const plan = [{ step: '1', title: 'its own', status: 'pending' }];
    expect(ofStep(translate(updated, { plan }).entries)).toBe(worker);
    expect(ofStep(translate({ ...recorded('PostToolUse.TaskCreate'), ...asChild }).entries)).toMatch(/-a1$/);
    expect(drafts({ ...recorded('PostToolUse.TaskList'), ...asChild }).map(([type]) => type)).toEqual(['tool.used']);
  });

  test('of too many steps the done ones are left out, and long titles are cut until they fit', () => {
    const tasks = Array.from({ length: 600 }, (_, index) => ({
      id: String(index),
      subject: `${index} ${'長い題名'.repeat(100)}`,
      status: index < 200 ? 'completed' : 'pending',
    }));
    const { steps } = dataOf<{ steps: { status: string; title: string }[] }>(listed(tasks));
    expect(steps).toHaveLength(500);
    expect(steps.filter(({ status }) => status === 'pending')).toHaveLength(400);
    expect(steps[0]?.title).toMatch(/^0 長い/);
  });
});

describe('stops', () => {
  test('background work: what is new, what has ended, what goes on', () => {
    const tasks = [
      { id: 'new', type: 'shell', status: 'running' },
      { id: 'old', type: 'shell', status: 'running' },
      { id: 'over', type: 'shell', status: 'completed' },
    ];
    expect(drafts({ ...recorded('Stop'), background_tasks: tasks }, { background: ['old', 'over', 'gone'] })).toEqual([
      ['background.started', { id: 'new', kind: 'shell' }],
      ['background.finished', { id: 'over' }],
      ['background.finished', { id: 'gone' }],
    ]);
  });

  test('a call without the list says nothing of background work', () => {
    const { background_tasks: _, ...body } = recorded('Stop');
    expect(drafts(body, { background: ['a'] })).toEqual([]);
  });

  test('a child is not its own background work, and is nobody else’s attempt', () => {
    const { worker, entries } = translate(recorded('SubagentStop'), { background: [] });
    expect([worker, entries]).toEqual([child, []]);
  });

  test('a child’s id stays one of its own, however long its session’s', () => {
    const long = 's'.repeat(128);
    const { worker, entries } = translate({ ...recorded('SubagentStop'), session_id: long }, unknownWorker);
    expect(worker).toMatch(/^s{100}-[0-9a-f]{16}$/);
    expect(entries[0]?.data).toMatchObject({ parent: long });
  });

  const outputOf = (text: string) =>
    translate({ ...recorded('Stop'), last_assistant_message: text }).stop?.output ?? '';

  test('the output is cut to its last 32 KiB of whole characters, and says so', () => {
    const output = outputOf(`begin ${'€'.repeat(20_000)}<promise>COMPLETE</promise>`);
    expect(Buffer.byteLength(output)).toBeLessThanOrEqual(32_768);
    expect(Buffer.byteLength(output)).toBeGreaterThan(32_760);
    expect(output).toMatch(/^\[stopgate: [^\n]*\n€+<promise>COMPLETE<\/promise>$/);
    expect(outputOf('x'.repeat(32_768))).toBe('x'.repeat(32_768));
    expect(outputOf(`${'😀'.repeat(10_000)}x`)).toMatch(/\n(😀)+x$/u);
  });

  test('an output that grows by its escapes still fits an entry', () => {
    const output = outputOf('\u0001'.repeat(40_000));
    expect(Buffer.byteLength(JSON.stringify(output))).toBeLessThan(57_344);
  });

  test('a failure by a usage limit is one; others say nothing', () => {
    const failed = (more: object) => drafts({ ...recorded('StopFailure'), error: undefined, ...more });
    expect(failed({ error: 'rate_limit' })).toEqual([['limit.reached', {}]]);
    expect(failed({ error: '429', error_type: 'rate_limit' })).toEqual([['limit.reached', {}]]);
    expect(failed({ error: 'server_error' })).toEqual([]);
  });
});

describe('calls of other versions', () => {
  test('an unknown event is a heartbeat', () => {
    for (const event of ['Elicitation', 'constructor', '__proto__']) {
      expect(drafts({ ...recorded('Stop'), hook_event_name: event })).toEqual([heartbeat]);
    }
  });

  test('a field of another shape does not cost the call', () => {
    const body = { ...recorded('Stop'), cwd: 5, background_tasks: {}, last_assistant_message: null, agent_id: null };
    expect(translate(body)).toEqual({
      worker: session,
      entries: [],
      stop: { stopReason: 'end_turn' },
      check: null,
      immediateAnswer: null,
    });
  });

  test('a growing message is counted once', () => {
    expect(drafts({ ...recorded('MessageDisplay'), final: false })).toEqual([]);
  });

  test.each([
    ['no object', [] as unknown as object],
    ['no session', { hook_event_name: 'Stop' }],
    ['a session that is no id', { ...recorded('Stop'), session_id: 'a.b' }],
    ['a session with a star', { ...recorded('Stop'), session_id: '*' }],
    ['no event', { session_id: 's1' }],
  ])('%s is refused', (_name, body) => {
    expect(() => read(body)).toThrow(expect.objectContaining({ code: 'input.bad' }) as AppError);
  });
});

describe('answers', () => {
  const decision = (more: object) =>
    ({ decision: 'block', action: 'continue', reason: 'the reason', nextPrompt: null, ...more }) as const;
  const answer = (name: string, more: object = {}) => read(recorded(name)).answer(decision(more));

  test('a block is what was proven to block', () => {
    const proven = recorded('stop-block.http') as { decision: string; reason: string };
    expect(answer('Stop', { reason: proven.reason })).toEqual(proven);
    expect(Object.keys(answer('SubagentStop') ?? {})).toEqual(['decision', 'reason']);
  });

  test('a callback of the Agent SDK returns the same', () => {
    const { recorded: returned } = recordingsOf('agent-sdk');
    const proven = returned('stop-block').returned as { reason: string };
    expect(answer('Stop', { reason: proven.reason })).toEqual(proven);
    expect(answer('Stop', { decision: 'allow' }) ?? {}).toEqual(returned('stop-allow').returned);
  });

  test('the next prompt goes before the reason', () => {
    expect(answer('Stop', { nextPrompt: 'do it' })).toEqual({ decision: 'block', reason: 'do it' });
    expect(answer('Stop', { nextPrompt: ' \u001b[0m ' })).toEqual({ decision: 'block', reason: 'the reason' });
  });

  test('structured output is denied in the form of its event', () => {
    const body = recorded('PreToolUse.StructuredOutput');
    expect(read(body).answer(decision({}))).toEqual({
      hookSpecificOutput: {
        ...{ hookEventName: 'PreToolUse', permissionDecision: 'deny' },
        permissionDecisionReason: 'the reason',
      },
    });
    expect(read(body).answer(decision({ decision: 'allow' }))).toBeNull();
  });

  test('an allowed stop, and any other event, gets an empty answer', () => {
    expect(answer('Stop', { decision: 'allow' })).toBeNull();
    expect(recorded('stop-allow')).toMatchObject({ stdout: '' });
    expect(answer('PreToolUse')).toBeNull();
  });

  test('words are never empty, coloured or long', () => {
    const reasonOf = (more: object) => (answer('Stop', more) as { reason: string }).reason;
    expect(reasonOf({ reason: '\u0000' })).toBe('The work is not complete yet.');
    expect(reasonOf({ reason: '\u001b[31mred\u001b[0m\r\n\u0007\tend\u009b2J' })).toBe('red\n\tend');
    const long = reasonOf({ reason: `first ${'😀'.repeat(3_000)} last` });
    expect(long.length).toBeLessThanOrEqual(2_000);
    expect(long).toMatch(/^first (😀)+\n… \(cut\) …\n(😀)+ last$/u);
  });
});

test('a whole session is one worker, and its stops are where they were', () => {
  const calls = claudeSession.map(({ body }: { body: Recording }) => translate(body));
  expect(new Set(calls.map(({ worker }) => worker))).toEqual(new Set([claudeSessionId]));
  const asked = claudeSession.filter((_, index) => calls[index]?.stop !== null);
  expect(asked.map(({ answer }) => answer)).toEqual(['block', null]);
});

test('a stop that waits for a person says so to whoever sits there, and is allowed', () => {
  const escalated = { decision: 'allow', action: 'escalate', reason: 'It needs a key', nextPrompt: null } as const;
  const body = recorded('Stop');
  expect(read(body).answer(escalated)).toEqual({
    systemMessage: `stopgate: this session waits for a person: It needs a key. When that is settled: stopgate resolve ${body.session_id} --resume --prompt "…"`,
  });
});

test('the end of a session that waits for a person takes nothing back', () => {
  expect(drafts(recorded('SessionEnd'), { escalated: true })).toEqual([]);
});
