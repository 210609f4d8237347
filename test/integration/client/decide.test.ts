/** The client against a real service: decisions, entries, queries and subscriptions. */
import { inspect } from 'node:util';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { connect, type Decision, IncompleteError, StopgateError } from '../../../src/client/index.ts';
import { openClient, type Client as PlainClient } from '../../support/client.ts';
import { startReplica } from '../../support/replica.ts';
import { openNats } from '../../support/shared-server.ts';
import { openScene, type Scene } from './scene.ts';

let scene: Scene;
let plain: PlainClient;

beforeAll(async () => {
  scene = await openScene({
    planned: { checks: [{ plan: {} }] },
    held: { persistence: { idle: '10m', hold: '2500ms' } },
  });
  plain = await openClient(scene.server.url);
});
afterAll(async () => {
  await plain.close();
  await scene.close();
});

/** The number of `decide` requests about this worker that `act` sends; the fast path sends none. */
async function requestsDuring<Result>(
  worker: string,
  act: () => Promise<Result>,
): Promise<{ result: Result; requests: number }> {
  let requests = 0;
  const subscription = plain.nc.subscribe(`stopgate.main.decide.${worker}`, {
    callback: () => {
      requests += 1;
    },
  });
  await plain.nc.flush();
  const result = await act();
  await plain.nc.flush();
  subscription.unsubscribe();
  return { result, requests };
}

const blockedWorker = async (worker: string) => {
  const { client } = scene;
  await client.publish('worker', worker, 'worker.registered', { policy: 'planned' });
  await client.publish('worker', worker, 'plan.updated', { steps: [{ title: 'Write tests', status: 'pending' }] });
};

describe('decide', () => {
  test('the reply comes over the fast path, without a request', async () => {
    const { result, requests } = await requestsDuring('w1', () => scene.client.decide('w1', { output: 'done' }));
    expect(result).toMatchObject({ v: 1, worker: 'w1', decision: 'allow', cause: 'no-policy', dryRun: false });
    expect(result.attempt).toMatch(/^[0-9a-f]{32}$/);
    expect(requests).toBe(0);
  });

  test('a repeated attempt gets the same decision, by a request, and counts once', async () => {
    await blockedWorker('w2');
    const first = await scene.client.decide('w2', { attempt: 'a1' });
    expect(first).toMatchObject({ decision: 'block', cause: 'incomplete', retry: { count: 1, max: 3 } });
    const { result, requests } = await requestsDuring('w2', () => scene.client.decide('w2', { attempt: 'a1' }));
    expect(result).toEqual(first);
    expect(requests).toBe(1);
    expect((await scene.client.decide('w2')).retry.count).toBe(2);
  });

  test('concurrent calls each get their own decision', async () => {
    const workers = Array.from({ length: 50 }, (_, index) => `many-${index}`);
    const decisions = await Promise.all(workers.map((worker) => scene.client.decide(worker)));
    expect(decisions.map((decision) => decision.worker)).toEqual(workers);
  });

  // These wait for seconds: they do so at the same time.
  test.concurrent('of two replicas the one that was asked stops: the other answers the same attempt, which counts once', async ({
    expect,
    onTestFinished,
  }) => {
    const server = await openNats({});
    onTestFinished(() => server.stop());
    const policies = { policies: { default: { checks: [{ remote: 'slow' }] } } };
    const asked = await startReplica({ nats: server.url, name: 'asked', policies });
    const client = await connect({ nats: server.url, fleet: 'main', cwd: scene.cwd });
    onTestFinished(() => client.close());
    let go = () => {};
    const mayGo = new Promise<void>((resolve) => {
      go = resolve;
    });
    const begun = new Promise<void>((resolve, reject) => {
      const check = async () => {
        resolve();
        await mayGo;
        return { complete: false, reason: 'not yet' };
      };
      client.serveCheck('slow', check).catch(reject);
    });
    const other = await openClient(server.url);
    onTestFinished(() => other.close());
    const requests: string[] = [];
    const requested = new Promise<void>((resolve) => {
      other.nc.subscribe('stopgate.main.decide.w1', {
        callback: (_error, message) => {
          requests.push(message.json<{ attempt: string }>().attempt);
          resolve();
        },
      });
    });
    await other.nc.flush();
    const deciding = client.decide('w1');
    await Promise.all([begun, requested]); // a request follows where the fast path gets no answer
    const next = await startReplica({ nats: server.url, name: 'next', policies });
    onTestFinished(() => next.close());
    const closing = asked.close();
    await expect.poll(() => requests.length).toBe(2);
    go();
    expect(await deciding).toMatchObject({ decision: 'block', reason: 'not yet', retry: { count: 1 } });
    expect(requests[1]).toBe(requests[0]);
    await closing;
  });

  test.concurrent('calls fail while the NATS server is down, and work again when it is back', async ({
    expect,
    onTestFinished,
  }) => {
    const own = await openScene({ planned: { checks: [{ remote: 'scan', onError: 'block' }] } }, {});
    onTestFinished(() => own.close());
    const { client, server } = own;
    await client.serveCheck('scan', () => ({ complete: false, reason: 'not scanned' }));
    const received: string[] = [];
    await client.onDecision(null, ({ attempt }) => received.push(attempt ?? ''));
    await client.publish('worker', 'w1', 'worker.registered', { policy: 'planned' });
    await server.kill();
    await expect(client.decide('w1', { attempt: 'a1' }, { timeoutMs: 400 })).rejects.toMatchObject({
      code: 'service.unreachable',
    });
    await server.restart();
    await expect
      .poll(() => client.decide('w1', { attempt: 'a1' }).catch(() => null))
      .toMatchObject({
        decision: 'block',
        attempt: 'a1',
        reason: 'not scanned',
        retry: { count: 1 },
      });
    await expect.poll(() => received).toContain('a1');
  });

  // A service that is away is asked for 5 s.
  test.concurrent('without a service calls fail as unreachable, never as incomplete, and the attempt is decided once one starts', async ({
    expect,
    onTestFinished,
  }) => {
    const server = await openNats({});
    onTestFinished(() => server.stop());
    const client = await connect({ nats: server.url, fleet: 'main', cwd: scene.cwd });
    onTestFinished(() => client.close());
    for (const ask of [() => client.decide('w1'), () => client.probe('w1'), () => client.assertComplete('w1')]) {
      const error = await ask().catch((cause: unknown) => cause);
      expect(error).not.toBeInstanceOf(IncompleteError);
      expect(inspect(error)).toMatch(/^StopgateError: /);
      expect(error).toMatchObject({
        name: 'StopgateError',
        code: 'service.unreachable',
        message: expect.stringMatching(/^no stopgate service serves fleet 'main' on this NATS server/),
      });
    }
    // Now there is a log, but still no service that folds it.
    await (await startReplica({ nats: server.url })).close();
    await expect(client.decide('w1', { attempt: 'a1' }, { timeoutMs: 500 })).rejects.toMatchObject({
      code: 'service.unreachable',
    });
    const replica = await startReplica({ nats: server.url, name: 'r2' });
    onTestFinished(() => replica.close());
    expect(await client.decide('w1', { attempt: 'a1' })).toMatchObject({ decision: 'allow', attempt: 'a1' });
  });

  test.concurrent('a call ends although somebody who is no service hears its request', async ({
    expect,
    onTestFinished,
  }) => {
    const server = await openNats({});
    onTestFinished(() => server.stop());
    const watcher = await openClient(server.url);
    onTestFinished(() => watcher.close());
    watcher.nc.subscribe('stopgate.>', { callback: () => {} });
    await watcher.nc.flush();
    const client = await connect({ nats: server.url, fleet: 'main', cwd: scene.cwd });
    onTestFinished(() => client.close());
    for (const ask of [() => client.decide('w1'), () => client.verify('w1')]) {
      await expect(ask()).rejects.toMatchObject({
        code: 'service.unreachable',
        message: expect.stringContaining('no stopgate service answers for this fleet'),
      });
    }
  });

  // The fast path waits for 2 s, and both decisions are held for longer: they do so at the same time.
  test.concurrent('a decision held longer than the fast path waits still comes, once', async ({ expect }) => {
    await scene.client.publish('worker', 'w3', 'worker.registered', { policy: 'held' });
    const { result, requests } = await requestsDuring('w3', () => scene.client.decide('w3'));
    expect(result).toMatchObject({ decision: 'block', cause: 'idle' });
    expect(requests).toBe(1);
    expect((await scene.client.getWorker('w3')).keepAlives).toBe(1);
  });

  test.concurrent('a call with a shorter timeout fails, and a repeat gets the decision later', async ({ expect }) => {
    await scene.client.publish('worker', 'w4', 'worker.registered', { policy: 'held' });
    const late = scene.client.decide('w4', { attempt: 'a1' }, { timeoutMs: 300 });
    await expect(late).rejects.toMatchObject({
      code: 'service.unreachable',
      message: expect.stringContaining('no answer within'),
    });
    expect(await scene.client.decide('w4', { attempt: 'a1' })).toMatchObject({ cause: 'idle', attempt: 'a1' });
    expect((await scene.client.getWorker('w4')).keepAlives).toBe(1);
  });

  test.each([
    ['a bad worker', 'a.b', {}, 'input.bad', "'a.b' is not the id of a worker"],
    ['a bad attempt', 'w5', { attempt: 'no id' }, 'input.bad', 'this is not a stop attempt: attempt: '],
    ['a draft beyond the limit', 'w5', { draft: { content: 'x'.repeat(70_000) } }, 'entry.large', 'the limit is 65536'],
  ])('%s is refused before anything is sent', async (_what, worker, attempt, code, message) => {
    await expect(scene.client.decide(worker, attempt)).rejects.toMatchObject({
      code,
      message: expect.stringContaining(message),
    });
    await expect(scene.client.getWorker('w5')).rejects.toMatchObject({ code: 'actor.unknown' });
  });
});

test('the end of a long output is sent, where promises are', async () => {
  const end = '<promise>COMPLETE</promise>';
  expect((await scene.client.decide('long', { output: 'x'.repeat(70_000) + end })).decision).toBe('allow');
  const [entry] = await plain.stored('STOPGATE_main', 'stopgate.main.worker.long.stop.attempted');
  expect(entry?.output).toBe('x'.repeat(32_768 - end.length) + end);
});

test('probe is a dry run and leaves no trace', async () => {
  await blockedWorker('w6');
  expect(await scene.client.probe('w6')).toMatchObject({ decision: 'block', dryRun: true, attempt: null });
  expect(await scene.client.getWorker('w6')).toMatchObject({ state: 'working', retry: { count: 0 } });
});

describe('the final verification', () => {
  test('an incomplete worker is an IncompleteError with reason, decision and feedback', async () => {
    await blockedWorker('w7');
    const message = '1 of 1 plan steps remain: Write tests';
    expect(await scene.client.verify('w7')).toMatchObject({ complete: false, decision: { reason: message } });
    const error = await scene.client.assertComplete('w7').catch((cause: unknown) => cause);
    expect(error).toBeInstanceOf(IncompleteError);
    expect(error).toBeInstanceOf(StopgateError);
    expect(error).toMatchObject({
      name: 'IncompleteError',
      code: 'stop.incomplete',
      message: message,
      decision: { decision: 'block', cause: 'incomplete' },
      feedback: [{ check: 'plan', outcome: 'fail', message: message }],
    });
  });

  test('a complete worker gets its decision', async () => {
    await scene.client.publish('worker', 'w7', 'plan.updated', { steps: [{ title: 'Write tests', status: 'done' }] });
    expect(await scene.client.assertComplete('w7')).toMatchObject({ decision: 'allow', cause: 'complete' });
    expect(await scene.client.verify('w7')).toMatchObject({ complete: true });
  });

  test('it judges only the work: a used-up budget does not make unfinished work complete', async () => {
    await blockedWorker('w8');
    await scene.client.publish('worker', 'w8', 'budget.exhausted');
    expect(await scene.client.decide('w8')).toMatchObject({ decision: 'allow', cause: 'bypassed' });
    await expect(scene.client.assertComplete('w8')).rejects.toMatchObject({ decision: { cause: 'incomplete' } });
  });
});

describe('without a service', () => {
  test('a missing server is reported with its address', async () => {
    await expect(connect({ nats: 'nats://127.0.0.1:1', cwd: scene.cwd })).rejects.toMatchObject({
      code: 'service.unreachable',
      message: expect.stringContaining('no NATS server at nats://127.0.0.1:1'),
    });
  });

  test('a fleet that nobody has ever served has no log for an entry', async () => {
    const server = await openNats({});
    onTestFinished(() => server.stop());
    const client = await connect({ nats: server.url, fleet: 'mistyped', cwd: scene.cwd });
    onTestFinished(() => client.close());
    await expect(client.publish('worker', 'w1', 'heartbeat.sent')).rejects.toMatchObject({
      code: 'log.unavailable',
      message: expect.stringContaining("no log of fleet 'mistyped' answers on this NATS server"),
    });
  });

  test('a reply that is not a decision is an error', async () => {
    const server = await openNats({});
    onTestFinished(() => server.stop());
    const impostor = await openClient(server.url);
    onTestFinished(() => impostor.close());
    impostor.nc.subscribe('stopgate.main.>', { callback: (_error, message) => void message.respond('{"hello":1}') });
    await impostor.nc.flush();
    const client = await connect({ nats: server.url, fleet: 'main', cwd: scene.cwd });
    onTestFinished(() => client.close());
    await expect(client.decide('w1')).rejects.toThrow('the reply is not a decision');
    await expect(client.getTask('T-1')).rejects.toThrow('the reply is not a view of a task');
  });
});

test('a program without types is told what is missing or unknown', async () => {
  const { client } = scene;
  const missing = undefined as unknown as string;
  const bad = (message: string) => ({ code: 'input.bad', message: expect.stringContaining(message) });
  await expect(client.decide(missing)).rejects.toMatchObject(bad("'undefined' is not the id of a worker"));
  const published = client.publish('task', missing, 'task.created');
  await expect(published).rejects.toMatchObject(bad("'undefined' is not the id of a task"));
  await expect(client.serveCheck('scan', undefined as never)).rejects.toMatchObject(bad('needs a function'));
  await expect(connect({ role: 'admin' as 'agent' })).rejects.toMatchObject(bad("not 'admin'"));
});

test('entries are validated before they are sent, and a message id is stored once', async () => {
  const { client } = scene;
  const first = await client.publish('task', 'T-1', 'task.created', { title: 'one' }, { messageId: 'm1' });
  const again = await client.publish('task', 'T-1', 'task.created', { title: 'one' }, { messageId: 'm1' });
  expect(again).toEqual({ seq: first.seq, duplicate: true });
  await expect(client.publish('worker', 'w9', 'tool.used', { tool: '' })).rejects.toMatchObject({
    code: 'input.bad',
    issues: [{ path: 'tool' }],
  });
  await expect(client.publish('task', 'T 1', 'task.created')).rejects.toThrow("'T 1' is not the id of a task");
  await expect(client.publish('task', 'T-1', 'task.exploded' as 'task.created')).rejects.toThrow('these are: ');
});

test('views are read one by one and in pages', async () => {
  const { client } = scene;
  for (const id of ['P-1', 'P-2', 'P-3']) await client.publish('task', id, 'task.created', { queue: 'pages' });
  expect(await client.getTask('P-1')).toMatchObject({ task: 'P-1', state: 'idle', queue: 'pages', hooks: [] });
  expect(await client.getQueue('pages')).toEqual({
    queue: 'pages',
    pending: 3,
    reported: 0,
    workers: 0,
    unattended: null,
    next: ['P-1', 'P-2', 'P-3'].map((task) => ({ task, title: null })),
  });
  const page = await client.listTasks({ queue: 'pages', limit: 2 });
  expect(page.items.map((it) => it.task)).toEqual(['P-1', 'P-2']);
  const next = await client.listTasks({ queue: 'pages', after: page.next ?? '' });
  expect([next.items.map((it) => it.task), next.next]).toEqual([['P-3'], null]);
  expect((await client.listWorkers({ state: 'escalated' })).items).toEqual([]);
  expect((await client.listEscalations({ kind: 'permission' })).items).toEqual([]);
  expect((await client.listQueues()).items.map((it) => it.queue)).toContain('pages');
  await expect(client.getQueue('nowhere')).rejects.toMatchObject({ code: 'actor.unknown' });
});

test('onDecision delivers the decisions of one worker or of all, until it is closed', async () => {
  const { client } = scene;
  const [one, all]: [Decision[], Decision[]] = [[], []];
  const hearsOne = await client.onDecision('h1', (decision) => one.push(decision));
  const hearsAll = await client.onDecision(null, (decision) => all.push(decision));
  plain.nc.publish('stopgate.main.decision.h1', 'no decision');
  const decided = await client.worker('h1').decide({ attempt: 'a1' });
  await client.decide('h2');
  await expect.poll(() => all.map((it) => it.worker)).toEqual(expect.arrayContaining(['h1', 'h2']));
  expect(one).toEqual([decided]);
  hearsOne.close();
  await client.worker('h1').decide();
  await expect.poll(() => all.filter((it) => it.worker === 'h1').length).toBe(2);
  expect(one).toHaveLength(1);
  hearsAll.close();
});

test('a worker handle has the same calls', async () => {
  const worker = scene.client.worker('h3');
  await worker.publish('worker.registered', { policy: 'planned' });
  await worker.publish('plan.updated', { steps: [{ title: 'One', status: 'open' }] });
  expect((await worker.probe()).decision).toBe('block');
  expect((await worker.decide()).decision).toBe('block');
  await expect(worker.assertComplete()).rejects.toBeInstanceOf(IncompleteError);
  expect(await worker.get()).toMatchObject({ worker: 'h3', state: 'blocked' });
});

test('a closed client reports so, and a client closes at the end of its scope', async () => {
  const client = await scene.connect();
  await client[Symbol.asyncDispose]();
  const calls = [
    () => client.decide('w1'),
    () => client.probe('w1'),
    () => client.onDecision(null, () => {}),
    () => client.serveCheck('c1', () => ({ complete: true, reason: '' })),
  ];
  for (const call of calls) await expect(call()).rejects.toMatchObject({ code: 'service.unreachable' });
  await expect(client.publish('worker', 'w1', 'heartbeat.sent')).rejects.toMatchObject({ code: 'log.unavailable' });
  await client.close();
});
