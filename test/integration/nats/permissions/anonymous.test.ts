/** Permissions of a client without credentials on the embedded server (protocol.md §13). */
import { jetstream, jetstreamManager } from '@nats-io/jetstream';
import { createInbox, headers, PermissionViolationError } from '@nats-io/nats-core';
import { Objm } from '@nats-io/obj';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { refusesPublish, refusesSubscribe } from '../../../support/role-client.ts';

import {
  ask,
  captured,
  deadStream,
  echo,
  firstOn,
  fleet,
  forge,
  logStream,
  openStage,
  type Stage,
  serviceVerbs,
} from './stage.ts';

let stage: Stage;
beforeAll(async () => {
  stage = await openStage();
});
afterAll(() => stage.close());

describe('without credentials', () => {
  test.each(['worker.any.tool.used', 'task.T-1.task.created', 'queue.main.depth.reported'])(
    'publishes %s',
    async (tail) => {
      const ack = await jetstream(stage.agent.nc).publish(`stopgate.main.${tail}`, '{}', { msgID: tail });
      expect(ack).toMatchObject({ stream: logStream, duplicate: false });
      const again = await jetstream(stage.agent.nc).publish(`stopgate.main.${tail}`, '{}', { msgID: tail });
      expect(again).toMatchObject({ seq: ack.seq, duplicate: true });
    },
  );

  test.each(serviceVerbs)('may request %s from the service', async (verb) => {
    expect(await ask(stage.agent, `stopgate.main.${verb}.some.one`)).toBe(`answer to stopgate.main.${verb}.some.one`);
  });

  test('may send requests to check servers and runners', async () => {
    const [runner, check] = [await stage.connectAs('runner'), await stage.connectAs('check')];
    echo(runner.nc, 'stopgate.main.run.r1', 'r1');
    echo(check.nc, 'stopgate.main.check.scan', 'stopgate-check');
    await Promise.all([runner.nc.flush(), check.nc.flush()]);
    expect(await ask(stage.agent, 'stopgate.main.run.r1')).toBe('answer to stopgate.main.run.r1');
    expect(await ask(stage.agent, 'stopgate.main.check.scan')).toBe('answer to stopgate.main.check.scan');
    expect(await ask(stage.service, 'stopgate.main.check.scan')).toBe('answer to stopgate.main.check.scan');
  });

  test('may discover every service', async () => {
    const runner = await stage.connectAs('runner');
    for (const { nc } of [stage.service, runner]) {
      nc.subscribe('$SRV.PING', { callback: (_, message) => void message.respond('pong') });
      await nc.flush();
    }
    const pongs: string[] = [];
    const asked = await stage.agent.nc.requestMany('$SRV.PING', '', {
      strategy: 'count',
      maxMessages: 2,
      maxWait: 5_000,
    });
    for await (const message of asked) pongs.push(message.string());
    expect(pongs).toEqual(['pong', 'pong']);
  });

  test.each([
    { tail: 'decision.w1', wildcard: 'stopgate.main.decision.>' },
    { tail: 'dead.worker.w1', wildcard: 'stopgate.*.dead.worker.*' },
  ])('may subscribe to $tail, also with a wildcard', async ({ tail, wildcard }) => {
    const exact = await firstOn(stage.agent.nc, `stopgate.main.${tail}`);
    const all = await firstOn((await stage.connect(stage.server.url)).nc, wildcard);
    stage.service.nc.publish(`stopgate.main.${tail}`, tail);
    for (const { arrived } of [exact, all]) expect((await arrived).string()).toBe(tail);
  });

  test('receives the reply to an attempt that it published itself', async () => {
    stage.service.nc.subscribe('stopgate.main.worker.short.stop.attempted', {
      callback: (_, message) => stage.service.nc.publish(message.headers?.get('Stopgate-Reply') ?? '', 'the decision'),
    });
    await stage.service.nc.flush();
    const inbox = createInbox();
    const { arrived } = await firstOn(stage.agent.nc, inbox);
    const given = headers();
    given.set('Stopgate-Reply', inbox);
    stage.agent.nc.publish('stopgate.main.worker.short.stop.attempted', '{}', { headers: given });
    expect((await arrived).string()).toBe('the decision');
  });

  test('may create streams of its own', async () => {
    const { streams, consumers } = await jetstreamManager(stage.agent.nc);
    await streams.add({ name: 'ORDERS', subjects: ['orders.>'], storage: 'memory' });
    const { seq } = await jetstream(stage.agent.nc).publish('orders.1', 'one');
    await consumers.add('ORDERS', { durable_name: 'c', ack_policy: 'explicit' });
    const message = await (await jetstream(stage.agent.nc).consumers.get('ORDERS', 'c')).next({ expires: 5_000 });
    expect([message?.seq, message?.string()]).toEqual([seq, 'one']);
    expect(await message?.ackAck()).toBe(true);
    await streams.purge('ORDERS');
    expect(await streams.delete('ORDERS')).toBe(true);
  });

  test('cannot fill the disk with its streams, or send very large messages', async () => {
    const { streams } = await jetstreamManager(stage.agent.nc);
    await streams.add({ name: 'LARGE', subjects: ['large'], max_bytes: 200 * 1_048_576 });
    await expect(streams.add({ name: 'LARGER', subjects: ['larger'], max_bytes: 100 * 1_048_576 })).rejects.toThrow(
      'insufficient storage',
    );
    await streams.delete('LARGE');
    expect(() => stage.agent.nc.publish('stopgate.main.worker.w1.tool.used', 'x'.repeat(71_681))).toThrow(
      'max_payload',
    );
    const names = Array.from({ length: 17 }, (_, index) => `S${index}`);
    const add = (name: string) => streams.add({ name, subjects: [name], storage: 'memory' });
    for (const name of names.slice(1)) await add(name);
    await expect(add('S0')).rejects.toThrow('maximum number of streams');
    for (const name of names.slice(1)) await streams.delete(name);
  });

  test('may have 256 subscriptions per connection', async () => {
    const greedy = await stage.connect(stage.server.url);
    const errors: string[] = [];
    void (async () => {
      for await (const status of greedy.nc.status()) if (status.type === 'error') errors.push(status.error.message);
    })();
    for (let count = 0; count < 257; count += 1) greedy.nc.subscribe(`_INBOX.${count}`, { callback: () => {} });
    await greedy.nc.flush();
    await expect.poll(() => errors).toContain('maximum subscriptions exceeded');
  });

  test('may read log entries by sequence', async () => {
    const { streams } = await jetstreamManager(stage.agent.nc);
    const { seq } = await jetstream(stage.agent.nc).publish('stopgate.main.worker.read.tool.used', '{"tool":"Bash"}');
    expect((await streams.info(logStream)).config.subjects).toEqual(captured);
    expect((await streams.getMessage(logStream, { seq }))?.string()).toBe('{"tool":"Bash"}');
    expect((await streams.info(deadStream)).config.name).toBe(deadStream);
  });

  test.each([
    'own.worker.w1.worker.retired',
    'own.worker.w1.worker.paused',
    'own.worker.w1.worker.unpaused',
    'own.fleet.main.policy.set',
    'decision.w1',
    'dead.worker.w1',
  ])('may not publish %s, in any fleet', async (tail) => {
    for (const name of [fleet, 'other']) await refusesPublish(stage.agent, `stopgate.${name}.${tail}`);
  });

  test.each(['check.scan', 'check.>', 'run.r1', 'run.>', ...serviceVerbs.map((verb) => `${verb}.>`)])(
    'may not serve %s',
    async (tail) => {
      await refusesSubscribe(stage.agent, `stopgate.main.${tail}`);
    },
  );

  test.each(['$SRV.PING.stopgate', '$SRV.INFO.stopgate.r1', '$STOPGATE.API.>', 'orders.1'])(
    'may not subscribe to %s',
    async (subject) => {
      await refusesSubscribe(stage.agent, subject);
    },
  );

  // Root cause: a wildcard that overlaps a denied subject is allowed. In the service's queue group it received the
  // requests of other agents, and forged 19 of 20 answers.
  test.each(['>', 'stopgate.>', '*.*.*.*', 'stopgate.*.*.*', '*.main.decide.*', '_INBOX'])(
    'may not subscribe to the wildcard %s in the queue group of the service',
    async (subject) => {
      const thief = await stage.connect(stage.server.url);
      await refusesSubscribe(thief, subject);
      await refusesSubscribe(thief, subject, 'stopgate');
      thief.nc.subscribe(subject, { queue: 'stopgate', callback: forge });
      await thief.nc.flush();
      const asked = 'stopgate.main.decide.w1';
      const answers = await Promise.all(Array.from({ length: 20 }, () => ask(stage.agent, asked)));
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
    const intruder = await stage.connect(stage.server.url);
    for (const call of streamCalls) await refusesPublish(intruder, `$JS.API.STREAM.${call}.${stream}`);
    for (const call of consumerCalls) await refusesPublish(intruder, `$JS.API.CONSUMER.${call.replace('$', stream)}`);
    const { streams } = await jetstreamManager(intruder.nc);
    const violation = { cause: expect.any(PermissionViolationError) };
    await expect(streams.delete(stream)).rejects.toMatchObject(violation);
    await expect(streams.purge(stream)).rejects.toMatchObject(violation);
    expect((await (await jetstreamManager(stage.service.nc)).streams.info(stream)).config.name).toBe(stream);
  });

  test.each(['STOPGATE-SNAPSHOTS_main', 'STOPGATE-PAST_main'])('neither reads nor changes %s', async (store) => {
    const stream = `OBJ_${store}`;
    const objects = await new Objm(jetstream(stage.service.nc)).create(store);
    await objects.putBlob({ name: '1' }, Buffer.from('all that is known'));
    const state = async () => (await (await jetstreamManager(stage.service.nc)).streams.info(stream)).state;
    const before = await state();
    const intruder = await stage.connect(stage.server.url);
    for (const call of streamCalls) await refusesPublish(intruder, `$JS.API.STREAM.${call}.${stream}`);
    for (const call of consumerCalls) await refusesPublish(intruder, `$JS.API.CONSUMER.${call.replace('$', stream)}`);
    for (const subject of ['$O.>', `$O.${store}.>`, '$O.*.C.*', '$JS.API.>', '_STOPGATE_INBOX.>'])
      await refusesSubscribe(intruder, subject);

    // The reply comes from the JetStream of the agents' own account, which has no such stream.
    const { streams } = await jetstreamManager(intruder.nc);
    await expect(streams.info(stream)).rejects.toThrow('stream not found');
    await expect(streams.getMessage(stream, { seq: before.first_seq })).rejects.toThrow('stream not found');
    const direct = intruder.nc.request(`$JS.API.DIRECT.GET.${stream}`, `{"seq":${before.first_seq}}`, {
      timeout: 1_000,
    });
    await expect(direct).rejects.toThrow();

    // Messages that it publishes on these subjects stay in its account: direct ones, replies and republished ones.
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
