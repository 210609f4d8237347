/** evaluate over NATS: a task's hooks judge an iteration, including remote ones (seed 001, hook_evaluate). */
import { type Msg, type NatsConnection, headers as natsHeaders } from '@nats-io/nats-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { HookResult, TaskDetail } from '../../../machines/index.ts';
import type { Replica } from '../../../src/app/replica.ts';
import { type Client, openClient } from '../../support/client.ts';
import type { NatsServer } from '../../support/nats-server.ts';
import { startReplica } from '../../support/replica.ts';
import { openNats } from '../../support/shared-server.ts';

let server: NatsServer;
let client: Client;
let replica: Replica;

beforeAll(async () => {
  server = await openNats();
  client = await openClient(server.url);
  replica = await startReplica({ nats: server.url });
});
afterAll(async () => {
  await replica.close();
  await client.close();
  await server.stop();
});

const evaluate = async (task: string, body: object = { iteration: 1 }) => {
  const { code, body: answer } = await client.ask(`evaluate.${task}`, body);
  return { code, body: answer as unknown as HookResult & { error?: { code: string; message: string } } };
};
const view = async (task: string, body: object = {}) =>
  (await client.ask(`get.task.${task}`, body)).body as unknown as TaskDetail & { error?: { code: string } };
const start = (task: string, more: object = {}) =>
  client.publish(`task.${task}.iteration.started`, { iteration: 1, maxIterations: 3, ...more });
/** Answers a remote check until the returned function is called. */
const serve = (
  nc: NatsConnection,
  name: string,
  reply: (question: Record<string, unknown>) => object | string | null,
) => {
  const asked: Record<string, unknown>[] = [];
  const served = nc.subscribe(`stopgate.main.check.${name}`, {
    queue: 'stopgate-check',
    callback: (_error, message) => {
      asked.push(message.json());
      const answer = reply(asked.at(-1) ?? {});
      if (answer !== null) message.respond(typeof answer === 'string' ? answer : JSON.stringify(answer));
    },
  });
  return { asked, stop: () => served.unsubscribe() };
};

describe('evaluate', () => {
  test('replies with the result of the hooks, in the form of hook_evaluate', async () => {
    await client.publish('task.E-1.hook.registered', { hook: 'H', type: 'default' });
    await start('E-1');
    expect(await evaluate('E-1', { iteration: 1, output: 'Done. <promise>COMPLETE</promise>' })).toEqual({
      code: '',
      body: {
        fleet: 'main',
        attempt: null,
        taskId: 'E-1',
        iteration: 1,
        hookId: 'H',
        action: 'complete',
        reason: 'Agent signaled completion via <promise>COMPLETE</promise>',
        nextPrompt: null,
        checkpointCreated: false,
        metadata: {},
      },
    });
  });

  test('without hooks replies continue, and that there are none', async () => {
    await start('E-2');
    const { body } = await evaluate('E-2');
    expect(body).toMatchObject({
      hookId: 'default',
      action: 'continue',
      reason: 'No hooks registered for this task',
    });
  });

  test('is stored, so that a replay gives the same result', async () => {
    await start('E-3');
    await evaluate('E-3', { iteration: 1, note: 'kept' });
    expect(await client.stored('STOPGATE_main', 'stopgate.main.task.E-3.iteration.validated')).toEqual([
      { iteration: 1, note: 'kept' },
    ]);
  });

  test.each([
    ['an unknown task', 'nobody', { iteration: 1 }, '409', 'REFUSED'],
    ['an iteration that is not the current one', 'E-4', { iteration: 2 }, '409', 'REFUSED'],
    ['no iteration', 'E-4', {}, '400', 'BAD_REQUEST'],
    ['a wrong shape', 'E-4', { iteration: 'one' }, '400', 'BAD_REQUEST'],
    ['what is not an id', 'a.b', { iteration: 1 }, '400', 'BAD_REQUEST'],
    ['an output of more than 64 KiB', 'E-4', { iteration: 1, output: 'x'.repeat(70_000) }, '400', 'TOO_LARGE'],
  ])('refuses %s and says why', async (_what, task, body, code, wire) => {
    await start('E-4');
    const answer = await evaluate(task, body);
    expect(answer).toMatchObject({ code, body: { error: { code: wire } } });
    expect(answer.body.error?.message).not.toBe('');
  });

  test('refuses an iteration that has ended', async () => {
    await start('E-5');
    await client.publish('task.E-5.iteration.completed', { iteration: 1, promise: 'COMPLETE' });
    const { code, body } = await evaluate('E-5');
    expect({ code, message: body.error?.message }).toEqual({ code: '409', message: 'iteration 1 is completed' });
  });
});

describe('a remote hook of an iteration', () => {
  test('is requested live, with the iteration and the agent’s output', async () => {
    const served = serve(client.nc, 'live', () => ({ action: 'continue', reason: 'two left', nextPrompt: 'go on' }));
    await client.publish('task.R-1.hook.registered', { hook: 'H', type: 'remote', name: 'live' });
    await start('R-1');
    const { body } = await evaluate('R-1', { iteration: 1, output: 'text', files: ['a.ts'] });
    expect(body).toMatchObject({ hookId: 'H', action: 'continue', reason: 'two left', nextPrompt: 'go on' });
    expect(served.asked).toEqual([
      expect.objectContaining({
        task: 'R-1',
        worker: null,
        iteration: 1,
        agentOutput: 'text',
        filesModified: ['a.ts'],
      }),
    ]);
    served.stop();
  });

  test('keeps its checkpoint with the task, to resume from', async () => {
    const served = serve(client.nc, 'saves', () => ({
      action: 'continue',
      reason: 'half way',
      checkpointData: { executionPhase: 'midpoint', executionStep: 5, agentContext: { milestone: 'halfway' } },
    }));
    await client.publish('task.R-2.hook.registered', { hook: 'H', type: 'remote', name: 'saves' });
    await start('R-2');
    expect((await evaluate('R-2')).body.checkpointCreated).toBe(true);
    const { checkpoint, phase } = await view('R-2');
    expect(checkpoint).toMatchObject({ step: 5, context: { milestone: 'halfway' } });
    expect(phase).toBe('midpoint');
    served.stop();
  });

  test('escalates with a reason if nobody serves it', async () => {
    await client.publish('task.R-3.hook.registered', { hook: 'H', type: 'remote', name: 'nobody' });
    await start('R-3');
    const { body } = await evaluate('R-3');
    expect(body).toMatchObject({
      action: 'escalate',
      reason: 'Hook evaluation failed: nobody serves stopgate.main.check.nobody',
    });
  });

  test.each([
    ['no JSON', 'nonsense', 'check odd replied with invalid JSON'],
    ['of an unknown form', { verdict: 'yes' }, 'check odd replied in an unknown form'],
  ])('whose reply is %s is an error that says so', async (_what, reply, words) => {
    const served = serve(client.nc, 'odd', () => reply);
    await client.publish('task.R-4.hook.registered', { hook: 'H', type: 'remote', name: 'odd' });
    await start('R-4');
    const { body } = await evaluate('R-4');
    expect(body).toMatchObject({ action: 'escalate', reason: `Hook evaluation failed: ${words}` });
    served.stop();
  });

  test('whose replica is gone is asked by another', async () => {
    const leaver = await startReplica({ nats: server.url, name: 'leaver' });
    const served = serve(client.nc, 'slow', () => (served.asked.length === 1 ? null : { complete: true }));
    await client.publish('task.R-5.hook.registered', { hook: 'H', type: 'remote', name: 'slow' });
    await start('R-5');
    const headers = natsHeaders();
    headers.set('Stopgate-Replica', 'leaver');
    client.nc.publish('stopgate.main.task.R-5.iteration.validated', '{"iteration":1}', { headers });
    await expect.poll(() => served.asked.length).toBe(1);
    await leaver.close();
    await expect
      .poll(async () => (await view('R-5')).hookStats)
      .toEqual([expect.objectContaining({ hook: 'H', complete: 1 })]);
    served.stop();
  });
});

describe('an evaluation that waits for a remote hook', () => {
  const waiting = async (task: string, body: object, more: object = {}) => {
    const held: Msg[] = [];
    const served = client.nc.subscribe(`stopgate.main.check.${task}`, {
      callback: (_error, message) => void held.push(message),
    });
    await client.publish(`task.${task}.hook.registered`, { hook: 'H', type: 'remote', name: task });
    await start(task, more);
    const answer = evaluate(task, body);
    await expect.poll(() => held.length).toBe(1);
    const reply = (it: object) => held.shift()?.respond(JSON.stringify(it));
    return { answer, held, reply, stop: () => served.unsubscribe() };
  };

  test('may be requested again under the same attempt, and is answered each time', async () => {
    const served = serve(client.nc, 'again', () => ({ action: 'continue', reason: `no ${served.asked.length}` }));
    await client.publish('task.W-1.hook.registered', { hook: 'H', type: 'remote', name: 'again' });
    await start('W-1');
    expect((await evaluate('W-1', { iteration: 1, attempt: 'a' })).body.reason).toBe('no 1');
    expect((await evaluate('W-1', { iteration: 1, attempt: 'a' })).body.reason).toBe('no 2');
    served.stop();
  });

  test('gets its answer even if somebody has used its message id', async () => {
    const it = await waiting('W-2', { iteration: 1, attempt: 'a' });
    const info = await client.nc.request('$JS.API.STREAM.INFO.STOPGATE_main', '');
    const { last_seq: seq } = info.json<{ state: { last_seq: number } }>().state;
    const headers = natsHeaders();
    headers.set('Nats-Msg-Id', `W-2:${seq}:hook:1:W-2`);
    await client.nc.request('stopgate.main.task.W-2.task.created', '', { headers, timeout: 30_000 });
    it.reply({ complete: true });
    expect((await it.answer).body.action).toBe('complete');
    it.stop();
  });

  test('is not refused because of another one under the same attempt', async () => {
    const it = await waiting('W-3', { iteration: 1, attempt: 'a' });
    expect((await evaluate('W-3', { iteration: 7, attempt: 'a' })).code).toBe('409');
    it.reply({ complete: true });
    expect(await it.answer).toMatchObject({ code: '', body: { action: 'complete' } });
    it.stop();
  });

  test.each([
    ['its task is cancelled', 'task.W-4.task.cancelled', {}],
    ['its hooks are cleared', 'task.W-5.hooks.cleared', {}],
    ['its hook is disabled', 'task.W-6.hook.disabled', { hook: 'H' }],
    ['its iteration is completed', 'task.W-7.iteration.completed', { iteration: 1, promise: 'COMPLETE' }],
    ['its task is completed', 'worker.w8.task.completed', { task: 'W-8' }],
  ])('is answered at once when %s', async (_what, tail, data) => {
    const task = /W-\d/.exec(`${tail} ${JSON.stringify(data)}`)?.[0] ?? '';
    if (task === 'W-8') await client.publish('worker.w8.task.claimed', { task });
    const it = await waiting(task, { iteration: 1 });
    await client.publish(tail, data);
    const { code, body } = await it.answer;
    expect({ code, reason: body.reason }).toEqual({ code: '', reason: 'No hooks registered for this task' });
    it.stop();
  });

  test('is answered for its own iteration when the loop has advanced', async () => {
    const it = await waiting('W-9', { iteration: 1 }, { maxIterations: 2 });
    await client.publish('task.W-9.iteration.advanced');
    it.reply({ action: 'continue', reason: 'go on' });
    expect((await it.answer).body).toMatchObject({ iteration: 1, action: 'continue', reason: 'go on' });
    it.stop();
  });

  test('does not count its failed rules in the iteration that came after', async () => {
    const validation = [{ rule: 'lint', passed: false }];
    const it = await waiting('W-10', { iteration: 1, validation }, { maxIterations: 9, breakers: { failures: 2 } });
    await client.publish('task.W-10.iteration.advanced');
    it.reply({ action: 'continue', reason: 'go on' });
    await it.answer;
    await client.publish('task.W-10.iteration.advanced');
    const third = evaluate('W-10', { iteration: 3, validation });
    await expect.poll(() => it.held.length).toBe(1);
    it.reply({ action: 'continue', reason: 'once more' });
    expect((await third).body).toMatchObject({ action: 'continue', reason: 'once more' });
    it.stop();
  });
});

test('sixty-four validations of a task may wait at once; one more is refused', async () => {
  const held: Msg[] = [];
  const served = client.nc.subscribe('stopgate.main.check.many', { callback: (_error, it) => void held.push(it) });
  await client.publish('task.M-1.hook.registered', { hook: 'H', type: 'remote', name: 'many' });
  await start('M-1');
  const answers = Array.from({ length: 64 }, () => evaluate('M-1'));
  await expect.poll(() => held.length).toBe(64);
  expect(await evaluate('M-1')).toMatchObject({ code: '409', body: { error: { code: 'REFUSED' } } });
  for (const it of held) it.respond('{"complete":true}');
  expect((await Promise.all(answers)).map(({ body }) => body.action)).toEqual(Array(64).fill('complete'));
  served.unsubscribe();
});

describe('results of hooks', () => {
  test('are kept with the task: how often, what, and the last reason', async () => {
    await client.publish('task.S-1.hook.registered', { hook: 'V', type: 'validation' });
    await client.publish('task.S-1.hook.registered', { hook: 'P', type: 'promise' });
    await start('S-1');
    await evaluate('S-1', { iteration: 1, attempt: 'a1', validation: [{ rule: 'lint', passed: false }] });
    await evaluate('S-1', { iteration: 1, attempt: 'a2', validation: [{ rule: 'lint', passed: true }] });
    expect((await view('S-1')).hookStats).toEqual([
      expect.objectContaining({
        hook: 'V',
        asked: 2,
        complete: 1,
        continue: 1,
        last: expect.objectContaining({ attempt: 'a2', action: 'complete', reason: 'All rules passed' }),
      }),
      expect.objectContaining({ hook: 'P', asked: 1, continue: 1, errors: 0 }),
    ]);
  });

  test('count errors, and remain when the hooks are gone', async () => {
    await client.publish('task.S-2.hook.registered', { hook: 'H', type: 'remote', name: 'gone', onError: 'skip' });
    await start('S-2');
    await evaluate('S-2');
    await client.publish('task.S-2.hooks.cleared');
    const { hooks, hookStats } = await view('S-2');
    expect(hooks).toEqual([]);
    expect(hookStats).toEqual([expect.objectContaining({ hook: 'H', asked: 1, skip: 1, errors: 1 })]);
  });
});

describe('checkpoints', () => {
  test('are returned in full by get, the last one or the named one', async () => {
    await client.publish('task.C-1.checkpoint.saved', { checkpoint: 'one', phase: 'testing', context: { a: 1 } });
    await client.publish('task.C-1.checkpoint.saved', { checkpoint: 'two', step: 2 });
    expect((await view('C-1')).checkpoint).toMatchObject({ checkpoint: 'two', step: 2, context: null });
    expect((await view('C-1', { checkpoint: 'one' })).checkpoint).toMatchObject({
      phase: 'testing',
      context: { a: 1 },
    });
    expect((await view('C-1', { checkpoint: 'none' })).error?.code).toBe('NOT_FOUND');
  });
});
