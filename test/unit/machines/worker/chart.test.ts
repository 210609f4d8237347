/** The chart decides: its guards, under XState's own actor, change state and decision together. */
import { describe, expect, test } from 'vitest';
import { createActor, type SnapshotFrom } from 'xstate';
import { type GuardName, guardNames, workerMachine } from '../../../../machines/index.ts';

type Facts = { policy?: object; pendingTasks?: number; limited?: boolean };
const input = { fleet: 'main', worker: 'w1', atMs: 0 };

/** An actor, and a function that sends it an entry, a second later each time. */
function start(machine = workerMachine, snapshot?: unknown) {
  const actor = createActor(machine, { input, ...(snapshot === undefined ? {} : { snapshot: snapshot as never }) });
  actor.start();
  let seq = 0;
  const send = (type: string, data: object = {}, facts?: Facts, atMs = seq * 1_000) => {
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

describe('under createActor, with entries as events', () => {
  test('a day of a worker', () => {
    const { send, actor } = start();
    send('worker.registered', { agent: 'claude' });
    send('task.claimed', { task: 'T-1' });
    send('plan.updated', { steps });
    expect(send('stop.attempted', { attempt: 'a1' }, planned)).toEqual({
      ...{ state: 'blocked', decision: 'block', action: 'continue', cause: 'incomplete', guard: 'checks' },
    });
    expect(send('stop.attempted', { attempt: 'a1' }, planned)).toMatchObject({ state: 'blocked' });
    expect(actor.getSnapshot().context.worker.retryCount).toBe(1);
    send('plan.updated', { steps: [{ title: 'Write tests', status: 'done' }] });
    expect(send('stop.attempted', { attempt: 'a2' }, planned)).toMatchObject({ state: 'stopped', cause: 'complete' });
    expect(actor.getSnapshot().context.worker.tasks).toEqual([]);
    expect(send('prompt.submitted')).toMatchObject({ state: 'working' });
    expect(send('session.ended')).toMatchObject({ state: 'stopped' });
    expect(send('stop.attempted', { attempt: 'a3' })).toMatchObject({ cause: 'retired', guard: 'retired' });
  });

  test('without facts the built-in policy holds and the queue is empty', () => {
    expect(start().send('stop.attempted')).toMatchObject({ state: 'stopped', cause: 'no-policy', guard: 'done' });
    const kept = { policy: { persistence: 'default' }, pendingTasks: 2 };
    expect(start().send('stop.attempted', {}, kept)).toMatchObject({ state: 'blocked', cause: 'pending-tasks' });
    expect(start().send('stop.attempted', {}, { limited: true })).toMatchObject({ state: 'idle', cause: 'limited' });
  });

  test('a check leaves the attempt open; its answer, or its time, decides', () => {
    const commanded = { policy: { checks: [{ command: 'tests', timeout: '30s', onError: 'block' }] } };
    const { send } = start();
    expect(send('stop.attempted', { attempt: 'a1' }, commanded)).toMatchObject({ state: 'validating' });
    expect(send('budget.exhausted')).toMatchObject({ state: 'validating' });
    send('check.finished', { attempt: 'other', check: 'tests', outcome: 'pass' });
    expect(send('check.finished', { attempt: 'a1', check: 'tests', outcome: 'pass' })).toMatchObject({
      ...{ state: 'stopped', cause: 'complete' },
    });
    const late = start();
    late.send('stop.attempted', { attempt: 'a1' }, commanded, 0);
    late.send('check.started', { attempt: 'a1', check: 'tests' }, undefined, 1_000);
    expect(late.send('timer.fired', { timer: 't' }, undefined, 30_999)).toMatchObject({ state: 'validating' });
    expect(late.send('timer.fired', { timer: 't' }, undefined, 31_000)).toMatchObject({ state: 'blocked' });
  });

  test('another attempt, or a prompt, takes the place of the open one', () => {
    const held = { policy: { persistence: { idle: '10m', hold: '1m' } } };
    const { send, actor } = start();
    expect(send('stop.attempted', { attempt: 'a1' }, held)).toMatchObject({ state: 'validating' });
    expect(send('stop.attempted', { attempt: 'a2' }, held)).toMatchObject({ state: 'validating', cause: 'superseded' });
    expect(actor.getSnapshot().context.worker.attempt?.attempt).toBe('a2');
    expect(send('prompt.submitted')).toMatchObject({ state: 'working', cause: 'superseded' });
  });

  test('is kept as JSON and goes on where it stood', () => {
    const { send, actor } = start();
    const commanded = { policy: { checks: [{ command: 'tests' }] } };
    send('stop.attempted', { attempt: 'a1' }, commanded);
    const kept = JSON.parse(JSON.stringify(actor.getPersistedSnapshot()));
    const restored = start(workerMachine, kept);
    expect(restored.send('check.finished', { attempt: 'a1', check: 'tests', outcome: 'fail', reason: 'red' })).toEqual({
      ...{ state: 'blocked', decision: 'block', action: 'continue', cause: 'incomplete', guard: 'checks' },
    });
  });
});

describe('with guards of your own', () => {
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

  test.each(guardNames)('%s always: state and decision are its own', (guard) => {
    const machine = workerMachine.provide({ guards: { [guard]: () => true } });
    const result = start(machine).send('stop.attempted', { attempt: 'a1' }, planned);
    expect(result).toMatchObject({ ...forced[guard], guard });
  });

  test('checks never: a failing check passes, in both', () => {
    const machine = workerMachine.provide({ guards: { checks: () => false } });
    const { send, actor } = start(machine);
    send('plan.updated', { steps });
    expect(send('stop.attempted', { attempt: 'a1' }, planned)).toMatchObject({ state: 'stopped', decision: 'allow' });
    expect(actor.getSnapshot().context.worker.lastDecision?.verdicts).toContainEqual(
      expect.objectContaining({ guard: 'checks', verdict: 'pass' }),
    );
  });

  test('none that decides: allowed, not judged, and nothing stays open', () => {
    const never = Object.fromEntries(guardNames.map((guard) => [guard, () => false]));
    const { send, actor } = start(workerMachine.provide({ guards: never }));
    expect(send('stop.attempted', { attempt: 'a1' })).toMatchObject({
      ...{ state: 'idle', decision: 'allow', action: 'continue', cause: 'unjudged' },
    });
    expect(actor.getSnapshot().context.worker.attempt).toBeNull();
  });
});
