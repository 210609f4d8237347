/** The Stately inspection protocol, tested with the package's own receiver and relay. */
import { once } from 'node:events';
import { createWebSocketReceiver } from '@statelyai/inspect';
import { createInspectorServer } from '@statelyai/inspect/server';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { WebSocket } from 'ws';
import { createMachine } from 'xstate';
import { createFleet, foldEntry } from '../../../machines/index.ts';
import { type AccessToken, hashOfToken } from '../../../src/config/access-tokens.ts';
import { createObservers } from '../../../src/host/fold/observers.ts';
import { directoryOf } from '../../../src/http/fleet-directory.ts';
import { openHttpServer } from '../../../src/http/server.ts';
import { createFeed } from '../../../src/inspector/stately/feed.ts';
import { createLogger } from '../../../src/log.ts';
import { createMetrics } from '../../../src/telemetry/metrics.ts';
import { findFreePort, openProxy } from '../../integration/inspector/ports.ts';
import { openStage, type Stage } from '../../support/stage.ts';

// biome-ignore lint/suspicious/noExplicitAny: the tests say what is in a frame
type Frame = any;

const logger = createLogger('silent');
let stage: Stage;
beforeAll(async () => {
  stage = await openStage({ policies: { policies: { default: { checks: [{ plan: {} }] } } } });
});
afterAll(async () => stage.close());

const socketUrl = (query = '') => `${stage.http.url.replace('http', 'ws')}/inspect/ws${query}`;
const until = async <Value>(find: () => Value | Promise<Value>): Promise<NonNullable<Value>> => {
  for (const late = Date.now() + 5_000; ; ) {
    const found = await find();
    if (found) return found;
    if (Date.now() > late) throw new Error('not seen within 5 s');
    await new Promise((done) => setTimeout(done, 10));
  }
};
const receive = (server: string): Frame[] => {
  const frames: Frame[] = [];
  createWebSocketReceiver({ server }).subscribe((frame) => frames.push(frame));
  return frames;
};
const of = (frames: Frame[], sessionId: string) => frames.filter((frame) => frame.sessionId === sessionId);
const claims = async (worker: string, task: string) => {
  await stage.client.publish(`task.${task}.task.created`, { title: 'Fix it' });
  await stage.client.publish(`worker.${worker}.task.claimed`, { task });
  await stage.get(`get/task/${task}`);
};

describe("the package's own receiver", () => {
  test('gets each actor with its definition and current state, parents first', async () => {
    await claims('p1', 'P-1');
    await stage.client.publish('worker.p2.worker.registered', { parent: 'p1' });
    await stage.get('get/worker/p2');
    const frames = receive(socketUrl());
    const task = await until(() => of(frames, 'task:P-1')[0]);
    expect(task).toMatchObject({
      type: '@xstate.actor',
      name: 'task P-1',
      rootId: 'worker:p1',
      parentId: 'worker:p1',
      _version: '0.7.2',
      snapshot: { status: 'active', value: 'working', context: { worker: 'p1', queue: 'main' } },
    });
    const [worker] = of(frames, 'worker:p1');
    expect(worker).toMatchObject({
      rootId: 'worker:p1',
      snapshot: { value: { state: 'working', presence: 'active' } },
    });
    expect(worker).not.toHaveProperty('parentId');
    const [child] = of(frames, 'worker:p2');
    expect(child).toMatchObject({ parentId: 'worker:p1', rootId: 'worker:p1' });
    const order = frames.map((frame) => frame.sessionId);
    expect(order.indexOf('worker:p1')).toBeLessThan(order.indexOf('worker:p2'));
    expect(order.indexOf('worker:p1')).toBeLessThan(order.indexOf('task:P-1'));
    const { states } = createMachine(JSON.parse(worker.definition)).root;
    expect(Object.keys(states.state?.states ?? {})).toContain('validating');
    expect(states.state?.states.validating?.always?.length).toBeGreaterThan(10);
  });

  test('then gets each event with the resulting snapshot, and the verdict of each guard on a stop', async () => {
    await claims('e1', 'E-1');
    await stage.client.publish('worker.e1.plan.updated', { steps: [{ title: 'Fix lint', status: 'pending' }] });
    await stage.get('get/worker/e1');
    const frames = receive(socketUrl('?worker=e1'));
    await until(() => of(frames, 'worker:e1')[0]);
    await stage.client.ask('decide.e1');
    await until(() => frames.find((frame) => frame.snapshot?.value?.state === 'blocked'));
    const [actor, event, decided, snapshot] = of(frames, 'worker:e1');
    expect(actor.snapshot.context).toMatchObject({ planDone: 0, planTotal: 1, tasks: ['E-1'], lastDecision: null });
    expect(event).toMatchObject({ type: '@xstate.event', event: { type: 'stop.attempted' } });
    expect(decided).toMatchObject({
      type: '@xstate.event',
      event: { type: 'stop.decided', decision: 'block', cause: 'incomplete' },
    });
    expect(decided.event.guards).toContainEqual({ guard: 'checks', verdict: 'block', tookMs: expect.any(Number) });
    expect(snapshot).toMatchObject({
      type: '@xstate.snapshot',
      event: { type: 'stop.attempted' },
      snapshot: { value: { state: 'blocked' }, context: { lastDecision: { decision: 'block' }, retryCount: 1 } },
    });
    await until(() => of(frames, 'task:E-1').find((frame) => frame.snapshot?.value === 'blocked'));
  });

  test("gets the same through the package's relay, even if it connects late", async () => {
    await claims('r1', 'R-1');
    const port = await findFreePort();
    const relay = createInspectorServer({ port, autoOpen: false, url: 'about:blank' });
    const sender = new WebSocket(`ws://127.0.0.1:${port}`);
    await once(sender, 'open');
    const ours = new WebSocket(socketUrl('?worker=r1'));
    let relayed = 0;
    ours.on('message', (frame) => {
      sender.send(String(frame));
      relayed += 1;
    });
    await until(() => relayed >= 2);
    // The package's receiver cannot be closed, but the proxy can.
    const proxy = await openProxy(port);
    const frames = receive(`ws://127.0.0.1:${proxy.port}`);
    await until(() => of(frames, 'task:R-1')[0]);
    expect(frames.map((frame) => [frame.type, frame.sessionId, frame.snapshot.value])).toEqual([
      ['@xstate.actor', 'worker:r1', { state: 'working', presence: 'active' }],
      ['@xstate.actor', 'task:R-1', 'working'],
    ]);
    await proxy.close();
    ours.terminate();
    sender.terminate();
    relay.stop();
  });
});

test('?worker= shows one worker, with its tasks and subagents', async () => {
  await claims('o1', 'O-1');
  await claims('o2', 'O-2');
  await stage.client.publish('worker.o3.worker.registered', { parent: 'o1' });
  await stage.get('get/worker/o3');
  const frames = receive(socketUrl('?worker=o1'));
  await until(() => of(frames, 'worker:o1')[0]);
  await claims('o1', 'O-4');
  await until(() => of(frames, 'task:O-4')[0]);
  expect(of(frames, 'task:O-4')[0].parentId).toBe('worker:o1');
  expect([...new Set(frames.map((frame) => frame.sessionId))].sort()).toEqual([
    'task:O-1',
    'task:O-4',
    'worker:o1',
    'worker:o3',
  ]);
});

test('shows at most fifty actors of a large fleet, the most recent ones', async () => {
  const many = await openStage();
  try {
    for (let index = 0; index < 70; index += 1)
      await many.client.publish(`worker.m${index}.tool.used`, { tool: 'Bash' });
    await many.get('get/worker/m69');
    const frames = receive(`${many.http.url.replace('http', 'ws')}/inspect/ws`);
    await until(() => of(frames, 'worker:m69')[0]);
    await many.client.publish('worker.m69.input.requested', {});
    await until(() => frames.find((frame) => frame.type === '@xstate.snapshot'));
    await many.client.publish('worker.late.tool.used', { tool: 'Bash' });
    await many.client.publish('worker.m69.input.received', {});
    await until(() => frames.find((frame) => frame.event?.type === 'input.received'));
    const shown = new Set(frames.map((frame) => frame.sessionId));
    expect(shown.size).toBe(50);
    expect(shown).toContain('worker:m40');
    expect(shown).not.toContain('worker:m1');
    expect(shown).not.toContain('worker:late');
  } finally {
    await many.close();
  }
});

test('no frame contains what agents say, run or see', async () => {
  const secret = 'hunter2';
  const publish = (type: string, data: object) => stage.client.publish(`worker.s1.${type}`, data);
  const frames: Frame[] = [];
  await publish('worker.registered', { agent: 'claude', cwd: `/home/${secret}`, labels: { key: secret } });
  await stage.get('get/worker/s1');
  const socket = new WebSocket(socketUrl());
  socket.on('message', (frame) => frames.push(String(frame)));
  await once(socket, 'open');
  await stage.client.publish('task.S-1.task.created', { title: secret });
  await publish('task.claimed', { task: 'S-1' });
  await publish('prompt.submitted', { prompt: secret });
  await publish('tool.used', { tool: 'Bash', input: secret, output: secret, files: [`/home/${secret}`] });
  await publish('plan.updated', { steps: [{ title: secret, status: 'pending' }] });
  await stage.client.ask('decide.s1', { message: secret });
  await until(() => frames.find((frame) => frame.includes('stop.decided') && frame.includes('worker:s1')));
  await until(() => frames.find((frame) => frame.includes('"value":"blocked"') && frame.includes('task:S-1')));
  expect(frames.length).toBeGreaterThan(10);
  expect(frames.filter((frame) => frame.includes(secret))).toEqual([]);
  socket.terminate();
});

test('for an inspector that does not read, only the latest step of each actor is kept', async () => {
  await stage.client.publish('worker.b1.tool.used', { tool: 'Bash' });
  await stage.get('get/worker/b1');
  const frames: Frame[] = [];
  let ready = true;
  let checks = 0;
  const isReady = () => {
    checks += 1;
    return ready;
  };
  const client = { send: (frame: string) => void frames.push(JSON.parse(frame)), isReady };
  const { leave } = stage.replica.inspection.feed.join(client, 'b1');
  expect(frames).toHaveLength(1);
  ready = false;
  for (let index = 1; index <= 100; index += 1) await stage.client.publish('worker.b1.tool.used', { tool: 'Bash' });
  await until(async () => (await stage.get('get/worker/b1')).body.toolCount === 101);
  const checked = checks;
  await until(() => checks > checked);
  expect(frames).toHaveLength(1);
  ready = true;
  await until(() => frames.length > 1);
  expect(frames.slice(1).map((frame) => frame.type)).toEqual(['@xstate.event', '@xstate.snapshot']);
  expect(frames.at(-1).snapshot.context.toolCount).toBe(101);
  leave();
});

// Root cause: showing parents recursively overflowed the service's stack.
test('shows the nearest of thousands of parents, topmost first', () => {
  const fleet = createFleet('main');
  const feed = createFeed(fleet, createObservers(fleet, logger).add, logger);
  for (let worker = 0; worker < 20_000; worker += 1) {
    const data = { parent: `w${worker + 1}` };
    const entry = { area: 'worker', fleet: 'main', id: `w${worker}`, type: 'worker.registered', data } as const;
    foldEntry(fleet, { seq: worker + 1, atMs: 1_000, entry });
  }
  const names: string[] = [];
  const { leave } = feed.join({ send: (frame) => void names.push(JSON.parse(frame).name), isReady: () => true }, null);
  leave();
  expect(names).toHaveLength(50);
  expect([names[0], names.at(-1)]).toEqual(['worker w49', 'worker w0']);
});

test('one round fills a socket only slightly beyond its limit', async () => {
  const fleet = createFleet('main');
  const feed = createFeed(fleet, createObservers(fleet, logger).add, logger);
  const act = (worker: number) => {
    const entry = { area: 'worker', fleet: 'main', id: `w${worker}`, type: 'input.requested', data: {} } as const;
    foldEntry(fleet, { seq: fleet.seq + 1, atMs: 1_000 + fleet.seq, entry });
  };
  for (let worker = 0; worker < 50; worker += 1) act(worker);
  const limit = 64 * 1024;
  const socket = { bytes: 0, checks: 0 };
  const isReady = () => {
    socket.checks += 1;
    return socket.bytes < limit;
  };
  const send = (frame: string) => {
    socket.bytes += frame.length;
  };
  const { leave } = feed.join({ send, isReady }, null);
  for (let index = 0; index < 5_000; index += 1) act(index % 50);
  const checks = socket.checks;
  await until(() => socket.checks >= checks + 100);
  leave();
  expect(socket.bytes).toBeGreaterThan(limit);
  expect(socket.bytes).toBeLessThan(2 * limit);
});

test('two workers that name each other as parent are shown', async () => {
  await stage.client.publish('worker.c1.worker.registered', { parent: 'c2' });
  await stage.client.publish('worker.c2.worker.registered', { parent: 'c1' });
  await stage.get('get/worker/c2');
  const frames = receive(socketUrl('?worker=c1'));
  await until(() => of(frames, 'worker:c2')[0] && of(frames, 'worker:c1')[0]);
});

describe('a WebSocket follows the admission rules of requests', () => {
  const refusal = async (url: string, headers: Record<string, string> = {}) => {
    const socket = new WebSocket(url, { headers });
    const [, response] = await once(socket, 'unexpected-response');
    let text = '';
    for await (const part of response) text += part;
    return { status: response.statusCode, message: JSON.parse(text).error.message };
  };

  test.each([
    ['a page of a foreign origin', '', { origin: 'https://evil.example' }, 403],
    ['a foreign host name', '', { host: 'evil.example' }, 421],
    ['an unknown worker', '?worker=nobody', {}, 404],
    ['an invalid worker id', '?worker=a.b', {}, 400],
  ])('%s is refused', async (_who, query, headers, status) => {
    const refused = await refusal(socketUrl(query), headers as Record<string, string>);
    expect(refused.status).toBe(status);
    expect(refused.message).not.toBe('');
  });

  test('another path has no WebSocket', async () => {
    expect(await refusal(`${stage.http.url.replace('http', 'ws')}/elsewhere`)).toEqual({
      status: 404,
      message: 'no WebSocket at /elsewhere; /inspect/ws sends the fleet to XState inspectors',
    });
  });

  test('it only sends: an app that sends to it is disconnected, with the reason', async () => {
    const socket = new WebSocket(socketUrl());
    await once(socket, 'open');
    socket.send('{"type":"@xstate.actor","sessionId":"x:0","_version":"0.7.2"}');
    const [code, reason] = await once(socket, 'close');
    expect([code, String(reason)]).toEqual([1008, 'this address only sends']);
  });

  test('requires the token if one is set', async () => {
    const fleets = directoryOf(stage.replica);
    const guarded = await openHttpServer({
      fleets,
      host: '127.0.0.1',
      port: 0,
      token: 'a-token',
      operatorToken: null,
      version: '0.0.0',
      metrics: createMetrics(),
      log: createLogger('silent'),
    });
    const url = `${guarded.url.replace('http', 'ws')}/inspect/ws`;
    expect((await refusal(url)).status).toBe(401);
    expect((await refusal(url, { authorization: 'Bearer wrong' })).status).toBe(401);
    const socket = new WebSocket(url, { headers: { authorization: 'Bearer a-token' } });
    await once(socket, 'open');
    // A connected inspector does not keep the service from closing.
    await guarded.close();
    await until(() => socket.readyState === WebSocket.CLOSED);
  });
});

test('a removed token ends this connection and the stream of the page; others continue', async () => {
  const tokenOf = (name: string): AccessToken => ({
    name,
    role: 'read',
    workers: null,
    fleets: null,
    hashes: [hashOfToken(`of-${name}`)],
  });
  const tokens = [tokenOf('ann'), tokenOf('bob')];
  const guarded = await openHttpServer({
    fleets: directoryOf(stage.replica),
    host: '127.0.0.1',
    port: 0,
    token: null,
    operatorToken: null,
    version: '0.0.0',
    tokens: () => tokens,
    metrics: createMetrics(),
    log: createLogger('silent'),
  });
  onTestFinished(() => guarded.close());
  const open = async (name: string) => {
    const headers = { authorization: `Bearer of-${name}` };
    const socket = new WebSocket(`${guarded.url.replace('http', 'ws')}/inspect/ws`, { headers });
    await once(socket, 'open');
    return { socket, stream: await fetch(`${guarded.url}/api/main/stream`, { headers }) };
  };
  const [ann, bob] = [await open('ann'), await open('bob')];
  const closed = once(ann.socket, 'close');
  tokens.shift();
  await closed;
  expect(await ann.stream.text()).toContain('event: hello');
  expect(bob.socket.readyState).toBe(WebSocket.OPEN);
  await bob.stream.body?.cancel();
  bob.socket.terminate();
});
