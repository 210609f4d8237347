/** OpenCode's adapter, tested with what 1.18.33 sent to plugins. */
import { describe, expect, test } from 'vitest';
import { allowed, blocked, draftsOf, heartbeat } from './entry-drafts.ts';
import { recordingsOf } from './recordings/recordings.ts';

const { names, recorded } = recordingsOf('opencode');
const { read, translate, drafts } = draftsOf('opencode');
/** The event name, which events contain and calls of hooks do not. */
const eventOf = (name: string) => name.replace(/\.child$/, '');
const session = 'ses_e03580e05ffex7kqJSOjm6k7LO';
const parent = 'ses_e0357f723ffeWChUughKe9ghZY';

const expectations: Record<string, { says: unknown[]; stops?: true }> = {
  'chat.message': { says: [['prompt.submitted', { text: 'say hello' }]] },
  'message.part.delta': { says: [] },
  'message.part.updated': { says: [] },
  'message.updated': { says: [] },
  'permission.asked': { says: [] },
  'permission.replied': { says: [heartbeat] },
  'question.asked': { says: [] },
  'question.replied': { says: [heartbeat] },
  'session.created.child': { says: [['worker.registered', { agent: 'opencode', cwd: '/workspace/project', parent }]] },
  'session.created': { says: [heartbeat] },
  'session.error': { says: [heartbeat] },
  'session.idle.child': { says: [], stops: true },
  'session.idle': { says: [], stops: true },
  'session.status': { says: [] },
  'session.updated': { says: [] },
  'todo.updated': { says: [['plan.updated', { steps: [{ title: 'write tests', status: 'pending' }] }]] },
  'tool.execute.after': {
    says: [['tool.used', { tool: 'bash', ok: true, call: 'call_fake_2_0', command: 'echo hello' }]],
  },
  'tool.execute.before': { says: [['tool.started', { tool: 'bash', call: 'call_fake_2_0' }]] },
};

describe('each recorded call', () => {
  test.each(Object.entries(expectations))('%s', (name, { says, stops }) => {
    const translation = translate(recorded(name), {}, eventOf(name));
    expect(translation.entries.map(({ type, data }) => [type, data])).toEqual(says);
    expect(translation.stop).toEqual(stops ? { stopReason: 'end_turn' } : null);
  });

  test('every recording is covered', () => {
    expect(Object.keys(expectations).sort()).toEqual([...names].sort());
  });
});

test('a session is registered in its folder by its first call', () => {
  const unknown = { registered: false };
  const registration = ['worker.registered', { agent: 'opencode', cwd: '/workspace/project' }];
  expect(drafts(recorded('session.created'), unknown)).toEqual([registration]);
  expect(drafts({ ...recorded('session.idle'), directory: '/workspace/project' }, unknown)).toEqual([registration]);
  expect(drafts(recorded('session.created.child'), unknown)).toHaveLength(1);
});

test('a sub-agent’s session does not ask to stop; idle ends it', () => {
  expect(translate(recorded('session.idle.child'), { parent })).toMatchObject({
    entries: [{ type: 'session.ended' }],
    stop: null,
  });
  expect(drafts(recorded('chat.message'), { parent }, 'chat.message')).toEqual([['prompt.submitted', { by: 'agent' }]]);
});

test('a stop has the last message; a block tells the plugin to prompt', () => {
  const body = { ...recorded('session.idle'), lastMessage: 'I am done' };
  expect(translate(body).stop).toEqual({ stopReason: 'end_turn', output: 'I am done' });
  expect(read(body).answer(blocked('go on'))).toEqual({ decision: 'block', reason: 'go on' });
  expect(read(body).answer(allowed)).toBeNull();
  expect(read(recorded('todo.updated')).answer(blocked('x'))).toBeNull();
  // The plugin then waits for a person's resolution.
  expect(read(body).answer({ ...allowed, action: 'escalate' })).toEqual({
    decision: 'allow',
    waits: true,
    note: expect.stringMatching(/^stopgate: this session waits for a person: /),
  });
});

test('our prompt comes back as a message and is not a person’s', () => {
  const lastDecision = blocked('say hello');
  expect(drafts(recorded('chat.message'), { lastDecision }, 'chat.message')).toEqual([heartbeat]);
});

test('reports files, failed commands, limits and permissions', () => {
  const tool = (name: string, args: object, exit?: number) =>
    drafts(
      { input: { sessionID: session, tool: name, args }, output: { metadata: { exit } } },
      {},
      'tool.execute.after',
    );
  expect(tool('write', { filePath: '/workspace/project/a.md' })).toEqual([
    ['tool.used', { tool: 'write', ok: true, files: ['a.md'] }],
  ]);
  expect(tool('bash', {}, 1)).toEqual([['tool.used', { tool: 'bash', ok: false, changes: 'unknown' }]]);
  const failed = (statusCode: number) =>
    drafts({
      type: 'session.error',
      properties: { sessionID: session, error: { name: 'APIError', data: { statusCode } } },
    });
  expect(failed(429)).toEqual([['limit.reached', {}]]);
  expect(failed(500)).toEqual([heartbeat]);
});

test.each([
  { retryAfter: '90', until: '2026-11-21T05:52:10.000Z' },
  { retryAfter: 'Sat, 21 Nov 2026 08:00:00 GMT', until: '2026-11-21T08:00:00.000Z' },
  { retryAfter: 'soon', until: undefined },
  { retryAfter: '-1', until: undefined },
  { retryAfter: '9999999', until: undefined },
  { retryAfter: 'Sat, 21 Nov 2020 08:00:00 GMT', until: undefined },
])('a limit ends when the provider accepts requests again: retry-after $retryAfter', ({ retryAfter, until }) => {
  const responseHeaders = { date: 'Sat, 21 Nov 2026 05:50:40 GMT', 'retry-after': retryAfter };
  const error = { name: 'APIError', data: { statusCode: 429, responseHeaders } };
  expect(drafts({ type: 'session.error', properties: { sessionID: session, error } })).toEqual([
    ['limit.reached', until === undefined ? {} : { until }],
  ]);
});

describe('requests to a person', () => {
  const given = { request: 'r', by: 'ann', at: '' } as const;
  const answered = (name: string, verdict: 'allow' | 'deny', message: string | null) =>
    read(recorded(name)).answerInput({ ...given, verdict, message });
  const request = (name: string) => (recorded(name).properties as { id: string }).id;

  test('a permission request has its own id and is allowed once or denied with a reason', () => {
    expect(translate(recorded('permission.asked')).ask).toEqual({
      kind: 'permission',
      tool: 'bash',
      detail: '{"command":"touch made"}',
      request: request('permission.asked'),
    });
    expect(answered('permission.asked', 'allow', null)).toEqual({ reply: { reply: 'once' } });
    expect(answered('permission.asked', 'deny', null)).toEqual({
      reply: { reply: 'reject', message: 'Denied by ann, an operator of stopgate.' },
    });
    const { properties, ...rest } = recorded('permission.asked');
    const bare = { ...rest, properties: { ...(properties as object), metadata: {} } };
    expect(translate(bare).ask).toMatchObject({ detail: '{"patterns":["touch made"]}' });
  });

  test('a question is answered by a choice, or by the reason if denied', () => {
    expect(translate(recorded('question.asked')).ask).toMatchObject({
      kind: 'question',
      tool: 'question',
      message: 'Which key?',
      request: request('question.asked'),
    });
    expect(answered('question.asked', 'allow', 'New')).toEqual({ reply: { answers: [['New']] } });
    expect(answered('question.asked', 'deny', 'No')).toEqual({ reply: { answers: [['No']] } });
    expect(answered('question.asked', 'allow', null)).toBeNull();
  });

  test('a question with a secret is answered by the text that is shown', () => {
    const questions = [{ question: 'Keep ghp_0123456789abcdef?' }, { question: 'Where?' }];
    const body = { type: 'question.asked', properties: { id: 'q', sessionID: 's', questions } };
    const message = '{"Keep [hidden]?":"no","Where?":"here"}';
    expect(read(body).answerInput({ ...given, verdict: 'allow', message })).toEqual({
      reply: { answers: [['no'], ['here']] },
    });
  });

  test('an answer at the terminal ends the wait for that request only', () => {
    const replied = (held: string[], awaitsInput = true) =>
      drafts(recorded('permission.replied'), { held, awaitsInput });
    const id = `${request('permission.asked')}-0a1b2c3d`;
    expect(replied([id, 'other'])).toEqual([['input.received', { request: id }]]);
    expect(replied(['other'])).toEqual([heartbeat]);
    expect(replied([])).toEqual([['input.received', {}]]);
    expect(replied([], false)).toEqual([heartbeat]);
  });
});
