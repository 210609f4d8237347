/**
 * verify and verify-task: is the work complete, even if the worker may stop for other reasons? With a plain NATS
 * client.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Replica } from '../../../src/app/replica.ts';
import { type Client, openClient } from '../../support/client.ts';
import type { NatsServer } from '../../support/nats-server.ts';
import { startReplica } from '../../support/replica.ts';
import { openNats } from '../../support/shared-server.ts';

let server: NatsServer;
let client: Client;
let replica: Replica;

const planned = { checks: [{ plan: {} }] };

beforeAll(async () => {
  server = await openNats();
  client = await openClient(server.url);
  replica = await startReplica({
    nats: server.url,
    policies: {
      policies: {
        default: planned,
        once: { ...planned, retries: 0 },
        persistent: { ...planned, persistence: 'persistent' },
        promising: { ...planned, promises: true },
        rules: { checks: [{ rules: ['tests'] }] },
      },
    },
  });
});
afterAll(async () => {
  await replica.close();
  await client.close();
  await server.stop();
});

const publish = (tail: string, data: object = {}) => client.publish(tail, data);
const publishAll = async (about: string, ...types: string[]) => {
  for (const type of types) await publish(`${about}.${type}`);
};
const step = (worker: string, status: string) =>
  publish(`worker.${worker}.step.updated`, { step: '1', title: 'Fix login', status });
const verify = (name: string, body: object = {}) => client.ask(`verify.${name}`, body);
const verifyTask = (task: string, body: object = {}) => client.ask(`verify-task.${task}`, body);

describe('verify judges only the work', () => {
  test.each<[why: string, policy: string, happens: (worker: string) => Promise<unknown>]>([
    ['waits', 'default', (w) => publish(`worker.${w}.background.started`, { id: 'b' })],
    ['spent', 'default', (w) => publish(`worker.${w}.budget.exhausted`)],
    ['limited', 'default', (w) => publish(`worker.${w}.limit.reached`)],
    ['capped', 'once', (w) => client.ask(`decide.${w}`)],
    ['kept', 'persistent', async () => undefined],
    ['escalated', 'promising', (w) => client.ask(`decide.${w}`, { output: '<promise>ESCALATE</promise>' })],
    ['ended', 'default', (w) => publish(`worker.${w}.session.ended`)],
    ['retired', 'default', (w) => publish(`own.worker.${w}.worker.retired`, { by: 'ann' })],
  ])('for a worker that is %s (policy %s)', async (worker, policy, happens) => {
    await publish(`worker.${worker}.worker.registered`, { policy });
    await step(worker, 'pending');
    await happens(worker);
    expect(await verify(worker)).toMatchObject({
      code: '409',
      body: { decision: { cause: 'incomplete', dryRun: true } },
    });
    await step(worker, 'done');
    expect(await verify(worker)).toMatchObject({
      code: '',
      body: { decision: 'allow', cause: 'complete', dryRun: true },
    });
  });

  test('with the counts and the clock of its policy', async () => {
    await publish('worker.clocks.worker.registered', { policy: 'persistent' });
    const { body } = await verify('clocks');
    expect(body).toMatchObject({
      retry: { count: 0, max: 3 },
      idle: { limitMs: null },
      policy: { name: 'persistent' },
    });
  });

  test('after a block: it counts nothing', async () => {
    await step('counted', 'pending');
    await client.ask('decide.counted');
    expect((await verify('counted')).body).toMatchObject({ decision: { retry: { count: 1, max: 3 } } });
    expect((await client.ask('probe.counted')).body).toMatchObject({ retry: { count: 2, max: 3 } });
  });

  test('after the end of its session, the tasks that it held then belong to it', async () => {
    await publish('task.E-1.task.created', { plan: [{ title: 'Ship', status: 'pending', step: 's' }] });
    await publish('worker.gone.task.claimed', { task: 'E-1' });
    await publish('worker.gone.session.ended');
    await publish('own.worker.gone.worker.retired', { by: 'ann' });
    const reason = '1 of 1 plan steps remain: Ship';
    expect(await verify('gone')).toMatchObject({ code: '409', body: { decision: { reason, tasks: ['E-1'] } } });
    await publish('worker.next.task.claimed', { task: 'E-1' });
    await publish('worker.next.step.updated', { step: 's', status: 'done' });
    expect(await verify('gone')).toMatchObject({ code: '', body: { cause: 'complete' } });
  });

  test('after a capped or escalated stop, judges the tasks that the worker lost, until it works again', async () => {
    const asks = { output: 'Which one? <promise>ESCALATE</promise>' };
    for (const [worker, body] of Object.entries({ hasty: {}, asker: asks })) {
      const task = `G-${worker}`;
      await publish(`task.${task}.task.created`, { plan: [{ title: 'Ship', status: 'pending', step: 's' }] });
      await publish(`worker.${worker}.worker.registered`, { policy: worker === 'hasty' ? 'once' : 'promising' });
      await publish(`worker.${worker}.task.claimed`, { task });
      expect((await client.ask(`decide.${worker}`, body)).body).toMatchObject({ decision: 'allow', tasks: [task] });
      const refused = { decision: { reason: '1 of 1 plan steps remain: Ship', tasks: [task] } };
      expect(await verify(worker)).toMatchObject({ code: '409', body: refused });
      // It holds no tasks at its next try.
      expect((await client.ask(`decide.${worker}`)).body).toMatchObject({ tasks: [] });
      expect(await verify(worker)).toMatchObject({ code: '409', body: refused });
      await publish(`worker.${worker}.prompt.submitted`);
      expect((await verify(worker)).code).toBe('');
    }
  });

  test('nothing is stored, and an unknown worker is 404', async () => {
    const before = await client.stored('STOPGATE_main', 'stopgate.main.worker.gone.>');
    await verify('gone');
    expect(await client.stored('STOPGATE_main', 'stopgate.main.worker.gone.>')).toEqual(before);
    expect(await verify('nobody')).toMatchObject({ code: '404', body: { error: { code: 'NOT_FOUND' } } });
  });
});

describe('verify-task', () => {
  test('returns the stored decision of a judged task', async () => {
    await publish('worker.judged.task.claimed', { task: 'J-1' });
    const { body: decision } = await client.ask('decide.judged', { attempt: 'a1' });
    expect(decision).toMatchObject({ cause: 'complete', tasks: ['J-1'] });
    expect(await verifyTask('J-1')).toEqual({ code: '', body: decision });
  });

  test('says no for a task that only its worker reported as completed, with said', async () => {
    await publish('worker.says.task.claimed', { task: 'S-1' });
    await publish('worker.says.task.completed', { task: 'S-1' });
    expect(await verifyTask('S-1')).toMatchObject({ code: '409', body: { error: { code: 'INCOMPLETE' }, said: true } });
  });

  test('judges a held task by its own steps and hooks and by the checks of its policy', async () => {
    await publish('task.H-1.task.created', { plan: [{ title: 'Fix login', status: 'done' }], policy: 'rules' });
    await publish('task.H-2.task.created', { plan: [{ title: 'Write docs', status: 'pending' }] });
    await publish('task.H-3.hook.registered', { type: 'promise' });
    for (const task of ['H-1', 'H-2', 'H-3']) await publish('worker.holds.task.claimed', { task });
    const tests = { validation: [{ rule: 'tests', passed: true }] };
    expect(await verifyTask('H-1', tests)).toMatchObject({ code: '', body: { cause: 'complete', tasks: ['H-1'] } });
    const failing = { error: { code: 'INCOMPLETE', message: 'Failed rules: tests' } };
    expect(await verifyTask('H-1')).toMatchObject({ code: '409', body: failing });
    expect(await verifyTask('H-2')).toMatchObject({
      code: '409',
      body: { decision: { reason: '1 of 1 plan steps remain: Write docs', task: 'H-2', policy: { name: 'default' } } },
    });
    const promised = { output: '<promise>COMPLETE</promise>' };
    expect(await verifyTask('H-3')).toMatchObject({ body: { decision: { reason: 'No completion promise detected' } } });
    expect(await verifyTask('H-3', promised)).toMatchObject({ code: '', body: { cause: 'complete' } });
  });

  test.each([
    ['that waits', 'W-1', async () => publish('task.W-1.task.created')],
    ['that was cancelled', 'C-1', async () => publishAll('task.C-1', 'task.created', 'task.cancelled')],
  ])('says no for a task %s', async (_what, task, happens) => {
    await happens();
    const answer = await verifyTask(task);
    expect(answer).toMatchObject({ code: '409', body: { error: { code: 'INCOMPLETE' } } });
    expect(answer.body).not.toHaveProperty('said');
  });

  test('gives 404 for an unknown task and 400 for an invalid id', async () => {
    expect(await verifyTask('X-1')).toMatchObject({ code: '404', body: { error: { code: 'NOT_FOUND' } } });
    expect(await verifyTask('no.id')).toMatchObject({ code: '400', body: { error: { code: 'BAD_REQUEST' } } });
  });
});
