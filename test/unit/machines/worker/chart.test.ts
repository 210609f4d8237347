/**
 * The guards of the chart decide, also under a plain XState actor: they change state and decision together. The entries
 * are tested in test/conformance/plain-actors.test.ts.
 */
import { describe, expect, test } from 'vitest';
import { createActor, type SnapshotFrom } from 'xstate';
import { type GuardName, guardNames, workerMachine } from '../../../../machines/index.ts';

type Facts = { policy?: object; pendingTasks?: number; limited?: boolean };
const input = { fleet: 'main', worker: 'w1', atMs: 0 };

/** Starts an actor, with a function that sends it one entry per second. */
function start(machine = workerMachine) {
  const actor = createActor(machine, { input });
  actor.start();
  let seq = 0;
  const send = (type: string, data: object = {}, facts?: Facts) => {
    const atMs = seq * 1_000;
    seq += 1;
    actor.send({ type, data, seq, atMs, ...(facts === undefined ? {} : { facts }) } as never);
    return shown(actor.getSnapshot());
  };
  return { actor, send };
}

function shown({ value, context: { worker } }: SnapshotFrom<typeof workerMachine>) {
  const { decision, action, cause, verdicts } = worker.lastDecision ?? {};
  return { state: value.state, decision, action, cause, guard: verdicts?.at(-1)?.guard };
}

const planned = { policy: { checks: [{ plan: {} }] } };
const steps = [{ title: 'Write tests', status: 'pending' }];

test('without facts, the built-in policy applies and the queue is empty', () => {
  expect(start().send('stop.attempted')).toMatchObject({ state: 'stopped', cause: 'no-policy', guard: 'done' });
  const kept = { policy: { persistence: 'default' }, pendingTasks: 2 };
  expect(start().send('stop.attempted', {}, kept)).toMatchObject({ state: 'blocked', cause: 'pending-tasks' });
  expect(start().send('stop.attempted', {}, { limited: true })).toMatchObject({ state: 'idle', cause: 'limited' });
});

describe('with replaced guards', () => {
  const forced: Readonly<Record<GuardName, { state: string; decision: string; action: string }>> = {
    retired: { state: 'stopped', decision: 'allow', action: 'complete' },
    escalated: { state: 'escalated', decision: 'allow', action: 'escalate' },
    bypass: { state: 'stopped', decision: 'allow', action: 'complete' },
    limited: { state: 'idle', decision: 'allow', action: 'continue' },
    waiting: { state: 'idle', decision: 'allow', action: 'continue' },
    retries: { state: 'stopped', decision: 'allow', action: 'complete' },
    promise: { state: 'escalated', decision: 'allow', action: 'escalate' },
    checks: { state: 'blocked', decision: 'block', action: 'continue' },
    hooks: { state: 'blocked', decision: 'block', action: 'continue' },
    stuck: { state: 'escalated', decision: 'allow', action: 'escalate' },
    pending: { state: 'blocked', decision: 'block', action: 'continue' },
    idle: { state: 'blocked', decision: 'block', action: 'continue' },
    done: { state: 'idle', decision: 'allow', action: 'continue' },
  };

  test.each(guardNames)('%s always true: it determines state and decision', (guard) => {
    const machine = workerMachine.provide({ guards: { [guard]: () => true } });
    const result = start(machine).send('stop.attempted', { attempt: 'a1' }, planned);
    expect(result).toMatchObject({ ...forced[guard], guard });
  });

  test('checks never true: a failing check passes in both', () => {
    const machine = workerMachine.provide({ guards: { checks: () => false } });
    const { send, actor } = start(machine);
    send('plan.updated', { steps });
    expect(send('stop.attempted', { attempt: 'a1' }, planned)).toMatchObject({ state: 'stopped', decision: 'allow' });
    expect(actor.getSnapshot().context.worker.lastDecision?.verdicts).toContainEqual(
      expect.objectContaining({ guard: 'checks', verdict: 'pass' }),
    );
  });

  test('none true: allowed as unjudged, and nothing stays open', () => {
    const never = Object.fromEntries(guardNames.map((guard) => [guard, () => false]));
    const { send, actor } = start(workerMachine.provide({ guards: never }));
    expect(send('stop.attempted', { attempt: 'a1' })).toMatchObject({
      state: 'idle',
      decision: 'allow',
      action: 'continue',
      cause: 'unjudged',
    });
    expect(actor.getSnapshot().context.worker.attempt).toBeNull();
  });
});
