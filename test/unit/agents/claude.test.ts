/** Claude Code's adapter, tested with recorded calls and with cases that recordings do not cover. */
import { describe, expect, test } from 'vitest';
import { toPriorWorker, unknownWorker } from '../../../src/agents/index.ts';
import type { AppError } from '../../../src/errors.ts';
import { draftsOf, heartbeat } from './entry-drafts.ts';
import { type Recording, recorded, recordingNames } from './recordings/claude.ts';
import { recordingsOf } from './recordings/recordings.ts';
import { claudeSession, claudeSessionId } from './session.ts';

const { read, translate, drafts } = draftsOf('claude');
const bash = ['tool.used', { tool: 'Bash', ok: true, call: 'toolu_fake_1_0', command: 'echo hello' }];

const session = 'b196feb6-47b9-4de4-b065-6c0a87fc41c0';
const child = '5e29e641-46ab-471e-ac1c-2c2c7e38f1ee-a8e954343990513d2';

const notification = recorded('UserPromptSubmit.task-notification').prompt;

/** The expected translation of each recording for a registered worker. `stop` is the output of its attempt. */
const expectations: Record<string, { says: unknown[]; worker?: string; stop?: string; stopReason?: string }> = {
  MessageDisplay: { says: [heartbeat], worker: session },
  // The request itself is stored together with its hold: see permission-requests.test.ts.
  PermissionRequest: { says: [] },
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
  PostToolUseFailure: {
    says: [['tool.used', { tool: 'Bash', ok: false, call: 'toolu_fake_2_0', command: 'exit 3', changes: 'unknown' }]],
  },
  PreCompact: { says: [heartbeat] },
  PreToolUse: { says: [['tool.started', { tool: 'Bash', call: 'toolu_fake_1_0' }]] },
  'PreToolUse.StructuredOutput': { says: [], stop: '{"answer":"x"}', stopReason: 'structured_output' },
  SessionEnd: { says: [['session.ended', { reason: 'other' }]] },
  'SessionStart.compact': { says: [] },
  SessionStart: { says: [['worker.registered', { agent: 'claude', cwd: '/workspace/project' }]] },
  'SessionStart.resume': { says: [['worker.registered', { agent: 'claude', cwd: '/workspace/project' }]] },
  'Stop.background-running': {
    says: [['background.started', { id: 'ae60021059d27341b', kind: 'subagent' }]],
    stop: 'main done',
  },
  'Stop.background-shell': {
    says: [['background.started', { id: 'beclel8w8', kind: 'shell', command: 'sleep 1' }]],
    stop: 'main done',
  },
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
  PreSkillShellCommand: {
    says: [
      [
        'tool.used',
        { tool: 'Bash', call: '6deb3267-f8d4-471f-9502-9e5ba7491d2b:inner:preamble-0', ok: true, changes: 'unknown' },
      ],
    ],
  },
  StopFailure: { says: [['limit.reached', {}]] },
  'SubagentStop.compact': { says: [] },
  SubagentStop: { says: [], worker: child, stop: 'child stop 1' },
  'SubagentStop.second': { says: [], worker: child, stop: 'child stop 2' },
  TaskCompleted: { says: [heartbeat] },
  TaskCreated: { says: [heartbeat] },
  UserPromptSubmit: { says: [['prompt.submitted', { text: 'say hello' }]], worker: session },
  'UserPromptSubmit.task-notification': {
    says: [
      ['background.finished', { id: 'ae60021059d27341b' }],
      ['prompt.submitted', { text: notification, by: 'system' }],
    ],
  },
};

describe('each recorded call', () => {
  test.each(Object.entries(expectations))('%s', (name, { says, worker, stop, stopReason = 'end_turn' }) => {
    const translation = translate(recorded(name));
    expect(translation.entries.map(({ type, data }) => [type, data])).toEqual(says);
    expect(translation.stop).toEqual(stop === undefined ? null : { stopReason, output: stop });
    if (worker !== undefined) expect(translation.worker).toBe(worker);
    for (const entry of translation.entries) expect(entry).toMatchObject({ entity: 'worker', id: translation.worker });
  });

  test('every recording is covered', () => {
    const calls = recordingNames.filter((name) => !name.startsWith('stop-'));
    expect(Object.keys(expectations).sort()).toEqual([...calls].sort());
  });
});

describe('the first call of a session', () => {
  test('registers it, without a heartbeat', () => {
    expect(translate(recorded('PostToolBatch'), unknownWorker).entries).toEqual([
      {
        entity: 'worker',
        id: session,
        type: 'worker.registered',
        data: { agent: 'claude', cwd: '/workspace/project', labels: { mode: 'bypassPermissions' } },
        messageId: `${session}:registered`,
      },
    ]);
  });

  test.each(['UserPromptSubmit', 'PostToolUse', 'Stop.background-shell', 'StopFailure'])('%s', (name) => {
    const body = recorded(name);
    expect(drafts(body, unknownWorker)[0]?.[0]).toBe('worker.registered');
  });

  test('a compaction of an unknown session registers it', () => {
    expect(drafts(recorded('SessionStart.compact'), unknownWorker).map(([type]) => type)).toEqual([
      'worker.registered',
    ]);
  });

  test('does not register it if it is the session’s end', () => {
    expect(drafts(recorded('SessionEnd'), unknownWorker)).toEqual([]);
  });

  test('a stop of an unknown child registers the child with its parent', () => {
    const { entries, worker, stop } = translate(recorded('SubagentStop'), unknownWorker);
    expect(entries.map(({ type, id }) => [type, id])).toEqual([['worker.registered', child]]);
    expect(entries[0]?.data).toMatchObject({ parent: recorded('SubagentStop').session_id, agent: 'claude' });
    expect([worker, stop?.output]).toEqual([child, 'child stop 1']);
  });

  test('a worker without an agent still gets registered', () => {
    const empty = { cwd: null, lastDecision: null, background: [], inputs: [], labels: {} };
    const view = { ...empty, presence: 'limited' } as const;
    expect(toPriorWorker({ ...view, agent: null } as never)).toMatchObject({ registered: false, limited: true });
    expect(toPriorWorker({ ...view, agent: 'claude' } as never)).toMatchObject({ registered: true });
  });
});

describe('calls of other versions', () => {
  test('an unknown event is a heartbeat', () => {
    for (const event of ['TeammateIdle', 'constructor', '__proto__']) {
      expect(drafts({ ...recorded('Stop'), hook_event_name: event })).toEqual([heartbeat]);
    }
  });

  test('a field of another type does not fail the call', () => {
    const body = { ...recorded('Stop'), cwd: 5, background_tasks: {}, last_assistant_message: null, agent_id: null };
    expect(translate(body)).toEqual({
      worker: session,
      entries: [],
      stop: { stopReason: 'end_turn' },
      check: null,
      ask: null,
      immediateAnswer: null,
      command: null,
      scheduled: [],
      schedules: null,
      unread: [],
    });
    // `agent_id: null` means no sub-agent.
    expect(read(body).unread).toEqual(['cwd', 'background_tasks']);
  });

  test('a growing message is not a heartbeat', () => {
    expect(drafts({ ...recorded('MessageDisplay'), final: false })).toEqual([]);
  });

  test.each([
    ['no object', [] as unknown as object],
    ['no session', { hook_event_name: 'Stop' }],
    ['a session that is not an id', { ...recorded('Stop'), session_id: 'a.b' }],
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
  const context = (text: string) => ({ hookSpecificOutput: { hookEventName: 'Stop', additionalContext: text } });

  test('a block has the recorded form', () => {
    const { stdout, fedBack } = recorded('stop-context') as {
      stdout: { hookSpecificOutput: { additionalContext: string } };
      fedBack: string;
    };
    const reason = stdout.hookSpecificOutput.additionalContext;
    expect(answer('Stop', { reason })).toEqual(stdout);
    expect(answer('SubagentStop')).toMatchObject({ decision: 'block' });
    expect(drafts({ ...recorded('UserPromptSubmit'), prompt: fedBack })).toMatchObject([
      ['prompt.submitted', { by: 'system' }],
    ]);
    // Versions before 2.1.163 ignore the context.
    const { prompt_id: _, ...older } = recorded('Stop');
    const proven = recorded('stop-block.http') as { decision: string; reason: string };
    expect(read(older).answer(decision({ reason: proven.reason }))).toEqual(proven);
  });

  test('a callback of the Agent SDK returns the same answer', () => {
    const { recorded: returned } = recordingsOf('agent-sdk');
    const proven = returned('stop-block').returned as { reason: string };
    const { session_id, hook_event_name } = recorded('Stop');
    expect(read({ session_id, hook_event_name }).answer(decision({ reason: proven.reason }))).toEqual(proven);
    expect(answer('Stop', { decision: 'allow' }) ?? {}).toEqual(returned('stop-allow').returned);
  });

  test('the next prompt takes precedence over the reason', () => {
    expect(answer('Stop', { nextPrompt: 'do it' })).toEqual(context('do it'));
    expect(answer('Stop', { nextPrompt: ' \u001b[0m ' })).toEqual(context('the reason'));
  });

  test('structured output is denied in the form of its event', () => {
    const body = recorded('PreToolUse.StructuredOutput');
    expect(read(body).answer(decision({}))).toEqual({
      hookSpecificOutput: {
        hookEventName: 'PreToolUse',
        permissionDecision: 'deny',
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

  test('the text is never empty, coloured or too long', () => {
    const reasonOf = (more: object) =>
      (answer('Stop', more) as ReturnType<typeof context>).hookSpecificOutput.additionalContext;
    expect(reasonOf({ reason: '\u0000' })).toBe('The work is not complete yet.');
    expect(reasonOf({ reason: '\u001b[31mred\u001b[0m\r\n\u0007\tend\u009b2J' })).toBe('red\n\tend');
    const long = reasonOf({ reason: `first ${'😀'.repeat(3_000)} last` });
    expect(long.length).toBeLessThanOrEqual(2_000);
    expect(long).toMatch(/^first (😀)+\n… \(cut\) …\n(😀)+ last$/u);
  });
});

test('a whole session is one worker, and only its stops are attempts', () => {
  const calls = claudeSession.map(({ body }: { body: Recording }) => translate(body));
  expect(new Set(calls.map(({ worker }) => worker))).toEqual(new Set([claudeSessionId]));
  const asked = claudeSession.filter((_, index) => calls[index]?.stop !== null);
  expect(asked.map(({ answer }) => answer)).toEqual(['block', null]);
});

test('an escalated stop is allowed, with a notice to the person', () => {
  const escalated = { decision: 'allow', action: 'escalate', reason: 'It needs a key', nextPrompt: null } as const;
  const body = recorded('Stop');
  expect(read(body).answer(escalated)).toEqual({
    systemMessage: `stopgate: this session waits for a person: It needs a key. When that is settled: stopgate resolve ${body.session_id} --resume --prompt "…"`,
  });
});

test('the end of an escalated session is not stored', () => {
  expect(drafts(recorded('SessionEnd'), { escalated: true })).toEqual([]);
});

describe('a question to the person', () => {
  const questions = [{ question: 'Which key?', options: [{ label: 'A' }] }];
  const asked = (more: object[] = []) => ({
    ...recorded('PermissionRequest'),
    tool_name: 'AskUserQuestion',
    tool_input: { questions: [...questions, ...more] },
  });
  const given = { request: 'r', by: 'ann', verdict: 'allow', at: '' } as const;
  const secret = 'ghp_0123456789abcdef';
  const answered = (body: object, message: string | null) =>
    (read(body).answerInput({ ...given, message }) as { hookSpecificOutput: { decision: object } }).hookSpecificOutput
      .decision;

  test('is held, and answered by naming a choice', () => {
    expect(translate(asked()).ask).toMatchObject({ kind: 'question', tool: 'AskUserQuestion', message: 'Which key?' });
    expect(answered(asked(), 'A')).toEqual({
      behavior: 'allow',
      updatedInput: { questions, answers: { 'Which key?': 'A' } },
    });
  });

  test('several questions are answered by their texts; any other answer leaves them to the terminal', () => {
    const two = asked([{ question: 'Where?' }]);
    const answers = { 'Which key?': 'A', 'Where?': 'here' };
    expect(answered(two, JSON.stringify(answers))).toMatchObject({ updatedInput: { answers } });
    for (const [body, message] of [
      [two, 'A'],
      [asked(), null],
    ] as const)
      expect(read(body).answerInput({ ...given, message })).toBeNull();
    expect(answered(recorded('PermissionRequest'), 'A')).toEqual({ behavior: 'allow' });
  });

  test('a question with a secret is answered by the text that is shown', () => {
    const two = asked([{ question: `Keep ${secret}?` }]);
    expect(answered(two, '{"Which key?":"A","Keep [hidden]?":"no"}')).toMatchObject({
      updatedInput: { answers: { 'Which key?': 'A', [`Keep ${secret}?`]: 'no' } },
    });
  });
});
