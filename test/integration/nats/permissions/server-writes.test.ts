/** The server publishes on behalf of clients without checking their permissions (protocol.md §13). */
import { jetstream, jetstreamManager } from '@nats-io/jetstream';
import { headers } from '@nats-io/nats-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { permissionsFor } from '../../../../src/nats/permissions.ts';
import { startNatsServer } from '../../../support/nats-server.ts';
import type { RoleClient } from '../../../support/role-client.ts';

import { captured, createLog, deadStream, fleet, logStream, openStage, type Stage, subjectsOf } from './stage.ts';

let stage: Stage;
beforeAll(async () => {
  stage = await openStage();
});
afterAll(() => stage.close());

/**
 * Root cause: the server publishes on behalf of clients without checking their permissions. Each attack succeeded
 * with the same subject lists if agents share the service's account (nats-server 2.9.10): see the last test.
 */
describe('an anonymous client cannot make the server write to the log', () => {
  const target = 'stopgate.main.own.worker.victim.worker.retired';

  /**
   * Returns what the server published on a subject. It ends up in the client's own account, where a stream captures it.
   */
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
    const { streams } = await jetstreamManager(stage.service.nc);
    expect((await streams.info(logStream)).config.subjects).toEqual(captured);
    for (const stream of [logStream, deadStream]) {
      const found = await subjectsOf(stage.service.nc, stream);
      expect(found.filter((subject) => subject.includes('victim') || !subject.startsWith('stopgate.main.'))).toEqual(
        [],
      );
    }
  }

  test.each([target, 'stopgate.main.decision.victim', 'stopgate.main.dead.worker.victim'])(
    'by republishing to %s',
    async (to) => {
      const { arrived } = await written(stage.agent, to);
      await republish(stage.agent, `R-${to.replaceAll('.', '-')}`, to);
      await arrived();
      await expectUntouched();
    },
  );

  test.each(['DELETE', 'PURGE', 'MSG.DELETE'])('by republishing to the API: %s', async (call) => {
    await republish(stage.agent, `API-${call.replace('.', '-')}`, `$JS.API.STREAM.${call}.${logStream}`);
    await expectUntouched();
  });

  test('by a push consumer', async () => {
    const { streams, consumers } = await jetstreamManager(stage.agent.nc);
    await streams.add({ name: 'PUSHED', subjects: ['pushed'], storage: 'memory' });
    await jetstream(stage.agent.nc).publish('pushed', '{"by":"nobody"}');
    const { arrived } = await written(stage.agent, target); // a push consumer delivers only if somebody subscribes to its subject
    await consumers.add('PUSHED', { deliver_subject: target, ack_policy: 'none', deliver_policy: 'all' });
    expect(await arrived()).toBe('{"by":"nobody"}');
    await streams.delete('PUSHED');
    await expectUntouched();
  });

  test.each([
    { asked: 'stopgate.main.worker.w1.tool.used', answer: '"seq"' },
    { asked: 'stopgate.main.decide.w1', answer: 'answer to' },
    { asked: `$JS.API.STREAM.INFO.${logStream}`, answer: 'stream_info_response' },
  ])('by the reply subject of $asked', async ({ asked, answer }) => {
    const { arrived } = await written(stage.agent, target);
    for (const reply of [`$JS.API.STREAM.PURGE.${logStream}`, target]) stage.agent.nc.publish(asked, '', { reply });
    expect(await arrived()).toContain(answer);
    await expectUntouched();
  });

  test('by claiming to belong to another account', async () => {
    await (await jetstreamManager(stage.service.nc)).streams.add({ name: 'SNAPSHOTS', subjects: ['snapshots'] });
    for (const info of [{ acc: 'STOPGATE' }, { acc: 'STOPGATE', svc: 'STOPGATE', user: 'service' }]) {
      const given = headers();
      given.set('Nats-Request-Info', JSON.stringify(info));
      const reply = await stage.agent.nc.request('$JS.API.STREAM.DELETE.SNAPSHOTS', '', {
        headers: given,
        timeout: 30_000,
      });
      expect(reply.json()).toMatchObject({ error: { code: 404 } });
    }
    expect((await (await jetstreamManager(stage.service.nc)).streams.info('SNAPSHOTS')).config.name).toBe('SNAPSHOTS');
  });

  test('but could within one account, with the same subject lists', async () => {
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
      const [owner, intruder] = [await stage.connect(url), await stage.connect(plain.url)];
      await createLog(owner.nc);
      await republish(intruder, 'R', target);
      await expect.poll(() => subjectsOf(owner.nc, logStream)).toEqual([target]);
      await republish(intruder, 'D', `$JS.API.STREAM.DELETE.${logStream}`);
      const { streams } = await jetstreamManager(owner.nc);
      // Since 2.15.3 a server ignores API requests that it republished itself.
      const isOlder = (owner.nc.info?.version ?? '').localeCompare('2.15.3', 'en', { numeric: true }) < 0;
      if (isOlder) await expect.poll(() => streams.info(logStream).then(String, String)).toContain('stream not found');
      await Promise.all([owner.nc.close(), intruder.nc.close()]);
    } finally {
      await plain.stop();
    }
  });
});
