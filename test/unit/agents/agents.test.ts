/** Behaviour that all agents share. Calls go through the agent's adapter, the hook call handler and the real fold. */
import { describe, expect, test } from 'vitest';
import { agentsWithPauseCommand } from '../../../machines/worker/pause-hint.ts';
import { agents, unknownWorker } from '../../../src/agents/index.ts';
import type { AnswerableDecision } from '../../../src/agents/shared/block-text.ts';
import { readOptions } from '../../../src/hook-command/options.ts';
import { createAgentFleet } from './agent-fleet.ts';
import { type Script, scripts, withChildStop, withPlan, withPromptText, withToolStart } from './scripts.ts';

const never = { checks: [{ rules: ['tests_pass'] }] };
const session = '0b5ab8b1-7f3f-4c39-9a34-3d1b0a7f2c11';

test.each([...agents])('%s: the hook command finds its part by the agent’s name', async (name, agent) => {
  expect(agent.name).toBe(name);
  const options = await readOptions([name, '--http', '127.0.0.1:1', '--worker', 'w'], {}, '/nowhere');
  expect(options.agent).toBe(agent.hookCommand);
});

test.each([...agents.values()])('$name: its settings and doctor load on demand', async ({ settings, doctor }) => {
  const loaded = await settings();
  expect(loaded.setup.forms.length).toBeGreaterThan(0);
  // A script has neither settings nor a doctor.
  expect(doctor === null).toBe(loaded.setup.kind === 'line');
  const nowhere = { cwd: '/nowhere', home: '/nowhere', env: {} };
  expect(doctor === null).toBe(loaded.doctor === undefined);
  expect(doctor === 'dry turn').toBe((loaded.doctor?.find(nowhere).dryTurn ?? null) !== null);
});

// Root cause: event names were looked up in an object literal, which inherits members such as `constructor`.
test('an event named like a member of Object.prototype counts as unknown', () => {
  const call = agents.get('copilot')?.readHook({ sessionId: 's1', hookEventName: 'constructor' }, undefined);
  expect(call?.event).toBe('constructor');
});

test('blocks mention /stopgate off to exactly the agents that read it', () => {
  const readers = scripts.filter(({ agent, script }) => {
    const [body, event] = script.prompt(session, '/stopgate off');
    return agents.get(agent)?.readHook(body, event).translate(unknownWorker).command?.kind === 'pause';
  });
  // A script reads it too, but nobody types into one.
  const names = readers.map(({ agent }) => agent).filter((name) => name !== 'shell');
  expect([...new Set(names)].sort()).toEqual([...agentsWithPauseCommand].sort());
});

test('every agent has its script', () => {
  expect([...new Set(scripts.map(({ agent }) => agent))].sort()).toEqual([...agents.keys()].sort());
});

describe('an agent that makes no progress may stop after three blocks', () => {
  test.each(scripts)(
    '$form: even if the block comes back as a prompt, with tools in between',
    async ({ agent, script }) => {
      const fleet = createAgentFleet(never);
      await fleet.call(agent, ...script.prompt(session, 'say hello'));
      for (let count = 1; count <= 3; count += 1) {
        const text = script.text(await fleet.call(agent, ...script.stop(session)));
        expect(text).toMatch(/^Not done yet: Failed rules: tests_pass\./);
        await fleet.call(agent, ...script.prompt(session, text ?? ''));
        expect(fleet.view(session).retry.count).toBe(count);
        await fleet.call(agent, ...script.tool(session));
      }
      expect(await fleet.call(agent, ...script.stop(session))).toBeNull();
      expect(fleet.causes(session)).toEqual(['incomplete', 'incomplete', 'incomplete', 'capped']);
    },
  );

  test.each(withPromptText)('$form: a person’s prompt resets the retries', async ({ agent, script }) => {
    const fleet = createAgentFleet(never);
    await fleet.call(agent, ...script.stop(session));
    expect(fleet.view(session).retry.count).toBe(1);
    await fleet.call(agent, ...script.prompt(session, 'please look at the lint first'));
    expect(fleet.view(session)).toMatchObject({ state: 'working', retry: { count: 0 } });
  });
});

test.each(withToolStart)(
  '$form: it does not become stale while a tool runs for nine minutes',
  async ({ agent, script }) => {
    const fleet = createAgentFleet(never);
    const minute = 60_000;
    await fleet.call(agent, ...script.toolStart(session));
    fleet.pass(9 * minute);
    expect(fleet.view(session)).toMatchObject({ state: 'working', presence: 'active' });
    await fleet.call(agent, ...script.tool(session));
    fleet.pass(3 * minute);
    expect(fleet.view(session).presence).toBe('stale');
  },
);

test.each(scripts)(
  '$form: a stop that was not judged is allowed, and its answer names the check',
  ({ agent, script }) => {
    const [body, event] = script.stop(session);
    const unjudged = {
      decision: 'allow',
      action: 'continue',
      reason: 'r',
      nextPrompt: null,
      cause: 'unjudged',
      verdicts: [{ guard: 'checks', verdict: 'error', detail: 'tests: not found (exit 127)' }],
    } satisfies AnswerableDecision;
    const answer = agents.get(agent)?.readHook(body, event).answer(unjudged) ?? {};
    const { systemMessage, note, ...others } = answer as { systemMessage?: string; note?: string };
    expect(systemMessage ?? note).toBe(
      'stopgate: this stop was not judged (cause unjudged): tests: not found (exit 127). It is allowed, but its task is not completed.',
    );
    expect(others).toEqual({});
  },
);

test.each(scripts)('$form: an allowed stop shows the warnings of checks', ({ agent, script }) => {
  const [body, event] = script.stop(session);
  const warned = {
    decision: 'allow',
    action: 'complete',
    reason: 'r',
    nextPrompt: null,
    cause: 'complete',
    feedback: [{ check: 'lint', outcome: 'warn', message: '2 warnings', details: {} }],
  } satisfies AnswerableDecision;
  const answer = agents.get(agent)?.readHook(body, event).answer(warned) ?? {};
  const { systemMessage, note } = answer as { systemMessage?: string; note?: string };
  expect(systemMessage ?? note).toBe('stopgate: allowed, with a warning: lint: 2 warnings');
});

describe('each session is a worker', () => {
  test.each(scripts)('$form: two sessions in one folder are separate workers', async ({ agent, script }) => {
    const fleet = createAgentFleet({ checks: [{ plan: {} }, { rules: ['tests_pass'] }] });
    await fleet.call(agent, ...script.stop('session-one'));
    await fleet.call(agent, ...script.stop('session-one'));
    const { idle: _, ...before } = fleet.view('session-one');
    await fleet.call(agent, ...script.prompt('session-two', 'say hello'));
    await fleet.call(agent, ...script.tool('session-two'));
    await fleet.call(agent, ...script.stop('session-two'));
    expect(fleet.view('session-one')).toMatchObject(before);
    expect(fleet.view('session-two').retry.count).toBe(1);
    expect(fleet.workers()).toEqual(['session-one', 'session-two']);
    expect(fleet.view('session-one')).toMatchObject({ agent, cwd: '/workspace/project' });
  });

  test.each(withChildStop)('$form: a sub-agent’s stop is never its parent’s', async ({ agent, script }) => {
    const fleet = createAgentFleet(never);
    await fleet.call(agent, ...script.stop(session));
    const { idle: _, lastSeen: __, background: ___, ...before } = fleet.view(session);
    const text = script.text(await fleet.call(agent, ...script.childStop(session)));
    expect(text).toMatch(/^Not done yet/);
    expect(fleet.view(session)).toMatchObject(before);
    const [child] = fleet.workers().filter((worker) => worker !== session);
    expect(fleet.view(child ?? '')).toMatchObject({ parent: session, state: 'blocked', retry: { count: 1 } });
  });

  test.each(withChildStop)(
    '$form: the stop of a sub-agent without an id is not its parent’s either',
    async ({ agent, script }) => {
      const fleet = createAgentFleet(never);
      await fleet.call(agent, ...script.stop(session));
      const [body, event] = script.childStop(session);
      const nameless = Object.fromEntries(
        Object.entries(body).filter(([key]) => !['agent_id', 'agentId', 'subagent_id'].includes(key)),
      );
      expect(await fleet.call(agent, { ...nameless, transcript_path: null }, event)).toBeNull();
      expect(fleet.view(session).retry.count).toBe(1);
    },
  );

  test.each(withPlan)('$form: its plan decides about its stop', async ({ agent, script }) => {
    const fleet = createAgentFleet({ checks: [{ plan: {} }] });
    await fleet.call(agent, ...script.plan(session, 'Write the tests'));
    expect(script.text(await fleet.call(agent, ...script.stop(session)))).toContain(
      '1 of 1 plan steps remain: Write the tests',
    );
  });
});

describe('what the agent reads', () => {
  const readBlock = async (agent: string, script: Script & Required<Pick<Script, 'plan'>>, title: string) => {
    const fleet = createAgentFleet({ checks: [{ plan: {} }] });
    await fleet.call(agent, ...script.plan(session, title));
    const first = script.text(await fleet.call(agent, ...script.stop(session)));
    const second = script.text(await fleet.call(agent, ...script.stop(session)));
    expect(second, 'the same text for the same state').toBe(first);
    return first ?? '';
  };

  test.each(withPlan)('$form: plain text of at most 2,000 characters', async ({ agent, script }) => {
    const text = await readBlock(agent, script, '\u001b[31mred\u001b[0m\u0007 \u009b2J title');
    expect(text).toContain('red');
    expect(text).not.toMatch(/[^\P{Cc}\n\t]/u);
    expect(text.length).toBeLessThanOrEqual(2_000);
  });

  test.each(scripts)('$form: long feedback is cut in the middle, and secrets are hidden', ({ agent, script }) => {
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
    const [body, event] = script.stop(session);
    const call = agents.get(agent)?.readHook(body, event);
    const text =
      script.text(call?.answer({ decision: 'block', action: 'continue', reason: 'r', nextPrompt: output }) ?? null) ??
      '';
    expect(text.length).toBeLessThanOrEqual(2_000);
    expect(text).toMatch(/^FIRST.*\(cut\).*LAST$/s);
    expect(text).not.toMatch(/abcdefgh|dXNlcj|abcdef0123|correct-horse|hunter2222|ghp_/);
  });
});
