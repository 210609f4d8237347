/** Who may do what (protocol.md §13), asked of a real server; and what the lists of subjects alone would not hold. */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { jetstream, jetstreamManager } from '@nats-io/jetstream';
import { createInbox, headers, type Msg, type NatsConnection, PermissionViolationError } from '@nats-io/nats-core';
import { Objm } from '@nats-io/obj';
import { connect as natsConnect } from '@nats-io/transport-node';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createLogger } from '../../../src/log.ts';
import { openConnection } from '../../../src/nats/connection.ts';
import { type EmbeddedServer, openEmbeddedServer } from '../../../src/nats/embedded-server.ts';
import { permissionsFor, privateInbox, type Role } from '../../../src/nats/permissions.ts';
import { startNatsServer } from '../../support/nats-server.ts';
import { keepRefusals, type RoleClient, refusesPublish, refusesSubscribe } from '../../support/role-client.ts';

const fleet = 'main';
const logStream = 'STOPGATE_main';
const deadStream = 'STOPGATE-DEAD_main';
const captured = ['worker', 'task', 'queue', 'own', 'decision'].map((head) => `stopgate.main.${head}.>`);
const serviceVerbs = ['decide', 'probe', 'verify', 'evaluate', 'get', 'list'];

const open: NatsConnection[] = [];
async function connect(url: string, credsFile?: string): Promise<RoleClient> {
  const client = keepRefusals(await openConnection({ url, credsFile, name: 'test', patient: false }));
  open.push(client.nc);
  return client;
}

/** What arrives first on a subject from now on. */
async function firstOn(nc: NatsConnection, subject: string): Promise<{ arrived: Promise<Msg> }> {
  const arrived = new Promise<Msg>((resolve, reject) => {
    const given = (error: Error | null, message: Msg) => (error === null ? resolve(message) : reject(error));
    nc.subscribe(subject, { max: 1, callback: given });
  });
  await nc.flush();
  return { arrived };
}

const echo = (nc: NatsConnection, subject: string, queue: string) =>
  nc.subscribe(subject, { queue, callback: (_, message) => void message.respond(`answer to ${message.subject}`) });

const forge = (error: Error | null, message: Msg) => void (error ?? message.respond('forged'));

const ask = async ({ nc }: RoleClient, subject: string, body = '') =>
  (await nc.request(subject, body, { timeout: 5_000 })).string();

async function createLog(nc: NatsConnection): Promise<void> {
  const { streams } = await jetstreamManager(nc);
  const kept = { storage: 'file', discard: 'new', deny_delete: true, deny_purge: true } as const;
  await streams.add({ ...kept, name: logStream, subjects: captured });
  await streams.add({ ...kept, name: deadStream, subjects: ['stopgate.main.dead.>'] });
}

/** Every subject that a stream holds. */
async function subjectsOf(nc: NatsConnection, stream: string): Promise<string[]> {
  const { state } = await (await jetstreamManager(nc)).streams.info(stream, { subjects_filter: '>' });
  return Object.keys(state.subjects ?? {});
}

let storeDir: string;
let server: EmbeddedServer;
let service: RoleClient;
let agent: RoleClient;
const connectAs = (role: Role) => connect(server.url, server.credentials(role));

beforeAll(async () => {
  storeDir = await mkdtemp(join(tmpdir(), 'stopgate-permissions-'));
  server = await openEmbeddedServer({ storeDir, port: 0, fleet, log: createLogger('silent') });
  service = await connectAs('service');
  agent = await connect(server.url);
  await createLog(service.nc);
  for (const verb of serviceVerbs) echo(service.nc, `stopgate.main.${verb}.>`, 'stopgate');
  await service.nc.flush();
});

afterAll(async () => {
  await Promise.all(open.map((nc) => nc.close()));
  await server.close();
  await rm(storeDir, { recursive: true, force: true });
});

describe('without credentials', () => {
  test.each(['worker.any.tool.used', 'task.T-1.task.created', 'queue.main.depth.reported'])(
    'publishes %s',
    async (tail) => {
      const ack = await jetstream(agent.nc).publish(`stopgate.main.${tail}`, '{}', { msgID: tail });
      expect(ack).toMatchObject({ stream: logStream, duplicate: false });
      const again = await jetstream(agent.nc).publish(`stopgate.main.${tail}`, '{}', { msgID: tail });
      expect(again).toMatchObject({ seq: ack.seq, duplicate: true });
    },
  );

  test.each(serviceVerbs)('asks the service to %s', async (verb) => {
    expect(await ask(agent, `stopgate.main.${verb}.some.one`)).toBe(`answer to stopgate.main.${verb}.some.one`);
  });

  test('asks check servers and runners', async () => {
    const [runner, check] = [await connectAs('runner'), await connectAs('check')];
    echo(runner.nc, 'stopgate.main.run.r1', 'r1');
    echo(check.nc, 'stopgate.main.check.scan', 'stopgate-check');
    await Promise.all([runner.nc.flush(), check.nc.flush()]);
    expect(await ask(agent, 'stopgate.main.run.r1')).toBe('answer to stopgate.main.run.r1');
    expect(await ask(agent, 'stopgate.main.check.scan')).toBe('answer to stopgate.main.check.scan');
    expect(await ask(service, 'stopgate.main.check.scan')).toBe('answer to stopgate.main.check.scan');
  });

  test('discovers every service', async () => {
    const runner = await connectAs('runner');
    for (const { nc } of [service, runner]) {
      nc.subscribe('$SRV.PING', { callback: (_, message) => void message.respond('pong') });
      await nc.flush();
    }
    const pongs: string[] = [];
    const asked = await agent.nc.requestMany('$SRV.PING', '', { strategy: 'count', maxMessages: 2, maxWait: 5_000 });
    for await (const message of asked) pongs.push(message.string());
    expect(pongs).toEqual(['pong', 'pong']);
  });

  test.each([
    { tail: 'decision.w1', wildcard: 'stopgate.main.decision.>' },
    { tail: 'dead.worker.w1', wildcard: 'stopgate.*.dead.worker.*' },
  ])('listens to $tail, also by a wildcard', async ({ tail, wildcard }) => {
    const exact = await firstOn(agent.nc, `stopgate.main.${tail}`);
    const all = await firstOn((await connect(server.url)).nc, wildcard);
    service.nc.publish(`stopgate.main.${tail}`, tail);
    for (const { arrived } of [exact, all]) expect((await arrived).string()).toBe(tail);
  });

  test('gets the answer to an attempt that it published itself', async () => {
    service.nc.subscribe('stopgate.main.worker.short.stop.attempted', {
      callback: (_, message) => service.nc.publish(message.headers?.get('Stopgate-Reply') ?? '', 'the decision'),
    });
    await service.nc.flush();
    const inbox = createInbox();
    const { arrived } = await firstOn(agent.nc, inbox);
    const given = headers();
    given.set('Stopgate-Reply', inbox);
    agent.nc.publish('stopgate.main.worker.short.stop.attempted', '{}', { headers: given });
    expect((await arrived).string()).toBe('the decision');
  });

  test('has streams of its own', async () => {
    const { streams, consumers } = await jetstreamManager(agent.nc);
    await streams.add({ name: 'ORDERS', subjects: ['orders.>'], storage: 'memory' });
    const { seq } = await jetstream(agent.nc).publish('orders.1', 'one');
    await consumers.add('ORDERS', { durable_name: 'c', ack_policy: 'explicit' });
    const message = await (await jetstream(agent.nc).consumers.get('ORDERS', 'c')).next({ expires: 5_000 });
    expect([message?.seq, message?.string()]).toEqual([seq, 'one']);
    expect(await message?.ackAck()).toBe(true);
    await streams.purge('ORDERS');
    expect(await streams.delete('ORDERS')).toBe(true);
  });

  test('fills no disk with its streams, and sends no endless message', async () => {
    const { streams } = await jetstreamManager(agent.nc);
    await streams.add({ name: 'LARGE', subjects: ['large'], max_bytes: 200 * 1_048_576 });
    await expect(streams.add({ name: 'LARGER', subjects: ['larger'], max_bytes: 100 * 1_048_576 })).rejects.toThrow(
      'insufficient storage',
    );
    await streams.delete('LARGE');
    expect(() => agent.nc.publish('stopgate.main.worker.w1.tool.used', 'x'.repeat(71_681))).toThrow('max_payload');
    const names = Array.from({ length: 17 }, (_, index) => `S${index}`);
    const add = (name: string) => streams.add({ name, subjects: [name], storage: 'memory' });
    for (const name of names.slice(1)) await add(name);
    await expect(add('S0')).rejects.toThrow('maximum number of streams');
    for (const name of names.slice(1)) await streams.delete(name);
  });

  test('subscribes to no more than 256 subjects on a connection', async () => {
    const greedy = await connect(server.url);
    const errors: string[] = [];
    void (async () => {
      for await (const status of greedy.nc.status()) if (status.type === 'error') errors.push(status.error.message);
    })();
    for (let count = 0; count < 257; count += 1) greedy.nc.subscribe(`_INBOX.${count}`, { callback: () => {} });
    await greedy.nc.flush();
    await expect.poll(() => errors).toContain('maximum subscriptions exceeded');
  });

  test('reads the log by its number', async () => {
    const { streams } = await jetstreamManager(agent.nc);
    const { seq } = await jetstream(agent.nc).publish('stopgate.main.worker.read.tool.used', '{"tool":"Bash"}');
    expect((await streams.info(logStream)).config.subjects).toEqual(captured);
    expect((await streams.getMessage(logStream, { seq }))?.string()).toBe('{"tool":"Bash"}');
    expect((await streams.info(deadStream)).config.name).toBe(deadStream);
  });

  test.each(['own.worker.w1.worker.retired', 'own.fleet.main.policy.set', 'decision.w1', 'dead.worker.w1'])(
    'may not publish %s, in any fleet',
    async (tail) => {
      for (const name of [fleet, 'other']) await refusesPublish(agent, `stopgate.${name}.${tail}`);
    },
  );

  test.each(['check.scan', 'check.>', 'run.r1', 'run.>', ...serviceVerbs.map((verb) => `${verb}.>`)])(
    'may not serve %s',
    async (tail) => {
      await refusesSubscribe(agent, `stopgate.main.${tail}`);
    },
  );

  test.each(['$SRV.PING.stopgate', '$SRV.INFO.stopgate.r1', '$STOPGATE.API.>', 'orders.1'])(
    'may not subscribe to %s',
    async (subject) => {
      await refusesSubscribe(agent, subject);
    },
  );

  // Root cause: a wildcard that overlaps a denied subject is let through. In the queue group of the service it took the
  // requests of other agents, and forged 19 of 20 answers.
  test.each(['>', 'stopgate.>', '*.*.*.*', 'stopgate.*.*.*', '*.main.decide.*', '_INBOX'])(
    'may not serve by the wildcard %s',
    async (subject) => {
      const thief = await connect(server.url);
      await refusesSubscribe(thief, subject);
      await refusesSubscribe(thief, subject, 'stopgate');
      thief.nc.subscribe(subject, { queue: 'stopgate', callback: forge });
      await thief.nc.flush();
      const asked = 'stopgate.main.decide.w1';
      const answers = await Promise.all(Array.from({ length: 20 }, () => ask(agent, asked)));
      expect(new Set(answers)).toEqual(new Set([`answer to ${asked}`]));
    },
  );

  const streamCalls = [
    'CREATE',
    'UPDATE',
    'DELETE',
    'PURGE',
    'SNAPSHOT',
    'RESTORE',
    'MSG.DELETE',
    'PEER.REMOVE',
    'LEADER.STEPDOWN',
  ];
  const consumerCalls = [
    'CREATE.$',
    'CREATE.$.c',
    'CREATE.$.c.stopgate.main',
    'DURABLE.CREATE.$.c',
    'DELETE.$.c',
    'MSG.NEXT.$.c',
  ];
  test.each([logStream, deadStream])('may not touch %s', async (stream) => {
    const intruder = await connect(server.url);
    for (const call of streamCalls) await refusesPublish(intruder, `$JS.API.STREAM.${call}.${stream}`);
    for (const call of consumerCalls) await refusesPublish(intruder, `$JS.API.CONSUMER.${call.replace('$', stream)}`);
    const { streams } = await jetstreamManager(intruder.nc);
    const violation = { cause: expect.any(PermissionViolationError) };
    await expect(streams.delete(stream)).rejects.toMatchObject(violation);
    await expect(streams.purge(stream)).rejects.toMatchObject(violation);
    expect((await (await jetstreamManager(service.nc)).streams.info(stream)).config.name).toBe(stream);
  });

  test.each(['STOPGATE-SNAPSHOTS_main', 'STOPGATE-PAST_main'])('neither reads nor changes %s', async (store) => {
    const stream = `OBJ_${store}`;
    const objects = await new Objm(jetstream(service.nc)).create(store);
    await objects.putBlob({ name: '1' }, Buffer.from('all that is known'));
    const state = async () => (await (await jetstreamManager(service.nc)).streams.info(stream)).state;
    const before = await state();
    const intruder = await connect(server.url);
    for (const call of streamCalls) await refusesPublish(intruder, `$JS.API.STREAM.${call}.${stream}`);
    for (const call of consumerCalls) await refusesPublish(intruder, `$JS.API.CONSUMER.${call.replace('$', stream)}`);
    for (const subject of ['$O.>', `$O.${store}.>`, '$O.*.C.*', '$JS.API.>', '_STOPGATE_INBOX.>'])
      await refusesSubscribe(intruder, subject);

    // The API that answers is that of the agents' own account, which has no such stream.
    const { streams } = await jetstreamManager(intruder.nc);
    await expect(streams.info(stream)).rejects.toThrow('stream not found');
    await expect(streams.getMessage(stream, { seq: before.first_seq })).rejects.toThrow('stream not found');
    const direct = intruder.nc.request(`$JS.API.DIRECT.GET.${stream}`, `{"seq":${before.first_seq}}`, {
      timeout: 5_000,
    });
    await expect(direct).rejects.toThrow();

    // Nor does what it has written on their subjects leave that account: by itself, as a reply, or by a stream.
    const meta = `$O.${store}.M.MQ==`;
    await streams.add({ name: 'CAUGHT', subjects: [meta], storage: 'memory' });
    await streams.add({
      name: 'THIEF',
      subjects: ['thief'],
      republish: { src: 'thief', dest: meta },
      storage: 'memory',
    });
    intruder.nc.publish(meta, '{}');
    intruder.nc.publish('stopgate.main.worker.w1.tool.used', '{}', { reply: meta });
    intruder.nc.publish('thief', '{}');
    await expect.poll(async () => (await streams.info('CAUGHT')).state.messages).toBe(3);
    for (const name of ['CAUGHT', 'THIEF']) await streams.delete(name);
    expect(await state()).toEqual(before);
  });
});

/**
 * Root cause: a server writes in its own name, past the permissions of whoever made it do so. Each of these succeeded
 * with the same lists of subjects where agents shared the service's account (nats-server 2.9.10): see the last test.
 */
describe('what an anonymous client cannot make the server write', () => {
  const target = 'stopgate.main.own.worker.victim.worker.retired';

  /** What the server wrote on a subject, which it did in the client's own account: a stream of the client's holds it. */
  async function written({ nc }: RoleClient, subject: string): Promise<{ arrived(): Promise<string> }> {
    const { streams } = await jetstreamManager(nc);
    const name = `WRITTEN-${subject.replaceAll('.', '-')}`;
    await streams.add({ name, subjects: [subject], storage: 'memory' });
    const first = async () => {
      const { state } = await streams.info(name);
      return state.messages === 0 ? null : ((await streams.getMessage(name, { seq: 1 }))?.string() ?? null);
    };
    return {
      async arrived() {
        await expect.poll(first).not.toBeNull();
        const text = await first();
        await streams.delete(name);
        return text ?? '';
      },
    };
  }

  async function republish({ nc }: RoleClient, name: string, destination: string): Promise<void> {
    const { streams } = await jetstreamManager(nc);
    const source = `republished.${name}`;
    await streams.add({ name, subjects: [source], storage: 'memory', republish: { src: source, dest: destination } });
    await jetstream(nc).publish(source, '');
    await streams.delete(name);
  }

  async function expectUntouched(): Promise<void> {
    const { streams } = await jetstreamManager(service.nc);
    expect((await streams.info(logStream)).config.subjects).toEqual(captured);
    for (const stream of [logStream, deadStream]) {
      const found = await subjectsOf(service.nc, stream);
      expect(found.filter((subject) => subject.includes('victim') || !subject.startsWith('stopgate.main.'))).toEqual(
        [],
      );
    }
  }

  test.each([target, 'stopgate.main.decision.victim', 'stopgate.main.dead.worker.victim'])(
    'by republishing to %s',
    async (to) => {
      const { arrived } = await written(agent, to);
      await republish(agent, `R-${to.replaceAll('.', '-')}`, to);
      await arrived();
      await expectUntouched();
    },
  );

  test.each(['DELETE', 'PURGE', 'MSG.DELETE'])('by republishing to the API: %s', async (call) => {
    await republish(agent, `API-${call.replace('.', '-')}`, `$JS.API.STREAM.${call}.${logStream}`);
    await expectUntouched();
  });

  test('by a push consumer', async () => {
    const { streams, consumers } = await jetstreamManager(agent.nc);
    await streams.add({ name: 'PUSHED', subjects: ['pushed'], storage: 'memory' });
    await jetstream(agent.nc).publish('pushed', '{"by":"nobody"}');
    const { arrived } = await written(agent, target); // interest in the very subject wakes such a consumer
    await consumers.add('PUSHED', { deliver_subject: target, ack_policy: 'none', deliver_policy: 'all' });
    expect(await arrived()).toBe('{"by":"nobody"}');
    await streams.delete('PUSHED');
    await expectUntouched();
  });

  test.each([
    { asked: 'stopgate.main.worker.w1.tool.used', answer: '"seq"' },
    { asked: 'stopgate.main.decide.w1', answer: 'answer to' },
    { asked: `$JS.API.STREAM.INFO.${logStream}`, answer: 'stream_info_response' },
  ])('by a reply subject of $asked', async ({ asked, answer }) => {
    const { arrived } = await written(agent, target);
    for (const reply of [`$JS.API.STREAM.PURGE.${logStream}`, target]) agent.nc.publish(asked, '', { reply });
    expect(await arrived()).toContain(answer);
    await expectUntouched();
  });

  test('by saying that it is of another account', async () => {
    await (await jetstreamManager(service.nc)).streams.add({ name: 'SNAPSHOTS', subjects: ['snapshots'] });
    for (const info of [{ acc: 'STOPGATE' }, { acc: 'STOPGATE', svc: 'STOPGATE', user: 'service' }]) {
      const given = headers();
      given.set('Nats-Request-Info', JSON.stringify(info));
      const reply = await agent.nc.request('$JS.API.STREAM.DELETE.SNAPSHOTS', '', { headers: given, timeout: 5_000 });
      expect(reply.json()).toMatchObject({ error: { code: 404 } });
    }
    expect((await (await jetstreamManager(service.nc)).streams.info('SNAPSHOTS')).config.name).toBe('SNAPSHOTS');
  });

  test('but could in one account, with the very same lists', async () => {
    const users = (['agent', 'service'] as const).map((role) => ({
      user: role,
      password: role,
      permissions: permissionsFor(role, { fleet }),
    }));
    const plain = await startNatsServer({
      config: JSON.stringify({ no_auth_user: 'agent', authorization: { users } }),
    });
    try {
      const url = plain.url.replace('//', '//service:service@');
      const [owner, intruder] = [await connect(url), await connect(plain.url)];
      await createLog(owner.nc);
      await republish(intruder, 'R', target);
      await expect.poll(() => subjectsOf(owner.nc, logStream)).toEqual([target]);
      await republish(intruder, 'D', `$JS.API.STREAM.DELETE.${logStream}`);
      const { streams } = await jetstreamManager(owner.nc);
      await expect.poll(() => streams.info(logStream).then(String, String)).toContain('stream not found');
      await Promise.all([owner.nc.close(), intruder.nc.close()]);
    } finally {
      await plain.stop();
    }
  });
});

describe('with credentials', () => {
  test('a runner serves checks and runs, and says nothing else', async () => {
    const runner = await connectAs('runner');
    for (const subject of [
      'stopgate.main.worker.w1.tool.used',
      'stopgate.main.decide.w1',
      'stopgate.main.own.worker.w1.worker.retired',
    ]) {
      await refusesPublish(runner, subject);
    }
    for (const subject of ['stopgate.main.decide.>', 'stopgate.main.worker.>', '>'])
      await refusesSubscribe(runner, subject);
    await refusesPublish(runner, `$JS.API.STREAM.INFO.${logStream}`);
  });

  test('a check server serves checks, no runs', async () => {
    const check = await connectAs('check');
    for (const tail of ['run.r1', 'run.>', 'decide.>']) await refusesSubscribe(check, `stopgate.main.${tail}`);
    await refusesPublish(check, 'stopgate.main.worker.w1.tool.used');
  });

  test('an operator speaks an operator’s words and an agent’s, and no others', async () => {
    const operator = await connectAs('operator');
    const own = ['worker.w1.escalation.resolved', 'task.T-1.escalation.acknowledged', 'worker.w1.worker.retired'];
    for (const tail of [...own.map((word) => `own.${word}`), 'worker.w1.tool.used', 'task.T-1.task.created']) {
      expect(await jetstream(operator.nc).publish(`stopgate.main.${tail}`, '{}')).toMatchObject({ stream: logStream });
    }
    for (const verb of serviceVerbs) expect(await ask(operator, `stopgate.main.${verb}.x`)).toContain('answer to');
    for (const tail of [
      'own.worker.w1.check.finished',
      'own.fleet.main.policy.set',
      'own.task.T-1.worker.retired',
      'decision.w1',
      'dead.worker.w1',
    ]) {
      await refusesPublish(operator, `stopgate.main.${tail}`);
    }
    for (const call of ['DELETE', 'UPDATE', 'PURGE'])
      await refusesPublish(operator, `$JS.API.STREAM.${call}.${logStream}`);
    await refusesPublish(operator, '$JS.API.STREAM.CREATE.R'); // its republish could write every own entry
  });

  test('an operator reads everything', async () => {
    const operator = await connectAs('operator');
    const heard = await firstOn(operator.nc, 'stopgate.main.own.>');
    service.nc.publish('stopgate.main.own.worker.w1.timer.fired', '{}');
    expect((await heard.arrived).subject).toBe('stopgate.main.own.worker.w1.timer.fired');
    const consumer = await jetstream(operator.nc).consumers.get(logStream, {
      filter_subjects: 'stopgate.main.own.worker.w1.>',
    });
    expect((await consumer.next({ expires: 5_000 }))?.subject).toMatch(/^stopgate\.main\.own\.worker\.w1\./);
    expect(await consumer.delete()).toBe(true);
  });

  test('the service asks without being overheard, by its own inbox', async () => {
    const { user, pass } = JSON.parse(await readFile(server.credentials('service'), 'utf8')) as {
      user: string;
      pass: string;
    };
    const nc = await natsConnect({ servers: server.url, user, pass, inboxPrefix: privateInbox });
    open.push(nc);
    const [spy, check] = [await connect(server.url), await connectAs('check')];
    const heard: string[] = [];
    for (const subject of ['_INBOX.>', 'stopgate.main.dead.>'])
      spy.nc.subscribe(subject, { callback: (_, message) => void heard.push(message.string()) });
    echo(check.nc, 'stopgate.main.check.secret', 'stopgate-check');
    await Promise.all([spy.nc.flush(), check.nc.flush()]);
    const asked = 'stopgate.main.check.secret';
    for (const client of [service.nc, nc]) expect((await client.request(asked)).string()).toBe(`answer to ${asked}`);
    const { arrived } = await firstOn(spy.nc, 'stopgate.main.dead.worker.last');
    service.nc.publish('stopgate.main.dead.worker.last', 'last');
    await arrived;
    expect(heard).toEqual([`answer to ${asked}`, 'last']); // the answer to `_INBOX` alone
  });

  test('the service does everything', async () => {
    const other = await connectAs('service');
    const { streams } = await jetstreamManager(other.nc);
    await streams.add({ name: 'OWN', subjects: ['own.things'] });
    expect(await streams.delete('OWN')).toBe(true);
    expect(await jetstream(other.nc).publish('stopgate.main.decision.w1', '{}')).toMatchObject({ stream: logStream });
    expect(other.refused).toEqual([]);
  });
});

describe('the strict forms, for a server of one’s own', () => {
  test('an agent of one worker', () => {
    expect(permissionsFor('agent', { fleet: 'f', worker: 'w1' })).toEqual({
      publish: {
        allow: [
          'stopgate.f.worker.w1.>',
          'stopgate.f.decide.w1',
          'stopgate.f.probe.w1',
          'stopgate.f.verify.w1',
          'stopgate.f.get.worker.w1',
          'stopgate.f.task.>',
          'stopgate.f.queue.>',
          'stopgate.f.evaluate.>',
          'stopgate.f.get.task.>',
        ],
      },
      subscribe: { allow: ['_INBOX.>'] },
    });
  });

  test.each([
    { role: 'runner', scope: { name: 'r1' }, served: ['stopgate.f.run.r1'] },
    { role: 'runner', scope: { name: 'r1', checks: ['a'] }, served: ['stopgate.f.run.r1', 'stopgate.f.check.a'] },
    { role: 'runner', scope: {}, served: ['stopgate.*.check.>', 'stopgate.*.run.>'] },
    { role: 'check', scope: { checks: ['scan'] }, served: ['stopgate.f.check.scan'] },
    { role: 'check', scope: {}, served: ['stopgate.*.check.>'] },
  ] as const)('a $role of $scope', ({ role, scope, served }) => {
    expect(permissionsFor(role, { fleet: 'f', ...scope })).toEqual({
      publish: { allow: ['_INBOX.>', '_R_.>', '_STOPGATE_INBOX.>'] },
      subscribe: { allow: [...served, '$SRV.>'] },
    });
  });

  test('an agent of any worker is denied this fleet’s streams by name', () => {
    const { publish } = permissionsFor('agent', { fleet: 'f' });
    expect(publish.deny).toContain('$JS.API.STREAM.DELETE.STOPGATE_f');
    expect(publish.deny).toContain('$JS.API.STREAM.PURGE.STOPGATE-DEAD_f');
  });
});
