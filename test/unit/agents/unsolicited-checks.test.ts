/** Answers to agents that did not ask to stop: only if the policy enables them, and only what a probe found. */
import { describe, expect, test } from 'vitest';
import type { Decision } from '../../../machines/index.ts';
import { agents, isReportable, shouldRunCheck } from '../../../src/agents/index.ts';
import { createAgentFleet } from './agent-fleet.ts';
import { recorded } from './recordings/claude.ts';
import { recordingsOf } from './recordings/recordings.ts';

const session = 'session-1';
const call = (name: string, more: object = {}) => ({ ...recorded(name), session_id: session, ...more });
const step = (status: string) =>
  call('PostToolUse.TaskUpdate.completed', { tool_input: { taskId: '1', status }, tool_response: { success: true } });
const plan = { checks: [{ plan: {} }] };
const rules = { checks: [{ plan: {} }, { rules: ['tests_pass'] }] };

describe('a used-up budget', () => {
  const afterTools = [
    { agent: 'claude', tools: call('PostToolBatch') },
    { agent: 'gemini', tools: { hook_event_name: 'AfterTool', session_id: session, cwd: '/', tool_name: 'x' } },
  ];

  test.each(afterTools)('$agent is told once to stop, at the end of its tools', async ({ agent, tools }) => {
    const fleet = createAgentFleet({ ...plan, budget: { time: '10m' } });
    expect(await fleet.call(agent, tools)).toBeNull();
    fleet.pass(600_000);
    expect(await fleet.call(agent, tools)).toEqual({
      continue: false,
      stopReason: expect.stringMatching(
        /^stopgate: The session's budget is used up \(time 10m \ds of 10m\): the stop is not judged\.$/,
      ),
    });
    expect(fleet.causes(session)).toEqual(['bypassed']);
    expect(fleet.view(session)).toMatchObject({ state: 'stopped', budgets: [{ per: 'session', kind: 'time' }] });
  });

  test('the agent waits for a person, and continues when it is resumed', async () => {
    const fleet = createAgentFleet({ ...plan, budget: { time: '10m' }, onBudget: 'escalate' });
    await fleet.call('claude', call('PostToolBatch'));
    fleet.pass(600_000);
    expect(await fleet.call('claude', call('PostToolBatch'))).toMatchObject({ continue: false });
    expect(fleet.view(session)).toMatchObject({
      state: 'escalated',
      escalation: { cause: 'budget', budget: 'session' },
    });
    fleet.resolve(session, 'Ten more minutes.');
    expect(await fleet.call('claude', call('PostToolBatch'))).toBeNull();
    expect(fleet.causes(session)).toEqual(['budget']);
  });

  test('nothing is probed while budget remains', async () => {
    const fleet = createAgentFleet({ ...plan, budget: { time: '10m' } });
    await fleet.call('claude', call('PostToolBatch'));
    expect(fleet.probes()).toBe(0);
  });
});

describe('stopWhenComplete', () => {
  const batch = call('PostToolBatch');

  test('an agent whose work is complete is told to stop at the end of its batch, and its task is completed', async () => {
    const fleet = createAgentFleet({ ...plan, stopWhenComplete: true });
    await fleet.call('claude', step('in_progress'));
    expect(await fleet.call('claude', batch)).toBeNull();
    expect(fleet.view(session)).toMatchObject({ state: 'working', retry: { count: 0 } });
    await fleet.call('claude', step('completed'));
    expect(await fleet.call('claude', batch)).toEqual({
      continue: false,
      stopReason: expect.stringContaining('complete'),
    });
    expect(fleet.view(session)).toMatchObject({ state: 'stopped', lastDecision: { cause: 'complete' } });
    expect(fleet.causes(session)).toEqual(['complete']);
  });

  test('nothing is probed unless the policy enables it, nor after a single tool', async () => {
    const fleet = createAgentFleet(plan);
    await fleet.call('claude', step('completed'));
    expect(await fleet.call('claude', batch)).toBeNull();
    const asked = createAgentFleet({ ...plan, stopWhenComplete: true });
    await asked.call('claude', step('completed'));
    const unchecked = createAgentFleet({ stopWhenComplete: true });
    expect(await unchecked.call('claude', batch)).toBeNull();
    expect([fleet, asked, unchecked].map((it) => it.probes())).toEqual([0, 0, 0]);
  });

  test('reaching a retry limit does not count as complete', async () => {
    const fleet = createAgentFleet({ ...plan, stopWhenComplete: true, retries: 1 });
    await fleet.call('claude', step('in_progress'));
    await fleet.call('claude', call('Stop'));
    expect(await fleet.call('claude', batch)).toBeNull();
    expect(fleet.causes(session)).toEqual(['incomplete']);
  });

  test('a policy assigned to the agent applies from its first call', async () => {
    const assign = [{ agent: 'claude', policy: 'strict' }];
    const policies = { default: {}, strict: { ...plan, stopWhenComplete: true } };
    const fleet = createAgentFleet({}, { policies, assign });
    expect(await fleet.call('claude', batch)).toMatchObject({ continue: false });
  });

  test('Gemini has no event for batches: it is checked after a tool, at most every 2 s', async () => {
    const gemini = recordingsOf('gemini').recorded;
    const fleet = createAgentFleet({ ...plan, stopWhenComplete: true });
    const tool = (status: string) =>
      fleet.call('gemini', {
        ...gemini('AfterTool.write_todos'),
        tool_input: { todos: [{ description: 'a', status }] },
      });
    expect(await tool('pending')).toBeNull();
    expect(await tool('completed')).toBeNull();
    expect(fleet.probes()).toBe(1);
    fleet.wait(2_000);
    expect(await tool('completed')).toEqual({ continue: false, stopReason: expect.stringContaining('complete') });
    expect(fleet.probes()).toBe(2);
  });
});

describe('a check’s findings after a batch', () => {
  const batch = call('PostToolBatch');
  const validated = { checks: [{ command: 'validate' }], stopWhenComplete: true, retries: 2 };
  const fails = (feedback: unknown) => ({ outcome: 'fail', reason: 'Command validate failed (exit 1)', feedback });
  const difference = (text: string) => ({
    hookSpecificOutput: { hookEventName: 'PostToolBatch', additionalContext: expect.stringContaining(text) },
  });
  const stop = { continue: false, stopReason: expect.stringContaining('complete') };

  test('are reported once until they change, and count no retry', async () => {
    const fleet = createAgentFleet(validated);
    fleet.find('validate', fails({ missing: ['claim', 'evidence'] }));
    expect(await fleet.call('claude', batch)).toEqual({
      hookSpecificOutput: {
        hookEventName: 'PostToolBatch',
        additionalContext: expect.stringMatching(
          /^stopgate has checked the work after these tools\. Not done yet: Command validate failed.*"claim",\s+"evidence"/s,
        ),
      },
    });
    expect(await fleet.call('claude', batch)).toBeNull();
    fleet.find('validate', fails({ missing: ['evidence'] }));
    expect(await fleet.call('claude', batch)).toEqual(difference('"evidence"'));
    expect(await fleet.call('claude', batch)).toBeNull();
    expect(fleet.view(session)).toMatchObject({ retry: { count: 0 }, lastDecision: null });
    fleet.find('validate', { outcome: 'pass' });
    expect(await fleet.call('claude', batch)).toEqual(stop);
  });

  test('are reported again after a pass, but not because a run took longer or could not be judged', async () => {
    const fleet = createAgentFleet({ ...validated, checks: [{ command: 'validate' }, { plan: {} }] });
    await fleet.call('claude', step('in_progress'));
    fleet.find('validate', fails('2 of 9 tests fail. Duration 1.24 s, at 12:00:01'));
    expect(await fleet.call('claude', batch)).toEqual(difference('2 of 9'));
    fleet.find('validate', fails('2 of 9 tests fail. Duration 3 s, at 12:00:47'));
    expect(await fleet.call('claude', batch)).toBeNull();
    fleet.find('validate', { outcome: 'error', reason: 'gone' });
    expect(await fleet.call('claude', batch), 'the plan is still open').toBeNull();
    fleet.find('validate', fails('2 of 9 tests fail. Duration 3 s, at 12:00:47'));
    expect(await fleet.call('claude', batch)).toBeNull();
    fleet.find('validate', { outcome: 'pass' });
    expect(await fleet.call('claude', batch)).toBeNull();
    fleet.find('validate', fails('2 of 9 tests fail. Duration 3 s, at 12:00:47'));
    expect(await fleet.call('claude', batch)).toEqual(difference('2 of 9'));
  });

  test('are not repeated after a block that reported them; every post of one call gets them', async () => {
    const fleet = createAgentFleet(validated);
    fleet.find('validate', fails('line 1'));
    expect(await fleet.call('claude', call('Stop'))).toMatchObject({ hookSpecificOutput: { hookEventName: 'Stop' } });
    expect(await fleet.call('claude', batch)).toBeNull();
    fleet.find('validate', fails('line 2'));
    for (let post = 0; post < 2; post += 1)
      expect(await fleet.call('claude', batch, undefined, { key: 'c1' })).toEqual(difference('line 2'));
    expect(await fleet.call('claude', batch, undefined, { key: 'c2' })).toBeNull();
  });

  test('are reported per worker, so also to a sub-agent', async () => {
    const fleet = createAgentFleet(validated);
    fleet.find('validate', fails('line 1'));
    const child = { agent_id: 'a1', agent_type: 'Explore' };
    for (const more of [{}, child])
      expect(await fleet.call('claude', { ...batch, ...more })).toEqual(difference('line 1'));
    for (const more of [{}, child]) expect(await fleet.call('claude', { ...batch, ...more })).toBeNull();
  });

  test.each([
    ['an open plan', { checks: [{ plan: {} }] }],
    ['a rule that nobody reported', { checks: [{ rules: ['lint'] }] }],
    ['a command that the agent has not run', { checks: [{ ran: 'npm test' }] }],
    ['a check that could not be judged', { checks: [{ command: 'lost' }] }],
    ['one that could not be judged and blocks', { checks: [{ command: 'lost', onError: 'block' }] }],
    ['a warning', { checks: [{ command: 'validate', onFail: 'warn' }, { plan: {} }] }],
    ['what the policy lets go', { checks: [{ command: 'validate' }], retries: 0 }],
  ])('%s is not reported', async (_what, policy) => {
    const fleet = createAgentFleet({ stopWhenComplete: true, ...policy });
    fleet.find('validate', fails('line 1'));
    fleet.find('lost', { outcome: 'error', reason: 'exit 127' });
    await fleet.call('claude', step('in_progress'));
    expect(await fleet.call('claude', batch)).toBeNull();
    expect(fleet.probes()).toBe(1);
  });

  test('a task hook that waits for a promise is not reported; a member of a group is', async () => {
    const hooked = createAgentFleet({ ...validated, checks: [{ command: 'validate' }] });
    hooked.fold('task.T-1.hook.registered', { hook: 'validate', type: 'promise' });
    hooked.fold(`worker.${session}.task.claimed`, { task: 'T-1' });
    expect(await hooked.call('claude', batch)).toBeNull();
    const grouped = createAgentFleet({ ...validated, checks: [{ all: [{ command: 'validate' }, { plan: {} }] }] });
    grouped.find('validate', fails('line 1'));
    expect(await grouped.call('claude', batch)).toEqual(difference('line 1'));
  });

  test('reach Gemini with the result of a tool', async () => {
    const fleet = createAgentFleet(validated);
    fleet.find('validate', fails('line 1'));
    const tool = recordingsOf('gemini').recorded('AfterTool');
    expect(await fleet.call('gemini', tool)).toEqual({
      hookSpecificOutput: { hookEventName: 'AfterTool', additionalContext: expect.stringContaining('line 1') },
    });
    fleet.wait(2_000);
    expect(await fleet.call('gemini', tool)).toBeNull();
  });
});

describe('steps: gate', () => {
  const completed = call('TaskCompleted');

  test('a step cannot be marked as done while a check other than plan fails', async () => {
    const fleet = createAgentFleet({ ...rules, steps: 'gate' });
    await fleet.call('claude', step('in_progress'));
    expect(await fleet.call('claude', completed)).toEqual({
      decision: 'block',
      reason: expect.stringMatching(/^The step is not marked as done\. Not done yet: Failed rules: tests_pass\./),
    });
    expect(fleet.view(session)).toMatchObject({ retry: { count: 0 }, plan: [{ status: 'in_progress' }] });
  });

  test('open steps, retry limits, background work and task hooks do not matter', async () => {
    const open = createAgentFleet({ ...plan, steps: 'gate' });
    await open.call('claude', step('in_progress'));
    expect(await open.call('claude', completed)).toBeNull();
    const capped = createAgentFleet({ ...rules, steps: 'gate', retries: 0 });
    await capped.call('claude', step('in_progress'));
    await capped.call('claude', call('Stop.background-running'));
    expect(await capped.call('claude', completed)).toMatchObject({ decision: 'block' });
  });

  test('without it, steps are not checked and nothing is probed', async () => {
    const fleet = createAgentFleet(rules);
    expect(await fleet.call('claude', completed)).toBeNull();
    expect(fleet.probes()).toBe(0);
  });
});

describe('structured output', () => {
  const before = call('PreToolUse', { tool_name: 'StructuredOutput', tool_input: { answer: 1 } });
  const output = call('PostToolUse', { tool_name: 'StructuredOutput', tool_input: { answer: 1 } });

  test('is answered with what is still missing, if the policy has checks', async () => {
    const fleet = createAgentFleet(plan);
    await fleet.call('claude', step('in_progress'));
    expect(await fleet.call('claude', output)).toEqual({
      hookSpecificOutput: {
        hookEventName: 'PostToolUse',
        additionalContext: expect.stringContaining('1 of 1 plan steps remain'),
      },
    });
    await fleet.call('claude', step('completed'));
    expect(await fleet.call('claude', output)).toBeNull();
    expect(fleet.causes(session)).toEqual([]);
    const unchecked = createAgentFleet({});
    expect(await unchecked.call('claude', output)).toBeNull();
    expect(unchecked.probes()).toBe(0);
  });

  test('is answered with what a hook of a held task lacks, even under a policy without checks', async () => {
    const fleet = createAgentFleet({});
    fleet.fold('task.T-1.hook.registered', { hook: 'h1', type: 'promise' });
    fleet.fold(`worker.${session}.task.claimed`, { task: 'T-1' });
    const lacks = {
      hookSpecificOutput: {
        hookEventName: 'PostToolUse',
        additionalContext: expect.stringContaining('end your answer with <promise>COMPLETE</promise>'),
      },
    };
    expect(await fleet.call('claude', output)).toEqual(lacks);
    fleet.fold('task.T-1.hook.disabled', { hook: 'h1' });
    const probes = fleet.probes();
    expect(await fleet.call('claude', output)).toBeNull();
    expect(fleet.probes(), 'no hook is enabled').toBe(probes);
  });

  test('is a stop attempt before it is accepted, and refused up to three times', async () => {
    const fleet = createAgentFleet(plan);
    await fleet.call('claude', step('in_progress'));
    const refused = {
      hookSpecificOutput: {
        hookEventName: 'PreToolUse',
        permissionDecision: 'deny',
        permissionDecisionReason: expect.stringContaining('1 of 1 plan steps remain'),
      },
    };
    for (const answer of [refused, refused, refused, null]) expect(await fleet.call('claude', before)).toEqual(answer);
    expect(fleet.causes(session)).toEqual(['incomplete', 'incomplete', 'incomplete', 'capped']);
    expect(await fleet.call('claude', output), 'it has just been let through').toBeNull();
  });
});

test.each([
  ['complete', { stopWhenComplete: true }, true],
  ['complete', {}, false],
  ['complete-throttled', { stopWhenComplete: true }, true],
  ['step', { steps: 'gate' }, true],
  ['step', { stopWhenComplete: true }, false],
  ['output', {}, true],
  ['output', { checks: 0 }, false],
  ['complete', { stopWhenComplete: true, checks: 0 }, false],
] as const)('the check %s is wanted by %j: %s', (check, more, wanted) => {
  const rules = { stopWhenComplete: false, steps: 'free', checks: 1, askMs: null, ...more } as const;
  expect(shouldRunCheck(check, { rules }, () => ({ hasHooks: false }))).toBe(wanted);
});

test.each([
  ['complete', { decision: 'allow', cause: 'complete' }, true],
  ['complete', { decision: 'allow', cause: 'no-policy' }, false],
  ['complete', { decision: 'allow', cause: 'waiting' }, false],
  ['complete', { decision: 'allow', cause: 'unjudged' }, false],
  ['step', { decision: 'allow', cause: 'unjudged' }, true],
  ['output', { decision: 'allow', cause: 'unjudged' }, false],
  ['step', { decision: 'block', cause: 'incomplete' }, true],
  ['output', { decision: 'block', cause: 'pending-tasks' }, false],
] as const)('for the check %s %j is news: %s', (check, decision, news) => {
  expect(isReportable(check, decision as Pick<Decision, 'decision' | 'cause'>)).toBe(news);
});

test('a sub-agent’s own call is checked for the sub-agent', () => {
  const read = agents.get('claude')?.readHook;
  expect(read?.({ ...recorded('PostToolBatch'), agent_id: 'a1', agent_type: 'Explore' }).worker).toMatch(/-a1$/);
});

test('the resolution of an escalation is delivered once, with the next prompt', async () => {
  const fleet = createAgentFleet({ ...rules, retries: 0, onCap: 'escalate' });
  const prompt = call('UserPromptSubmit', { prompt: 'go on' });
  await fleet.call('claude', call('Stop'));
  fleet.resolve(session, 'Use the other key');
  expect(await fleet.call('claude', prompt)).toEqual({
    hookSpecificOutput: { hookEventName: 'UserPromptSubmit', additionalContext: expect.stringContaining('other key') },
  });
  expect(await fleet.call('claude', prompt)).toBeNull();
});

test('an escalated session stays escalated when its agent ends, as a headless one does immediately', async () => {
  const fleet = createAgentFleet({ ...rules, retries: 0, onCap: 'escalate' });
  await fleet.call('claude', call('Stop'));
  await fleet.call('claude', call('SessionEnd'));
  expect(fleet.view(session)).toMatchObject({ state: 'escalated', escalation: { cause: 'capped' } });
  fleet.resolve(session, 'Use the other key');
  await fleet.call('claude', call('SessionEnd'));
  expect(fleet.view(session)).toMatchObject({ state: 'stopped' });
});
