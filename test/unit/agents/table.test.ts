/**
 * The agents of the table: what their recorded or documented calls mean, and how they are answered. Recordings say in
 * recordings/sources.json whether a real program sent them; those named `.documented` follow the vendor's page.
 */
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import type { Decision } from '../../../machines/index.ts';
import { agents } from '../../../src/agents/index.ts';
import type { AnswerableDecision } from '../../../src/agents/shared/block-text.ts';
import { tableRows } from '../../../src/agents/table/rows.ts';
import { createAgentFleet } from './agent-fleet.ts';
import { allowed, blocked, draftsOf, heartbeat } from './entry-drafts.ts';
import { recordingsOf } from './recordings/recordings.ts';

const names = tableRows.map(({ name }) => name);
const never = { checks: [{ rules: ['tests_pass'] }] };
const session = '0b5ab8b1-7f3f-4c39-9a34-3d1b0a7f2c11';

/** The event of a recording is the first part of its name. */
const eventOf = (recording: string) => recording.split('.')[0] as string;
const draftsIn = (agent: string, name: string, prior = {}) =>
  draftsOf(agent).drafts(recordingsOf(agent).recorded(name), prior, eventOf(name));
const readIn = (agent: string, name: string) => draftsOf(agent).read(recordingsOf(agent).recorded(name), eventOf(name));

const tool = (name: string, more: object = {}) => ['tool.used', { tool: name, ok: true, ...more }];
const started = (name: string, call?: string) => ['tool.started', { tool: name, ...(call ? { call } : {}) }];
const prompt = ['prompt.submitted', { text: 'do the task' }];

/** By agent: each of its recordings and its entries. Sessions are registered, unless the call registers them again. */
const meanings: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  agy: {
    SessionStart: [],
    PreInvocation: [['prompt.submitted', { text: '' }]],
    'PreInvocation.second': [heartbeat],
    PostInvocation: [heartbeat],
    Stop: [tool('agy', { changes: 'unknown' })],
    'Stop.second': [tool('agy', { changes: 'unknown' })],
    'Stop.no-workspace': [tool('agy', { changes: 'unknown' })],
    'Stop.background-running': [
      tool('agy', { changes: 'unknown' }),
      ['background.started', { id: 'background', kind: 'background' }],
    ],
  },
  kiro: {
    SessionStart: [],
    UserPromptSubmit: [prompt],
    'UserPromptSubmit.without-prompt': [['prompt.submitted', { text: '' }]],
    PreToolUse: [started('execute_bash')],
    'PreToolUse.fs_write': [tool('fs_write', { files: ['a.txt'] }), started('fs_write')],
    PostToolUse: [tool('execute_bash', { command: 'true' })],
    Stop: [],
  },
  droid: {
    SessionStart: [['worker.registered', { agent: 'droid', cwd: '/workspace/project', labels: { mode: 'off' } }]],
    'UserPromptSubmit.documented': [prompt],
    PreToolUse: [started('Execute')],
    'PreToolUse.Create': [tool('Create', { files: ['a.txt'] }), started('Create')],
    PostToolUse: [tool('Execute', { command: 'true' })],
    'PostToolUse.Create': [tool('Create', { files: ['a.txt'] })],
    Stop: [],
    'Stop.second': [],
    'SubagentStop.documented': [heartbeat],
    SessionEnd: [['session.ended', { reason: 'other' }]],
  },
  goose: {
    SessionStart: [],
    UserPromptSubmit: [prompt],
    PreToolUse: [started('developer__shell', 'call_1')],
    PostToolUse: [tool('developer__shell', { call: 'call_1', command: 'true' })],
    'PostToolUse.write': [tool('developer__write', { call: 'call_1', files: ['src/a.ts'] })],
    PostToolUseFailure: [['tool.used', { tool: 'developer__shell', ok: false, call: 'call_1', command: 'true' }]],
    Stop: [],
    SessionEnd: [['session.ended', {}]],
  },
  kimi: {
    SessionStart: [['worker.registered', { agent: 'kimi', cwd: '/workspace/project' }]],
    UserPromptSubmit: [prompt],
    TurnStarted: [heartbeat],
    PreToolUse: [tool('Bash', { changes: 'unknown' }), started('Bash', 'call_fake_4_0')],
    'PreToolUse.Write': [tool('Write', { files: ['a.txt'] }), started('Write', 'call_fake_2_0')],
    'PreToolUse.TodoList': [
      tool('TodoList'),
      ['plan.updated', { steps: [{ title: 'Write the tests', status: 'pending' }] }],
      started('TodoList', 'call_fake_1_0'),
    ],
    'PostToolUse.Write': [tool('Write', { call: 'call_fake_2_0', files: ['a.txt'] })],
    'PostToolUse.TodoList': [
      tool('TodoList', { call: 'call_fake_1_0' }),
      ['plan.updated', { steps: [{ title: 'Write the tests', status: 'pending' }] }],
    ],
    PostToolUseFailure: [
      ['tool.used', { tool: 'Bash', ok: false, call: 'call_fake_4_0', changes: 'unknown', command: 'echo hi; exit 3' }],
    ],
    Stop: [],
  },
  cline: {
    TaskStart: [],
    PreToolUse: [started('run_commands', 'call_fake_2_0')],
    'PreToolUse.editor': [started('editor', 'call_fake_1_0')],
    'PostToolUse.editor': [tool('editor', { call: 'call_fake_1_0', files: ['a.txt'] })],
    // One of its two commands failed.
    PostToolUse: [
      [
        'tool.used',
        {
          tool: 'run_commands',
          ok: false,
          call: 'call_fake_2_0',
          changes: 'unknown',
          command: 'echo hi; exit 3 && true',
        },
      ],
    ],
    TaskComplete: [],
  },
};

describe.each(names)('%s', (agent) => {
  const { names: recorded } = recordingsOf(agent);

  test('each recording has its meaning here', () => {
    expect(Object.keys(meanings[agent] ?? {}).sort()).toEqual([...recorded].sort());
  });

  test.each(recorded)('%s', (name) => {
    expect(draftsIn(agent, name)).toEqual(meanings[agent]?.[name]);
  });

  test.each(recorded)('%s asks to stop if it is a stop, and gets an answer only then', (name) => {
    const call = readIn(agent, name);
    const { stop } = draftsOf(agent).translate(recordingsOf(agent).recorded(name), {}, eventOf(name));
    const isStop = ['Stop', 'TaskComplete'].includes(eventOf(name));
    expect(stop !== null).toBe(isStop);
    expect(call.answer(blocked('x')) !== null).toBe(isStop);
    expect(call.answer(allowed)).toBeNull();
  });

  test('an event that we do not know is not judged, and the answer says so', async () => {
    const { recorded: bodyOf } = recordingsOf(agent);
    const {
      hook_event_name: _,
      event: __,
      hookName: ___,
      ...body
    } = bodyOf(recorded.find((name) => /^(Stop|TaskComplete)$/.test(name)) ?? '');
    const fleet = createAgentFleet(never);
    const unread: string[] = [];
    const answer = await fleet.call(agent, body, 'StopOfTomorrow', { noteUnread: (field) => unread.push(field) });
    const { title } = agents.get(agent) ?? {};
    const { systemMessage, note } = answer as { systemMessage?: string; note?: string };
    expect(systemMessage ?? note).toBe(`stopgate: ${title}'s event StopOfTomorrow is not known, so it was not judged.`);
    expect(unread).toContain('event');
  });

  test('fields of another type are left out, and the stop is still judged', async () => {
    const name = recorded.find((each) => /^(Stop|TaskComplete)$/.test(each)) ?? '';
    const odd = {
      workspacePaths: 7,
      workspaceRoots: 'x',
      permission_mode: [],
      last_assistant_message: {},
      turn: 1,
      fullyIdle: 'no',
      cwd: 1,
    };
    const fleet = createAgentFleet(never);
    await fleet.call(agent, { ...recordingsOf(agent).recorded(name), ...odd }, eventOf(name));
    expect(fleet.workers().flatMap((worker) => fleet.causes(worker))).toEqual(['incomplete']);
  });
});

test('sources.json says of each agent whether its recordings were recorded, and from where', () => {
  const file = new URL('./recordings/sources.json', import.meta.url);
  const sources = JSON.parse(readFileSync(file, 'utf8')) as Record<
    string,
    { kind: string; page?: string; version?: string }
  >;
  const stated = tableRows.map(({ name, page, program: { testedVersion: version } }) => [
    name,
    version === null ? { kind: 'documented', page } : { kind: 'recorded', version },
  ]);
  expect(sources).toEqual(Object.fromEntries(stated));
});

describe('Antigravity CLI is never sent the word block', () => {
  const causes: readonly (Decision['cause'] | undefined)[] = [
    undefined,
    'complete',
    'incomplete',
    'unjudged',
    'capped',
    'waiting',
    'bypassed',
    'idle',
    'escalated',
  ] as Decision['cause'][];
  const decisions = ['allow', 'block'] as const;
  const actions = ['complete', 'continue', 'escalate'] as const;
  const every: AnswerableDecision[] = decisions.flatMap((decision) =>
    actions.flatMap((action) =>
      causes.map(
        (cause) =>
          ({
            decision,
            action,
            reason: 'one step is open',
            nextPrompt: null,
            ...(cause === undefined ? {} : { cause }),
            verdicts: [{ guard: 'checks', verdict: 'block', detail: 'tests' }],
            feedback: [{ check: 'lint', kind: 'rules', outcome: 'warn', message: '2 warnings', details: {} }],
          }) as unknown as AnswerableDecision,
      ),
    ),
  );
  const calls = recordingsOf('agy').names;

  test.each(calls)('%s', (name) => {
    const call = readIn('agy', name);
    const answers = [
      ...every.map((decision) => call.answer(decision)),
      call.answerInput({ outcome: 'deny' } as never),
      call.answerCommand('paused'),
      draftsOf('agy').translate(recordingsOf('agy').recorded(name), {}, eventOf(name)).immediateAnswer,
    ];
    expect(answers.length).toBeGreaterThan(50);
    expect(JSON.stringify(answers)).not.toContain('block');
  });

  test('a blocked stop is answered with continue', () => {
    expect(readIn('agy', 'Stop').answer(blocked('one step is open'))).toEqual({
      decision: 'continue',
      reason: 'one step is open',
    });
  });

  test('nor by the hook command, if it must keep the agent at work without a service', () => {
    const command = agents.get('agy')?.hookCommand;
    const answers = [command?.allow('note'), command?.block('start the service', 'note')];
    expect(JSON.stringify(answers)).not.toContain('block');
    expect(answers[1]?.body).toEqual({ decision: 'continue', reason: 'start the service' });
  });
});

describe('answers in the form of each agent', () => {
  test.each([
    ['kiro', 'Stop', { decision: 'block', reason: 'go on' }],
    ['droid', 'Stop', { decision: 'block', reason: 'go on' }],
    ['goose', 'Stop', { decision: 'block', reason: 'go on' }],
    ['kimi', 'Stop', { hookSpecificOutput: { permissionDecision: 'deny', permissionDecisionReason: 'go on' } }],
    [
      'cline',
      'TaskComplete',
      { note: 'stopgate: this stop of Cline should be blocked, but its hooks cannot do that. go on' },
    ],
  ])('%s: a block', (agent, event, answer) => {
    expect(readIn(agent, event).answer(blocked('r', 'go on'))).toEqual(answer);
  });

  test('a person’s command is kept from the model where a hook can do that', () => {
    const typed = (agent: string, body: object, event?: string) =>
      draftsOf(agent).read(body, event).answerCommand('paused');
    const { recorded: droid } = recordingsOf('droid');
    const { recorded: kimi } = recordingsOf('kimi');
    const { recorded: goose } = recordingsOf('goose');
    expect(typed('droid', droid('UserPromptSubmit.documented'))).toEqual({ decision: 'block', reason: 'paused' });
    expect(typed('kimi', kimi('UserPromptSubmit'))).toMatchObject({
      hookSpecificOutput: { permissionDecisionReason: 'paused' },
    });
    expect(typed('goose', goose('UserPromptSubmit'))).toEqual({ note: 'paused' });
  });

  test('Cline reads after a tool what a check finds missing, and is ended when the work is complete', () => {
    const call = readIn('cline', 'PostToolUse');
    expect(call.answer(blocked('one step is open'), 'complete-throttled')).toEqual({
      contextModification: expect.stringMatching(/^stopgate has checked the work after these tools\. one step is open/),
    });
    expect(call.answer(allowed, 'complete-throttled')).toMatchObject({ cancel: true });
  });
});

describe('prompts without a text', () => {
  const turn = (fleet: ReturnType<typeof createAgentFleet>, name: string) =>
    fleet.call('agy', { ...recordingsOf('agy').recorded(name), conversationId: session }, eventOf(name));

  test('after an allowed stop they are a person’s, after a block they continue it', async () => {
    const fleet = createAgentFleet({ ...never, retries: 1 });
    await turn(fleet, 'PreInvocation');
    await turn(fleet, 'Stop');
    await turn(fleet, 'PreInvocation');
    expect(fleet.view(session).retry.count).toBe(1);
    await turn(fleet, 'Stop.second');
    expect(fleet.causes(session)).toEqual(['incomplete', 'capped']);
    await turn(fleet, 'PreInvocation.second');
    expect(fleet.view(session).state).toBe('stopped');
    await turn(fleet, 'PreInvocation');
    expect(fleet.view(session)).toMatchObject({ state: 'working', retry: { count: 0 } });
  });

  test('a stop waits for background work that the agent reports', async () => {
    const fleet = createAgentFleet(never);
    await turn(fleet, 'Stop.background-running');
    await turn(fleet, 'Stop');
    expect(fleet.causes(session)).toEqual(['waiting', 'incomplete']);
  });

  test('tools are not reported, so any file may have changed', async () => {
    const fleet = createAgentFleet({ checks: [{ rules: ['tests_pass'], when: { filesModified: true } }] });
    await turn(fleet, 'Stop');
    expect(fleet.causes(session)).toEqual(['incomplete']);
  });
});

test('a command that has only started is no evidence that it ran', async () => {
  const { recorded } = recordingsOf('kimi');
  const start = { ...recorded('PreToolUse'), session_id: session, tool_input: { command: 'npm test' } };
  const fleet = createAgentFleet({ checks: [{ ran: 'npm test' }] });
  await fleet.call('kimi', start);
  await fleet.call('kimi', { ...recorded('Stop'), session_id: session });
  await fleet.call('kimi', { ...start, hook_event_name: 'PostToolUse', tool_output: 'ok' });
  await fleet.call('kimi', { ...recorded('Stop'), session_id: session });
  expect(fleet.causes(session)).toEqual(['incomplete', 'complete']);
});

test.each([
  ['a list', [{ content: 'a', status: 'completed' }], [{ title: 'a', status: 'completed' }]],
  [
    'lines',
    '1. [completed] a\n2. [pending] b\n',
    [
      { title: 'a', status: 'completed' },
      { title: 'b', status: 'pending' },
    ],
  ],
  ['lines with marks', '- [x] a', [{ title: 'a', status: 'x' }]],
])('Droid: a plan as %s', (_what, todos, steps) => {
  const body = { ...recordingsOf('droid').recorded('PreToolUse'), tool_name: 'TodoWrite', tool_input: { todos } };
  expect(draftsOf('droid').drafts(body)).toContainEqual(['plan.updated', { steps }]);
});

test('a sub-agent of Cline is a worker of its own that does not ask to stop', () => {
  const body = { ...recordingsOf('cline').recorded('TaskComplete'), agent_id: 'a2', parent_agent_id: 'a1' };
  const { worker, stop } = draftsOf('cline').translate(body, {}, 'TaskComplete');
  expect(worker).toMatch(/-a2$/);
  expect(stop).toBeNull();
});

test('Cline reports its last message, Goose too', () => {
  const outputOf = (agent: string, name: string) =>
    draftsOf(agent).translate(recordingsOf(agent).recorded(name), {}, name).stop?.output;
  expect(outputOf('cline', 'TaskComplete')).toBe('one');
  expect(outputOf('goose', 'Stop')).toBe('Done. I updated the file and ran the tests.');
});
