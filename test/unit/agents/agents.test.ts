/** What holds for every agent alike: its calls through its adapter, the hook call handler and the real fold. */
import { describe, expect, test } from 'vitest';
import { agents } from '../../../src/agents/index.ts';
import { AppError } from '../../../src/errors.ts';
import { type AgentFleet, createAgentFleet } from './agent-fleet.ts';
import { type Recording, recordingsOf } from './recordings/recordings.ts';

type Call = readonly [body: object, event?: string];
type Lines = {
  /** How it is told to go on: the words in the answer to its stop. */
  readonly words: (answer: object | null) => string | undefined;
  readonly prompt: (session: string, text: string) => Call;
  readonly tool: (session: string) => Call;
  readonly stop: (session: string) => Call;
  /** A sub-agent's wish to stop, as a call within the session of its parent. */
  readonly childStop?: (session: string) => Call;
  /** A step that is planned and not done. */
  readonly plan?: (session: string, title: string) => Call;
};

const reasonOf = (answer: object | null) => (answer as { reason?: string } | null)?.reason;
const claude = recordingsOf('claude').recorded;
const codex = recordingsOf('codex').recorded;
const gemini = recordingsOf('gemini').recorded;
const copilot = recordingsOf('copilot').recorded;
const opencode = recordingsOf('opencode').recorded;

const scripts: Record<string, Lines> = {
  claude: {
    words: reasonOf,
    prompt: (session_id, prompt) => [{ ...claude('UserPromptSubmit'), session_id, prompt }],
    tool: (session_id) => [{ ...claude('PostToolUse'), session_id }],
    stop: (session_id) => [{ ...claude('Stop'), session_id }],
    childStop: (session_id) => [{ ...claude('SubagentStop'), session_id }],
    plan: (session_id, subject) => [
      {
        ...claude('PostToolUse.TaskCreate'),
        ...{ session_id, tool_input: { subject }, tool_response: { task: { id: '1', subject } } },
      },
    ],
  },
  codex: {
    words: reasonOf,
    prompt: (session_id, prompt) => [{ ...codex('UserPromptSubmit'), session_id, prompt, transcript_path: null }],
    tool: (session_id) => [{ ...codex('PostToolUse'), session_id, transcript_path: null }],
    stop: (session_id) => [{ ...codex('Stop'), session_id, transcript_path: null }],
    childStop: (session_id) => [{ ...codex('SubagentStop'), session_id }],
    plan: (session_id, objective) => [
      {
        ...codex('PostToolUse.create_goal'),
        ...{ session_id, transcript_path: null, tool_response: { goal: { objective, status: 'active' } } },
      },
    ],
  },
  gemini: {
    words: reasonOf,
    prompt: (session_id, prompt) => [{ ...gemini('BeforeAgent'), session_id, prompt }],
    tool: (session_id) => [{ ...gemini('AfterTool'), session_id }],
    stop: (session_id) => [{ ...gemini('AfterAgent.second'), session_id }],
    plan: (session_id, description) => [
      {
        ...gemini('AfterTool.write_todos'),
        ...{ session_id, tool_input: { todos: [{ description, status: 'pending' }] } },
      },
    ],
  },
  copilot: {
    words: reasonOf,
    prompt: (sessionId, prompt) => [{ ...copilot('userPromptSubmitted'), sessionId, prompt }, 'userPromptSubmitted'],
    tool: (sessionId) => [{ ...copilot('postToolUse'), sessionId }, 'postToolUse'],
    stop: (sessionId) => [{ ...copilot('agentStop.second'), sessionId }, 'agentStop'],
    childStop: (sessionId) => [{ ...copilot('subagentStop'), sessionId, parentAgentId: sessionId }, 'subagentStop'],
    plan: (sessionId, title) => [
      {
        ...copilot('postToolUse.sql'),
        ...{ sessionId, toolArgs: { query: `INSERT INTO todos (id, title) VALUES ('t1', '${title}')` } },
      },
      'postToolUse',
    ],
  },
  'copilot in PascalCase': {
    words: reasonOf,
    prompt: (session_id, prompt) => [
      { hook_event_name: 'UserPromptSubmit', session_id, cwd: '/workspace/project', prompt },
    ],
    tool: (session_id) => [
      { hook_event_name: 'PostToolUse', session_id, cwd: '/workspace/project', tool_name: 'bash' },
    ],
    stop: (session_id) => [{ ...copilot('Stop.pascal-case.second'), session_id }],
  },
  cursor: {
    words: (answer) => (answer as { followup_message?: string } | null)?.followup_message,
    prompt: (conversation_id, prompt) => [
      { hook_event_name: 'beforeSubmitPrompt', conversation_id, workspace_roots: ['/workspace/project'], prompt },
    ],
    tool: (conversation_id) => [
      { hook_event_name: 'postToolUse', conversation_id, workspace_roots: ['/workspace/project'], tool_name: 'Shell' },
    ],
    stop: (conversation_id) => [
      { hook_event_name: 'stop', conversation_id, workspace_roots: ['/workspace/project'], status: 'completed' },
    ],
    childStop: (conversation_id) => [
      { hook_event_name: 'subagentStop', conversation_id, subagent_id: 's1', status: 'completed' },
    ],
  },
  opencode: {
    words: reasonOf,
    prompt: (sessionID, text) => [
      { input: { sessionID }, output: { parts: [{ type: 'text', text }] }, directory: '/workspace/project' },
      'chat.message',
    ],
    tool: (sessionID) => [
      { input: { sessionID, tool: 'bash' }, output: {}, directory: '/workspace/project' },
      'tool.execute.after',
    ],
    stop: (sessionID) => [{ ...opencode('session.idle'), properties: { sessionID }, directory: '/workspace/project' }],
    plan: (sessionID, content) => [
      { type: 'todo.updated', properties: { sessionID, todos: [{ content, status: 'pending' }] } },
    ],
  },
  shell: {
    words: reasonOf,
    prompt: (worker, text) => [{ worker, event: 'prompt', text, cwd: '/workspace/project' }],
    tool: (worker) => [{ worker, event: 'tool', cwd: '/workspace/project' }],
    stop: (worker) => [{ worker, cwd: '/workspace/project' }],
    plan: (worker, title) => [{ worker, event: 'plan', steps: [{ title, status: 'pending' }] }],
  },
};
const nameOf = (script: string) => script.split(' ')[0] as string;
const cases = Object.entries(scripts).map(([script, lines]) => ({ script, agent: nameOf(script), lines }));
const planned = cases.flatMap(({ lines: { plan, ...lines }, ...rest }) =>
  plan ? [{ ...rest, lines: { ...lines, plan } }] : [],
);
const parents = cases.flatMap(({ lines: { childStop, ...lines }, ...rest }) =>
  childStop ? [{ ...rest, lines: { ...lines, childStop } }] : [],
);
const never = { checks: [{ rules: ['tests_pass'] }] };
const session = '0b5ab8b1-7f3f-4c39-9a34-3d1b0a7f2c11';

test.each([...agents])('%s: the hook command loads its part by the name of its folder', async (name, agent) => {
  const { hookCommand } = await import(`../../../src/agents/${name}/hook-command.ts`);
  expect(agent.name).toBe(name);
  expect(agent.hookCommand).toBe(hookCommand);
});

test('every agent has its script here', () => {
  expect([...new Set(cases.map(({ agent }) => agent))].sort()).toEqual([...agents.keys()].sort());
});

describe('an agent that never gets anywhere is let go after three blocks', () => {
  test.each(cases)('$script: by words that come back as a prompt, and tools between', async ({ agent, lines }) => {
    const fleet = createAgentFleet(never);
    await fleet.call(agent, ...lines.prompt(session, 'say hello'));
    for (let count = 1; count <= 3; count += 1) {
      const words = lines.words(await fleet.call(agent, ...lines.stop(session)));
      expect(words).toMatch(/^Not done yet: Failed rules: tests_pass\./);
      await fleet.call(agent, ...lines.prompt(session, words ?? ''));
      expect(fleet.view(session).retry.count).toBe(count);
      await fleet.call(agent, ...lines.tool(session));
    }
    expect(await fleet.call(agent, ...lines.stop(session))).toBeNull();
    expect(fleet.causes(session)).toEqual(['incomplete', 'incomplete', 'incomplete', 'capped']);
  });

  test.each(cases)('$script: a person’s word begins anew', async ({ agent, lines }) => {
    const fleet = createAgentFleet(never);
    await fleet.call(agent, ...lines.stop(session));
    expect(fleet.view(session).retry.count).toBe(1);
    await fleet.call(agent, ...lines.prompt(session, 'please look at the lint first'));
    expect(fleet.view(session)).toMatchObject({ state: 'working', retry: { count: 0 } });
  });
});

describe('a session is a worker', () => {
  test.each(cases)('$script: two in one folder stay apart', async ({ agent, lines }) => {
    const fleet = createAgentFleet({ checks: [{ plan: {} }, { rules: ['tests_pass'] }] });
    await fleet.call(agent, ...lines.stop('session-one'));
    await fleet.call(agent, ...lines.stop('session-one'));
    const { idle: _, ...before } = fleet.view('session-one');
    await fleet.call(agent, ...lines.prompt('session-two', 'say hello'));
    await fleet.call(agent, ...lines.tool('session-two'));
    await fleet.call(agent, ...lines.stop('session-two'));
    expect(fleet.view('session-one')).toMatchObject(before);
    expect(fleet.view('session-two').retry.count).toBe(1);
    expect(fleet.workers()).toEqual(['session-one', 'session-two']);
    expect(fleet.view('session-one')).toMatchObject({ agent, cwd: '/workspace/project' });
  });

  test.each(parents)('$script: a sub-agent’s stop is never its parent’s', async ({ agent, lines }) => {
    const fleet = createAgentFleet(never);
    await fleet.call(agent, ...lines.stop(session));
    const { idle: _, lastSeen: __, background: ___, ...before } = fleet.view(session);
    const words = lines.words(await fleet.call(agent, ...lines.childStop(session)));
    expect(words).toMatch(/^Not done yet/);
    expect(fleet.view(session)).toMatchObject(before);
    const [child] = fleet.workers().filter((worker) => worker !== session);
    expect(fleet.view(child ?? '')).toMatchObject({ parent: session, state: 'blocked', retry: { count: 1 } });
  });

  test.each(parents)('$script: nor is one that does not say which it is', async ({ agent, lines }) => {
    const fleet = createAgentFleet(never);
    await fleet.call(agent, ...lines.stop(session));
    const [body, event] = lines.childStop(session);
    const nameless = Object.fromEntries(
      Object.entries(body).filter(([key]) => !['agent_id', 'agentId', 'subagent_id'].includes(key)),
    );
    expect(await fleet.call(agent, { ...nameless, transcript_path: null }, event)).toBeNull();
    expect(fleet.view(session).retry.count).toBe(1);
  });

  test.each(planned)('$script: its plan decides', async ({ agent, lines }) => {
    const fleet = createAgentFleet({ checks: [{ plan: {} }] });
    await fleet.call(agent, ...lines.plan(session, 'Write the tests'));
    expect(lines.words(await fleet.call(agent, ...lines.stop(session)))).toContain(
      '1 of 1 plan steps remain: Write the tests',
    );
  });
});

describe('what the agent reads', () => {
  const told = async (agent: string, lines: Lines & Required<Pick<Lines, 'plan'>>, title: string) => {
    const fleet = createAgentFleet({ checks: [{ plan: {} }] });
    await fleet.call(agent, ...lines.plan(session, title));
    const first = lines.words(await fleet.call(agent, ...lines.stop(session)));
    const second = lines.words(await fleet.call(agent, ...lines.stop(session)));
    expect(second, 'the same words for the same state').toBe(first);
    return first ?? '';
  };

  test.each(planned)('$script: plain words of 2,000 characters at most', async ({ agent, lines }) => {
    const words = await told(agent, lines, '\u001b[31mred\u001b[0m\u0007 \u009b2J title');
    expect(words).toContain('red');
    expect(words).not.toMatch(/[^\P{Cc}\n\t]/u);
    expect(words.length).toBeLessThanOrEqual(2_000);
  });

  test.each(cases)('$script: feedback is cut in its middle, and no secret is in it', ({ agent, lines }) => {
    const output = [
      'FIRST',
      'Authorization: Bearer abcdefghijklmnopqrstuvwxyz0123',
      'curl -H "authorization: Basic dXNlcjpwYXNzd29yZA=="',
      'OPENAI_API_KEY=abcdef0123456789',
      '{"password": "correct-horse"}',
      'postgres://app:hunter2222@db/x',
      'token ghp_abcdefghijklmnopqrstuvwxyz0123456789',
      'x'.repeat(5_000),
      'LAST',
    ].join('\n');
    const [body, event] = lines.stop(session);
    const call = agents.get(agent)?.readHook(body, event);
    const words =
      lines.words(call?.answer({ decision: 'block', action: 'continue', reason: 'r', nextPrompt: output }) ?? null) ??
      '';
    expect(words.length).toBeLessThanOrEqual(2_000);
    expect(words).toMatch(/^FIRST.*\(cut\).*LAST$/s);
    expect(words).not.toMatch(/abcdefgh|dXNlcj|abcdef0123|correct-horse|hunter2222|ghp_/);
  });
});

const recorded: { agent: string; name: string; body: Recording; event: string }[] = [
  'claude',
  'codex',
  'gemini',
  'copilot',
  'opencode',
].flatMap((agent) => {
  const { names, recorded: read } = recordingsOf(agent);
  return names.map((name) => {
    const own = agent === 'opencode' ? name.replace(/\.child$/, '') : (name.split('.')[0] ?? '');
    return { agent, name, body: read(name), event: own };
  });
});

const long = '€"'.repeat(40_000);

/** The same body with one field, at any depth, left out, renamed or of another type. */
function* damaged(body: unknown): Generator<unknown> {
  if (typeof body !== 'object' || body === null) return;
  for (const [key, value] of Object.entries(body)) {
    const with_ = (other: unknown) => (Array.isArray(body) ? body.with(Number(key), other) : { ...body, [key]: other });
    const { [key]: _, ...rest } = body as Record<string, unknown>;
    if (!Array.isArray(body)) yield* [rest, { ...rest, [`${key}_renamed`]: value }];
    for (const other of [null, 7, true, 'text', '', [], [null], {}, { a: { b: 1 } }, '\ud800 \u0000', long])
      yield with_(other);
    for (const inner of damaged(value)) yield with_(inner);
  }
}

describe('bad input', () => {
  /** Passes, or is refused as a bad call; never another error, and never an entry that does not fit. */
  const survives = async (fleet: AgentFleet, agent: string, body: object, event?: string) => {
    try {
      await fleet.call(agent, body, event);
      return true;
    } catch (error) {
      expect(error, JSON.stringify(body).slice(0, 300)).toBeInstanceOf(AppError);
      expect((error as AppError).code).toBe('input.bad');
      expect((error as AppError).message, 'it is the call that is bad, not an entry of ours').toMatch(
        /^this is no hook call/,
      );
      return false;
    }
  };

  test.each(recorded)(
    '$agent $name with any field left out, renamed or of another type',
    async ({ agent, body, event }) => {
      const fleet = createAgentFleet({ checks: [{ plan: {} }], stopWhenComplete: true, steps: 'gate' });
      let passed = 0;
      let all = 0;
      for (const bad of damaged(body)) {
        passed += (await survives(fleet, agent, bad as object, event)) ? 1 : 0;
        all += 1;
      }
      // Only whose call it is cannot be done without.
      expect(passed).toBeGreaterThan(all * 0.4);
      expect(passed).toBeLessThan(all);
    },
  );

  // A shell's events are our own words, so a wrong one is told.
  const others = cases.filter(({ agent }) => agent !== 'shell');
  test.each(others)('$script: an event that we do not know is a sign of life', async ({ agent, lines }) => {
    const fleet = createAgentFleet(never);
    await fleet.call(agent, ...lines.tool(session));
    const [body, event] = lines.tool(session);
    const named = event === undefined ? { ...body, hook_event_name: 'SomethingNew' } : body;
    expect(await fleet.call(agent, named, 'somethingNew')).toBeNull();
    expect(fleet.entries.at(-1)).toMatchObject({ id: session, type: 'heartbeat.sent' });
  });

  test.each(cases)('$script: fields of a newer version are passed over', async ({ agent, lines }) => {
    const fleet = createAgentFleet(never);
    const [body, event] = lines.stop(session);
    const newer = { ...body, version: '99.0.0', hook_schema: { v: 9 }, new_list: [{}] };
    expect(lines.words(await fleet.call(agent, newer, event))).toMatch(/^Not done yet/);
  });

  test.each(recorded.filter(({ body }) => 'tool_response' in body || 'toolResult' in body || 'output' in body))(
    '$agent $name with 10 MB of tool output',
    async ({ agent, body, event }) => {
      const fleet = createAgentFleet(never);
      const large = 'x'.repeat(10_000_000);
      for (const key of ['tool_response', 'toolResult', 'output']) {
        if (!(key in body)) continue;
        await fleet.call(
          agent,
          { ...body, [key]: { ...(body[key] as object), output: large, textResultForLlm: large } },
          event,
        );
      }
      expect(fleet.entries.length).toBeGreaterThan(0);
    },
  );

  test.each(cases)('$script: no session, no event, no object', async ({ agent, lines }) => {
    const fleet = createAgentFleet(never);
    for (const body of [{}, [] as object, { session_id: '', worker: '' }, lines])
      expect(await survives(fleet, agent, body)).toBe(false);
    expect(fleet.entries).toEqual([]);
  });
});
