/**
 * Damaged calls, huge calls and calls of other versions never break an adapter or lead to an entry that is too large.
 */
import { describe, expect, test } from 'vitest';
import { tableRows } from '../../../src/agents/table/rows.ts';
import { AppError } from '../../../src/errors.ts';
import { sample, takesAll } from '../../support/random.ts';
import { type AgentFleet, createAgentFleet } from './agent-fleet.ts';
import { type Recording, recordingsOf } from './recordings/recordings.ts';
import { scripts } from './scripts.ts';

const never = { checks: [{ rules: ['tests_pass'] }] };
const session = '0b5ab8b1-7f3f-4c39-9a34-3d1b0a7f2c11';

const recorded: { agent: string; name: string; body: Recording; event: string }[] = [
  'claude',
  'codex',
  'gemini',
  'copilot',
  'qwen',
  'opencode',
].flatMap((agent) => {
  const { names, recorded: read } = recordingsOf(agent);
  return names.map((name) => {
    const own = agent === 'opencode' ? name.replace(/\.child$/, '') : (name.split('.')[0] ?? '');
    return { agent, name, body: read(name), event: own };
  });
});

const long = '€"'.repeat(40_000);

/** Variants of a body with one field, at any depth, missing, renamed or of another type. */
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
  /** Returns false for a call that is refused as bad. Fails on any other error and on an entry that is too large. */
  const survives = async (fleet: AgentFleet, agent: string, body: object, event?: string) => {
    try {
      await fleet.call(agent, body, event);
      return true;
    } catch (error) {
      expect(error, JSON.stringify(body).slice(0, 300)).toBeInstanceOf(AppError);
      expect((error as AppError).code).toBe('input.bad');
      expect((error as AppError).message, 'the call is bad, not an entry of ours').toMatch(/^this is not a hook call/);
      return false;
    }
  };

  test.each(recorded)(
    '$agent $name with any field missing, renamed or of another type',
    async ({ agent, name, body, event }) => {
      const fleet = createAgentFleet({ checks: [{ plan: {} }], stopWhenComplete: true, steps: 'gate' });
      const bodies = sample(damaged(body), 16, `${agent} ${name}`);
      let passed = 0;
      for (const bad of bodies) passed += (await survives(fleet, agent, bad as object, event)) ? 1 : 0;
      if (!takesAll) return;
      // Only the fields that name the worker and the event are required.
      expect(passed).toBeGreaterThan(bodies.length * 0.4);
      expect(passed).toBeLessThan(bodies.length);
    },
  );

  // For scripts, whose events are our own contract, an unknown event is an error. The agents of the table also get an
  // answer that says so (table.test.ts).
  const inTable = new Set(tableRows.map(({ name }) => name));
  const others = scripts.filter(({ agent }) => agent !== 'shell' && !inTable.has(agent));
  test.each(others)('$form: an unknown event is a heartbeat', async ({ agent, script }) => {
    const fleet = createAgentFleet(never);
    await fleet.call(agent, ...script.tool(session));
    const [body, event] = script.tool(session);
    const named = event === undefined ? { ...body, hook_event_name: 'SomethingNew' } : body;
    expect(await fleet.call(agent, named, 'somethingNew')).toBeNull();
    expect(fleet.entries.at(-1)).toMatchObject({ id: session, type: 'heartbeat.sent' });
  });

  test.each(scripts)('$form: fields of a newer version are ignored', async ({ agent, script }) => {
    const fleet = createAgentFleet(never);
    const [body, event] = script.stop(session);
    const newer = { ...body, version: '99.0.0', hook_schema: { v: 9 }, new_list: [{}] };
    expect(script.text(await fleet.call(agent, newer, event))).toMatch(/^Not done yet/);
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

  test.each(scripts)(
    '$form: a call without a session or an event, or that is not an object, is refused',
    async ({ agent, script }) => {
      const fleet = createAgentFleet(never);
      for (const body of [{}, [] as object, { session_id: '', worker: '' }, script])
        expect(await survives(fleet, agent, body)).toBe(false);
      expect(fleet.entries).toEqual([]);
    },
  );
});
