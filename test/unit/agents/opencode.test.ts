/** OpenCode's adapter, by what 1.18.33 really sent its plugins. */
import { describe, expect, test } from 'vitest';
import { allowed, blocked, draftsOf, heartbeat } from './entry-drafts.ts';
import { recordingsOf } from './recordings/recordings.ts';

const { names, recorded } = recordingsOf('opencode');
const { read, translate, drafts } = draftsOf('opencode');
/** Events name themselves, calls of hooks do not. */
const eventOf = (name: string) => name.replace(/\.child$/, '');
const session = 'ses_e03580e05ffex7kqJSOjm6k7LO';
const parent = 'ses_e0357f723ffeWChUughKe9ghZY';

const expectations: Record<string, { says: unknown[]; stops?: true }> = {
  'chat.message': { says: [['prompt.submitted', { text: 'say hello' }]] },
  'message.part.delta': { says: [] },
  'message.part.updated': { says: [] },
  'message.updated': { says: [] },
  'session.created.child': { says: [['worker.registered', { agent: 'opencode', cwd: '/workspace/project', parent }]] },
  'session.created': { says: [heartbeat] },
  'session.error': { says: [heartbeat] },
  'session.idle.child': { says: [], stops: true },
  'session.idle': { says: [], stops: true },
  'session.status': { says: [] },
  'session.updated': { says: [] },
  'todo.updated': { says: [['plan.updated', { steps: [{ title: 'write tests', status: 'pending' }] }]] },
  'tool.execute.after': { says: [['tool.used', { tool: 'bash', ok: true, call: 'call_fake_2_0' }]] },
  'tool.execute.before': { says: [heartbeat] },
};

describe('each recorded call', () => {
  test.each(Object.entries(expectations))('%s', (name, { says, stops }) => {
    const translation = translate(recorded(name), {}, eventOf(name));
    expect(translation.entries.map(({ type, data }) => [type, data])).toEqual(says);
    expect(translation.stop).toEqual(stops ? { stopReason: 'end_turn' } : null);
  });

  test('none is left out', () => {
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

test('a sub-agent’s session does not ask to stop: idle is its end', () => {
  expect(translate(recorded('session.idle.child'), { parent })).toMatchObject({
    entries: [{ type: 'session.ended' }],
    stop: null,
  });
  expect(drafts(recorded('chat.message'), { parent }, 'chat.message')).toEqual([heartbeat]);
});

test('a stop has the last message that the plugin has read; a block is for the plugin to prompt', () => {
  const body = { ...recorded('session.idle'), lastMessage: 'I am done' };
  expect(translate(body).stop).toEqual({ stopReason: 'end_turn', output: 'I am done' });
  expect(read(body).answer(blocked('go on'))).toEqual({ decision: 'block', reason: 'go on' });
  expect(read(body).answer(allowed)).toBeNull();
  expect(read(recorded('todo.updated')).answer(blocked('x'))).toBeNull();
  // Its plugin then waits for what a person says.
  expect(read(body).answer({ ...allowed, action: 'escalate' })).toEqual({
    ...{ decision: 'allow', waits: true },
    note: expect.stringMatching(/^stopgate: this session waits for a person: /),
  });
});

test('our prompt comes back as a message, and is no person’s', () => {
  const lastDecision = blocked('say hello');
  expect(drafts(recorded('chat.message'), { lastDecision }, 'chat.message')).toEqual([heartbeat]);
});

test('files, failed commands, limits, permissions', () => {
  const tool = (name: string, args: object, exit?: number) =>
    drafts(
      { input: { sessionID: session, tool: name, args }, output: { metadata: { exit } } },
      {},
      'tool.execute.after',
    );
  expect(tool('write', { filePath: '/workspace/project/a.md' })).toEqual([
    ['tool.used', { tool: 'write', ok: true, files: ['a.md'] }],
  ]);
  expect(tool('bash', {}, 1)).toEqual([['tool.used', { tool: 'bash', ok: false }]]);
  const failed = (statusCode: number) =>
    drafts({
      type: 'session.error',
      properties: { sessionID: session, error: { name: 'APIError', data: { statusCode } } },
    });
  expect(failed(429)).toEqual([['limit.reached', {}]]);
  expect(failed(500)).toEqual([heartbeat]);
  const permission = (type: string, awaitsInput = false) =>
    drafts({ type, properties: { sessionID: session } }, { awaitsInput });
  expect(permission('permission.asked')).toEqual([['input.requested', { kind: 'permission' }]]);
  expect(permission('permission.replied', true)).toEqual([['input.received', {}]]);
});
