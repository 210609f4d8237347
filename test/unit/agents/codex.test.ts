/** Codex's adapter, tested with calls recorded from 0.169.0. */
import { describe, expect, test } from 'vitest';
import { createAgentFleet } from './agent-fleet.ts';
import { allowed, blocked, draftsOf, heartbeat } from './entry-drafts.ts';
import { recordingsOf } from './recordings/recordings.ts';

const { names, recorded } = recordingsOf('codex');
const { read, translate, drafts } = draftsOf('codex');
const used = (tool: string, call: string) => ['tool.used', { tool, ok: true, call }];
const parent = '01a1fca5-afea-7822-9004-ecb40a63760e';
const childAgent = '01a1fca5-b29d-7310-828f-fd43f08f4038';
const child = `${parent}-${childAgent}`;

const expectations: Record<string, { says: unknown[]; worker?: string; stop?: string }> = {
  PostCompact: { says: [heartbeat] },
  'PostToolUse.create_goal': {
    says: [
      used('create_goal', 'call_fake_1_0'),
      ['step.updated', { step: 'goal', title: 'Write the tests', status: 'in_progress' }],
    ],
  },
  PostToolUse: {
    says: [['tool.used', { tool: 'Bash', ok: true, call: 'call_fake_1_0', command: 'echo hello' }]],
  },
  'PostToolUse.update_goal': {
    says: [
      used('update_goal', 'call_fake_2_0'),
      ['step.updated', { step: 'goal', title: 'Write the tests', status: 'completed' }],
    ],
  },
  PreCompact: { says: [heartbeat] },
  PreToolUse: { says: [['tool.started', { tool: 'Bash', call: 'call_fake_1_0' }]] },
  SessionEnd: { says: [['session.ended', { reason: 'other' }]] },
  SessionStart: {
    says: [['worker.registered', { agent: 'codex', cwd: '/workspace/project', labels: { mode: 'bypassPermissions' } }]],
  },
  Stop: { says: [], stop: 'First attempt to stop.' },
  'Stop.second': { says: [], stop: 'Second attempt to stop.' },
  SubagentStart: {
    says: [
      [
        'worker.registered',
        {
          agent: 'codex',
          cwd: '/workspace/project',
          parent,
          labels: { subagent: 'default', mode: 'bypassPermissions' },
        },
      ],
    ],
    worker: child,
  },
  SubagentStop: { says: [], worker: child, stop: 'child 1' },
  'SubagentStop.second': { says: [], worker: child, stop: 'child 2' },
  UserPromptSubmit: { says: [['prompt.submitted', { text: 'say hello' }]] },
};

describe('each recorded call', () => {
  test.each(Object.entries(expectations))('%s', (name, { says, worker, stop }) => {
    const translation = translate(recorded(name));
    expect(translation.entries.map(({ type, data }) => [type, data])).toEqual(says);
    expect(translation.stop).toEqual(stop === undefined ? null : { stopReason: 'end_turn', output: stop });
    expect(translation.worker).toBe(worker ?? recorded(name).session_id);
  });

  test('every recording is covered', () => {
    expect(Object.keys(expectations).sort()).toEqual([...names].sort());
  });
});

test('a block has exactly two keys, because Codex drops one with any other key', () => {
  const proven = recorded('stop-block') as { stdout: { reason: string } };
  expect(read(recorded('Stop')).answer(blocked(proven.stdout.reason))).toEqual(proven.stdout);
  expect(read(recorded('SubagentStop')).answer(blocked('x'))).toEqual({ decision: 'block', reason: 'x' });
  expect(read(recorded('Stop')).answer(allowed)).toBeNull();
  expect(read(recorded('PostToolUse')).answer(blocked('x'))).toBeNull();
});

test('a compaction does not register the session again', () => {
  expect(drafts({ ...recorded('SessionStart'), source: 'compact' })).toEqual([]);
  expect(drafts({ ...recorded('SessionStart'), source: 'compact' }, { registered: false })).toHaveLength(1);
});

test('a prompt in a sub-agent’s transcript is the sub-agent’s, although it names only the session', () => {
  const path = `/home/user/.codex/sessions/2026/11/21/rollout-2026-11-21T05-48-00-${childAgent}.jsonl`;
  const body = { ...recorded('UserPromptSubmit'), session_id: parent, transcript_path: path };
  expect(translate(body)).toMatchObject({ worker: child, entries: [{ id: child, type: 'prompt.submitted' }] });
  const own = path.replace(childAgent, parent);
  expect(translate({ ...body, transcript_path: own }).worker).toBe(parent);
  expect(translate({ ...body, transcript_path: '/elsewhere/log.jsonl' }).worker).toBe(parent);
});

test('our block comes back in a tag of Codex and is not a person’s prompt', () => {
  const lastDecision = blocked('1 of 1 plan steps remain: goal');
  const prompt = `<hook_prompt hook_run_id="stop:0:/a/very/long/path/of/hooks.json">${lastDecision.reason}</hook_prompt>`;
  expect(drafts({ ...recorded('UserPromptSubmit'), prompt }, { lastDecision })).toEqual([heartbeat]);
  expect(drafts({ ...recorded('UserPromptSubmit'), prompt })).toEqual([
    ['prompt.submitted', { text: prompt, by: 'system' }],
  ]);
});

describe('the plan', () => {
  const goal = (status: string, more: object = {}) =>
    drafts({ ...recorded('PostToolUse.update_goal'), tool_response: { goal: { objective: 'x', status } }, ...more })[1];

  test.each([
    ['active', 'in_progress'],
    ['complete', 'completed'],
    ['blocked', 'blocked'],
    ['paused', 'paused'],
  ])('a goal that is %s is a step %s', (status, step) => {
    expect(goal(status)).toEqual(['step.updated', { step: 'goal', title: 'x', status: step }]);
  });

  test('a response may be a string; one without a goal changes nothing', () => {
    const response = JSON.stringify({ goal: { objective: 'x', status: 'complete' } });
    expect(goal('', { tool_response: response })).toEqual([
      'step.updated',
      { step: 'goal', title: 'x', status: 'completed' },
    ]);
    expect(goal('', { tool_response: 'no goal' })).toBeUndefined();
    expect(goal('', { tool_response: { goal: null } })).toBeUndefined();
  });

  test('update_plan of other versions replaces the whole list', () => {
    const plan = [
      { step: 'a', status: 'completed' },
      { step: 'b', status: 'in_progress' },
    ];
    expect(drafts({ ...recorded('PostToolUse'), tool_name: 'update_plan', tool_input: { plan } })[1]).toEqual([
      'plan.updated',
      {
        steps: [
          { title: 'a', status: 'completed' },
          { title: 'b', status: 'in_progress' },
        ],
      },
    ]);
  });
});

test('a patch names its files', () => {
  const command = [
    '*** Begin Patch',
    '*** Update File: src/a.ts',
    '@@',
    '-*** Add File: no.ts',
    '+x',
    '*** Add File: /workspace/project/b.ts',
    '+y',
    '*** End Patch',
  ].join('\n');
  expect(drafts({ ...recorded('PostToolUse'), tool_name: 'apply_patch', tool_input: { command } })).toEqual([
    ['tool.used', { tool: 'apply_patch', ok: true, call: 'call_fake_1_0', files: ['src/a.ts', 'b.ts'] }],
  ]);
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

describe('events of newer versions', () => {
  const session = { session_id: 's1', cwd: '/work' };
  const event = (name: string, more: object = {}) => ({ ...session, hook_event_name: name, ...more });
  const never = { checks: [{ plan: { required: true } }] };

  test('an interrupt by the user is shown, and gets no answer', async () => {
    const fleet = createAgentFleet(never);
    await fleet.call('codex', event('UserPromptSubmit', { prompt: 'go' }));
    expect(await fleet.call('codex', event('Interrupt', { turn_id: 't1' }))).toBeNull();
    fleet.pass(600_000);
    expect(fleet.view('s1')).toMatchObject({ state: 'stopped', presence: 'interrupted' });
  });

  test('an interrupt after an allowed stop is no other stop; one after a block is', async () => {
    const fleet = createAgentFleet({ ...never, retries: 1 });
    await fleet.call('codex', event('UserPromptSubmit', { prompt: 'go' }));
    await fleet.call('codex', event('Stop'));
    await fleet.call('codex', event('Stop'));
    await fleet.call('codex', event('Interrupt', { turn_id: 't2' }));
    expect(fleet.causes('s1')).toEqual(['incomplete', 'capped']);
    await fleet.call('codex', event('UserPromptSubmit', { prompt: 'go on' }));
    await fleet.call('codex', event('Stop'));
    await fleet.call('codex', event('Interrupt', { turn_id: 't3' }));
    expect(fleet.causes('s1')).toEqual(['incomplete', 'capped', 'incomplete', 'bypassed']);
  });

  test('a turn that ended at a usage limit', async () => {
    const fleet = createAgentFleet(never);
    await fleet.call('codex', event('StopFailure', { error: 'rate_limit', error_details: 'try again in 2h' }));
    expect(fleet.view('s1').presence).toBe('limited');
  });

  test('a goal that the user cleared is no step any more; one that is paused or limited stays open', async () => {
    const fleet = createAgentFleet(never);
    const goal = (tool_name: string, value: object | null) =>
      fleet.call('codex', event('PostToolUse', { tool_name, tool_response: { goal: value } }));
    await goal('create_goal', { objective: 'Ship it', status: 'active' });
    for (const status of ['paused', 'blocked', 'usageLimited', 'budgetLimited']) {
      await goal('get_goal', { objective: 'Ship it', status });
      expect(fleet.view('s1').plan).toMatchObject([{ step: 'goal', status }]);
      await fleet.call('codex', event('Stop'));
      expect(fleet.causes('s1').at(-1)).toMatch(/^(incomplete|capped)$/);
    }
    await goal('get_goal', null);
    expect(fleet.view('s1').plan).toEqual([]);
  });
});
