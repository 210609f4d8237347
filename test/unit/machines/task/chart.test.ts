/**
 * A task as a plain XState actor, with entries as events: it changes state, judges iterations, and can be stored as
 * JSON.
 */
import { describe, expect, test } from 'vitest';
import { createActor } from 'xstate';
import { taskMachine } from '../../../../machines/index.ts';

const input = { fleet: 'main', task: 'T-1' };
type Facts = { worker?: string; files?: string[]; labels?: Record<string, string> };

/** Starts an actor, with a function that sends it one entry per second. */
function start(snapshot?: unknown) {
  const actor = createActor(taskMachine, { input, ...(snapshot === undefined ? {} : { snapshot: snapshot as never }) });
  actor.start();
  let seq = 0;
  const send = (type: string, data: object = {}, facts?: Facts, atMs = seq * 1_000) => {
    seq += 1;
    actor.send({ type, data, seq, atMs, ...(facts === undefined ? {} : { facts }) } as never);
    const { value, context } = actor.getSnapshot();
    return { state: value, worker: context.worker, outcome: context.outcome };
  };
  const results = () => actor.getSnapshot().context.validated.map(({ result }) => result);
  return { actor, send, results };
}

describe('the entries of its worker', () => {
  test('claim, release, fail, reclaim and complete it', () => {
    const { send, actor } = start();
    send('task.created', { title: 'Fix the parser' });
    expect(send('task.claimed', { task: 'T-1' }, { worker: 'w1' })).toMatchObject({ state: 'working', worker: 'w1' });
    expect(send('task.released', { task: 'T-1' })).toMatchObject({ state: 'idle', worker: null });
    send('task.claimed', { task: 'T-1' }, { worker: 'w2' });
    expect(send('task.failed', { task: 'T-1', reason: 'no access' })).toMatchObject({ state: 'escalated' });
    expect(actor.getSnapshot().context.escalation).toMatchObject({
      reason: 'no access',
      worker: 'w2',
      cause: 'failed',
      seq: 5,
      since: '1970-01-01T00:00:04.000Z',
    });
    send('escalation.acknowledged', { by: 'ann' });
    expect(actor.getSnapshot().context.escalation).toMatchObject({ acknowledgedBy: 'ann' });
    expect(send('escalation.resolved', { by: 'ann', verdict: 'resume' })).toMatchObject({ state: 'idle' });
    send('task.claimed', { task: 'T-1' });
    expect(send('task.completed', { task: 'T-1' })).toMatchObject({ state: 'stopped', outcome: 'completed' });
    send('task.cancelled');
    expect(actor.getSnapshot().context.refused).toMatchObject([
      { type: 'task.cancelled', reason: 'task T-1 is completed' },
    ]);
  });

  test('change nothing if they are invalid in its state, and are recorded with a reason', () => {
    const { send, actor, results } = start();
    send('iteration.validated', { iteration: 1 });
    send('hook.disabled', { hook: 'h' });
    expect(results()).toEqual([]);
    expect(actor.getSnapshot().context.refused).toMatchObject([
      { type: 'iteration.validated', reason: 'no iteration was started' },
      { type: 'hook.disabled', reason: 'hook h is unknown' },
    ]);
  });
});

describe('an iteration is judged by its hooks', () => {
  const begin = (...hooks: object[]) => {
    const started = start();
    for (const hook of hooks) started.send('hook.registered', hook);
    started.send('iteration.started', { iteration: 1, maxIterations: 3 });
    return started;
  };

  test('with the files and labels of its worker', () => {
    const { send, results } = begin({ type: 'tdd', when: { filesMatch: 'src/**', label: 'team=a' } });
    send('iteration.validated', { iteration: 1 });
    expect(results()).toMatchObject([{ action: 'continue', reason: 'No hooks registered for this task' }]);
    send('iteration.validated', { iteration: 1, attempt: 'a2' }, { files: ['src/a.ts'], labels: { team: 'a' } });
    expect(results()).toMatchObject([{ fleet: 'main', attempt: 'a2', reason: 'Tests still failing' }]);
  });

  test('which may be remote: it waits for the answer or the timeout, also after a restore', () => {
    const { send, actor, results } = begin({ hook: 'scan', type: 'remote', name: 'sec' });
    send('iteration.validated', { iteration: 1, attempt: 'a1' });
    send('iteration.validated', { iteration: 1, attempt: 'a2' });
    expect(results()).toEqual([]);
    const restored = start(JSON.parse(JSON.stringify(actor.getPersistedSnapshot())));
    restored.send('check.finished', { attempt: 'a1', check: 'other', outcome: 'pass' });
    expect(restored.results()).toEqual([]);
    restored.send('check.finished', { attempt: 'a1', check: 'sec', outcome: 'pass' });
    expect(restored.results()).toMatchObject([{ attempt: 'a1', hookId: 'scan', action: 'complete' }]);
    restored.send('timer.fired', { timer: 't' }, undefined, 122_999);
    expect(restored.results()).toMatchObject([{ attempt: 'a1' }]);
    restored.send('timer.fired', { timer: 't' }, undefined, 123_000);
    expect(restored.results()).toMatchObject([{ attempt: 'a2', action: 'escalate' }]);
  });

  test('and a hook that is added meanwhile does not extend the timeout', () => {
    const { send, results } = begin({ hook: 'scan', type: 'remote', name: 'sec' });
    send('iteration.validated', { iteration: 1, attempt: 'a1' }, undefined, 1_000);
    send('hook.registered', { type: 'tdd' }, undefined, 100_000);
    send('timer.fired', { timer: 't' }, undefined, 121_000);
    expect(results()).toMatchObject([{ attempt: 'a1', action: 'escalate' }]);
  });

  test('without hooks that were removed meanwhile', () => {
    const { send, results } = begin({ hook: 'scan', type: 'remote', name: 'sec' }, { type: 'tdd' });
    send('iteration.validated', { iteration: 1, attempt: 'a1' });
    send('iteration.validated', { iteration: 1, attempt: 'a2' });
    send('hook.disabled', { hook: 'scan' });
    expect(results()).toMatchObject([
      { attempt: 'a1', reason: 'Tests still failing' },
      { attempt: 'a2', reason: 'Tests still failing' },
    ]);
  });
});
