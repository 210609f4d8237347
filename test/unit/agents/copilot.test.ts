/** Copilot CLI's adapter, tested with calls recorded from 1.0.102, in both forms of its keys. */
import { describe, expect, test } from 'vitest';
import type { Plan } from '../../../machines/index.ts';
import { createAgentFleet } from './agent-fleet.ts';
import { allowed, blocked, draftsOf, heartbeat, registered } from './entry-drafts.ts';
import { recordingsOf } from './recordings/recordings.ts';

const { names, recorded } = recordingsOf('copilot');
const { read, translate, drafts } = draftsOf('copilot');
/** The event name, which most payloads omit and settings provide. */
const eventOf = (name: string) => name.split('.')[0] ?? '';

const parent = '9558cb66-281e-4872-87b4-2dc3ef89d244';
const child = '4c306266-2cfe-49c2-a836-dab3736048bd';
const ofParent = (type: string) => [type, { id: child, kind: 'subagent' }];
const proven = recorded('stop-block') as { stdout: { reason: string } };

const expectations: Record<string, { says: unknown[]; worker?: string; stop?: { output?: string } }> = {
  'Stop.pascal-case': { says: [], stop: {} },
  'Stop.pascal-case.second': { says: [], stop: {} },
  'agentStop.child': { says: [heartbeat], worker: child },
  'agentStop.http': { says: [], stop: {} },
  agentStop: { says: [], stop: {} },
  'agentStop.second': { says: [], stop: {} },
  notification: {
    says: [['input.requested', { kind: 'permission', message: 'Path permission needed: /nonexistent/file' }]],
  },
  permissionRequest: { says: [heartbeat] },
  postToolUse: { says: [['tool.used', { tool: 'bash', ok: true, command: 'echo hello' }]] },
  'postToolUse.sql': {
    says: [
      ['tool.used', { tool: 'sql', ok: true }],
      ['step.updated', { step: 't1', title: 'Write the tests', status: 'pending' }],
    ],
  },
  'postToolUse.sql.child': {
    says: [
      ['tool.used', { tool: 'sql', ok: true }],
      ['step.updated', { step: 'tests', title: 'Write the tests', status: 'pending' }],
    ],
    worker: child,
  },
  preToolUse: { says: [['tool.started', { tool: 'bash' }]] },
  sessionEnd: { says: [['session.ended', { reason: 'complete' }]] },
  sessionStart: { says: [heartbeat] },
  subagentStart: {
    says: [
      [
        'worker.registered',
        { agent: 'copilot', cwd: '/workspace/project', parent, labels: { subagent: 'general-purpose' } },
      ],
      ofParent('background.started'),
    ],
    worker: child,
  },
  subagentStop: { says: [ofParent('background.finished')], worker: child, stop: { output: 'child stop 1' } },
  'subagentStop.second': { says: [ofParent('background.finished')], worker: child, stop: { output: 'child stop 2' } },
  'userPromptSubmitted.after-block': { says: [heartbeat] },
  'userPromptSubmitted.notification': {
    says: [['prompt.submitted', { text: recorded('userPromptSubmitted.notification').prompt, by: 'system' }]],
  },
  userPromptSubmitted: { says: [['prompt.submitted', { text: 'say hello' }]] },
};

describe('each recorded call', () => {
  test.each(Object.entries(expectations))('%s, after the recorded block', (name, { says, worker, stop }) => {
    const body = recorded(name);
    const translation = translate(body, { lastDecision: blocked(proven.stdout.reason) }, eventOf(name));
    expect(translation.entries.map(({ type, data }) => [type, data])).toEqual(says);
    expect(translation.stop).toEqual(stop === undefined ? null : { stopReason: 'end_turn', ...stop });
    expect(translation.worker).toBe(worker ?? body.sessionId ?? body.session_id);
    for (const { id, type } of translation.entries)
      expect(id).toBe(worker === child && /^(?:background|step)\./.test(type) ? parent : translation.worker);
  });

  test('every recording is covered', () => {
    expect(Object.keys(expectations).sort()).toEqual([...names].sort());
  });
});

test('both forms of a stop are read the same way', () => {
  const camel = { ...recorded('agentStop'), sessionId: recorded('Stop.pascal-case').session_id };
  expect(translate(recorded('Stop.pascal-case'))).toEqual(translate(camel, {}, 'agentStop'));
  expect(
    translate({ session_id: 's', tool_name: 'bash', tool_result: { result_type: 'failure' } }, {}, 'PostToolUse'),
  ).toMatchObject({ entries: [{ type: 'tool.used', data: { tool: 'bash', ok: false } }] });
  expect(drafts({ session_id: 's', prompt: 'hi' }, {}, 'UserPromptSubmit')).toEqual([
    ['prompt.submitted', { text: 'hi' }],
  ]);
});

test('a call without an event name needs it in the URL', () => {
  expect(() => read(recorded('agentStop'))).toThrow(
    expect.objectContaining({ code: 'input.bad', message: expect.stringContaining('?event=') }),
  );
});

test('a block has the recorded form; a sub-agent’s agentStop gets no answer, because Copilot ignores it', () => {
  const answer = (name: string) => read(recorded(name), eventOf(name)).answer(blocked(proven.stdout.reason));
  expect(answer('agentStop')).toEqual(proven.stdout);
  expect(answer('Stop.pascal-case')).toEqual(proven.stdout);
  expect(answer('subagentStop')).toEqual(proven.stdout);
  expect(answer('agentStop.child')).toBeNull();
  expect(answer('postToolUse')).toBeNull();
  expect(read(recorded('agentStop'), 'agentStop').answer(allowed)).toBeNull();
});

test('a sub-agent without a unique id is identified by its parent too', () => {
  const body = { ...recorded('subagentStop'), agentId: 'explore' };
  expect(translate(body, {}, 'subagentStop').worker).toBe(`${parent}-explore`);
});

test('a parent waits for its background sub-agent, although its stops do not list it', async () => {
  const fleet = createAgentFleet({ checks: [{ rules: ['tests_pass'] }] });
  const stop = () => fleet.call('copilot', { ...recorded('agentStop'), sessionId: parent }, 'agentStop');
  await fleet.call('copilot', { ...recorded('sessionStart'), sessionId: parent }, 'sessionStart');
  await fleet.call('copilot', recorded('subagentStart'), 'subagentStart');
  expect(await stop()).toBeNull();
  await fleet.call('copilot', recorded('agentStop.child'), 'agentStop');
  expect(await fleet.call('copilot', recorded('subagentStop'), 'subagentStop')).toMatchObject({ decision: 'block' });
  expect(await stop()).toMatchObject({ decision: 'block' });
  expect([fleet.causes(parent), fleet.causes(child)]).toEqual([['waiting', 'incomplete'], ['incomplete']]);
});

test('the end of a sub-agent wakes the session, which has not ended, and does not reset the retries', async () => {
  const fleet = createAgentFleet({ checks: [{ rules: ['tests_pass'] }] });
  const tell = (name: string) => fleet.call('copilot', { ...recorded(name), sessionId: parent }, eventOf(name));
  await tell('sessionStart');
  expect(await tell('agentStop')).toMatchObject({ decision: 'block' });
  await fleet.call('copilot', recorded('subagentStart'), 'subagentStart');
  expect(await tell('agentStop')).toBeNull();
  await tell('sessionEnd');
  await fleet.call('copilot', recorded('subagentStop'), 'subagentStop');
  await tell('userPromptSubmitted.notification');
  expect(fleet.view(parent).retry.count).toBe(1);
  for (const _ of ['second', 'third']) expect(await tell('agentStop')).toMatchObject({ decision: 'block' });
  expect(await tell('agentStop')).toBeNull();
  expect(fleet.causes(parent)).toEqual(['incomplete', 'waiting', 'incomplete', 'incomplete', 'capped']);
  // Ended now. If it is woken nevertheless, its next stop is judged.
  await tell('sessionEnd');
  await tell('userPromptSubmitted.notification');
  expect(await tell('agentStop')).toMatchObject({ decision: 'block' });
});

test('a first prompt before the session’s start registers it once', () => {
  expect(
    drafts(recorded('userPromptSubmitted'), { registered: false }, 'userPromptSubmitted').map(([type]) => type),
  ).toEqual(['worker.registered', 'prompt.submitted']);
  expect(drafts({ ...recorded('sessionStart'), source: 'resume' }, {}, 'sessionStart')).toEqual([
    ['worker.registered', { agent: 'copilot', cwd: '/workspace/project' }],
  ]);
});

test('arguments may be a JSON string, as in older versions', () => {
  const body = { ...recorded('postToolUse'), toolName: 'create', toolArgs: '{"path":"/workspace/project/a.md"}' };
  expect(drafts(body, {}, 'postToolUse')).toEqual([['tool.used', { tool: 'create', ok: true, files: ['a.md'] }]]);
  expect(drafts({ ...body, toolArgs: '{' }, {}, 'postToolUse')).toEqual([
    ['tool.used', { tool: 'create', ok: true, changes: 'unknown' }],
  ]);
});

describe('SQL statements on todos', () => {
  const plan: Plan = [
    { step: 't1', title: 'One', status: 'pending' },
    { step: 't2', title: 'Two', status: 'in_progress' },
  ];
  const run = (query: string) => {
    const body = { ...recorded('postToolUse.sql'), toolArgs: { query } };
    const [use, ...changes] = drafts(body, { ...registered, plan }, 'postToolUse') as [
      string,
      Record<string, unknown>,
    ][];
    return { unknown: use?.[1].note !== undefined, changes: changes.map(([, data]) => data) };
  };

  test.each([
    [
      "INSERT INTO todos (id, title, status) VALUES ('a', 'It''s; a (b)', 'pending'), ('b', 'B', 'done');",
      [
        { step: 'a', title: "It's; a (b)", status: 'pending' },
        { step: 'b', title: 'B', status: 'done' },
      ],
    ],
    ["insert into \"todos\" (id, title) values ('a', 'A') -- a note", [{ step: 'a', title: 'A', status: 'pending' }]],
    [
      "INSERT OR IGNORE INTO todos (id, title) VALUES ('t1', 'One'), ('t3', 'Three')",
      [{ step: 't3', title: 'Three', status: 'pending' }],
    ],
    [
      "INSERT OR REPLACE INTO todos (id, title, status) VALUES ('t1', 'One', 'done')",
      [{ step: 't1', title: 'One', status: 'done' }],
    ],
    ["UPDATE todos SET status = 'done' WHERE id = 't1'", [{ step: 't1', status: 'done' }]],
    [
      "UPDATE todos SET status='done', updated_at = datetime('now') WHERE id IN ('t1','t2')",
      [
        { step: 't1', status: 'done' },
        { step: 't2', status: 'done' },
      ],
    ],
    [
      "UPDATE todos SET status = 'done'",
      [
        { step: 't1', status: 'done' },
        { step: 't2', status: 'done' },
      ],
    ],
    ["UPDATE todos SET status = 'done' WHERE status = 'in_progress'", [{ step: 't2', status: 'done' }]],
    [
      "UPDATE todos SET title = 'Neu' WHERE id = 't1'; DELETE FROM todos WHERE id = 't2';",
      [
        { step: 't1', title: 'Neu' },
        { step: 't2', status: 'deleted' },
      ],
    ],
    [
      'DELETE FROM todos',
      [
        { step: 't1', status: 'deleted' },
        { step: 't2', status: 'deleted' },
      ],
    ],
    ["SELECT * FROM todos WHERE status = 'done'", []],
    ["INSERT INTO todo_deps (todo_id, depends_on) VALUES ('t1', 't2')", []],
    ["UPDATE notes SET text = 'DELETE FROM todos' WHERE id = 1", []],
    ['CREATE TABLE IF NOT EXISTS todos (id TEXT PRIMARY KEY)', []],
  ])('%s', (query, changes) => {
    expect(run(query)).toEqual({ unknown: false, changes });
  });

  test.each([
    "UPDATE todos SET status = 'done' WHERE id LIKE 't%'",
    "UPDATE todos SET status = CASE WHEN id = 't1' THEN 'done' ELSE status END",
    "UPDATE todos SET status = 'done' WHERE id = 't1' OR title = 'Two'",
    "UPDATE todos SET status = 'do' || 'ne' WHERE id = 't1'",
    "UPDATE todos SET id = 'x' WHERE id = 't1'",
    'INSERT INTO todos SELECT * FROM other',
    "INSERT INTO todos VALUES ('a', 'A', 'pending')",
    'WITH x AS (SELECT 1) DELETE FROM todos WHERE id IN x',
    'DROP TABLE todos',
    "DELETE FROM todos WHERE status != 'done'",
    `UPDATE todos SET status = 'done' WHERE id = 't1' /* ${'x'.repeat(100_000)} */`,
  ])('unreadable, and noted: %.60s', (query) => {
    expect(run(query)).toEqual({ unknown: true, changes: [] });
  });

  test.each([
    ["UPDATE todos SET status = 'done' WHERE id = 't1'", false],
    ["UPDATE todos SET status = 'done'", true],
    ["UPDATE todos SET status = 'done' WHERE status = 'pending'", true],
    ["INSERT OR IGNORE INTO todos (id, title) VALUES ('t1', 'One')", true],
  ])('a sub-agent’s statement must name the steps of its parent: %s', (query, unknown) => {
    const body = { ...recorded('postToolUse.sql.child'), toolArgs: { query } };
    const [use, ...changes] = translate(body, { ...registered, plan }, 'postToolUse').entries;
    expect([use?.id, 'note' in (use?.data ?? {})]).toEqual([child, unknown]);
    expect(changes.map(({ id, data }) => [id, data])).toEqual(
      unknown ? [] : [[parent, { step: 't1', status: 'done' }]],
    );
  });

  test('a failed statement changes nothing', () => {
    const body = { ...recorded('postToolUse.sql'), toolResult: { resultType: 'failure' } };
    expect(drafts(body, {}, 'postToolUse')).toEqual([['tool.used', { tool: 'sql', ok: false }]]);
  });

  // With quadratic time this would take minutes.
  test('a hostile statement is parsed quickly', () => {
    for (const part of ["'", '/* ', '(', "''", '--\n', '/*', 'a,', '"'])
      run(`UPDATE todos SET ${part.repeat(33_000).slice(0, 99_000)}`);
  });
});

test('the end of an escalated session is not stored', () => {
  expect(drafts(recorded('sessionEnd'), { escalated: true }, 'sessionEnd')).toEqual([]);
});
