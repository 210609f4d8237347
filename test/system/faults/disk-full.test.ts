/** Another program fills the disk and frees it again (docs/operations/full-disk.md). */
import { join } from 'node:path';
import { afterAll, afterEach, expect, test } from 'vitest';
import type { Replica } from '../../../src/app/replica.ts';
import { readEnvironment } from '../../../src/config/environment.ts';
import { createLogger } from '../../../src/log.ts';
import { openEmbeddedServer } from '../../../src/nats/embedded/embedded-server.ts';
import { privateInboxPrefix } from '../../../src/nats/permissions.ts';
import { type Client, openClient } from '../../support/client.ts';
import { startReplica } from '../../support/replica.ts';
import { openNats } from '../../support/shared-server.ts';
import { mountSmallDisk, type SmallDisk } from '../../support/small-disk.ts';

const log = createLogger('silent');
const disk = mountSmallDisk(48);
const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
  disk?.empty();
});
afterAll(() => disk?.remove());

const connect = async (url: string): Promise<Client> => {
  const client = await openClient(url);
  ends.push(client.close);
  return client;
};
/** On an idle machine a reply takes at most 1.8 s. A reply later than this will never come. */
const answerMs = 10_000;
const decide = (client: Client, attempt: string) =>
  client.ask('decide.w1', { attempt }, answerMs).then(
    ({ code, body }) => code || body.decision,
    (error: Error) => error.message,
  );
const isReady = (replica: Replica) => () => replica.service.status().ready;
const patient = { interval: 250 };

test.skipIf(disk === null)(
  'the embedded server refuses entries on a full disk, and takes them again when there is space',
  async () => {
    const { path, fill, empty } = disk as SmallDisk;
    const server = await openEmbeddedServer({
      env: readEnvironment(),
      storeDir: join(path, 'store'),
      port: 0,
      fleet: 'main',
      log,
    });
    ends.push(() => server.close());
    const creds = server.credentials('service');
    const replica = await startReplica({ nats: server.url, creds, inboxPrefix: privateInboxPrefix });
    ends.push(replica.close);
    const client = await connect(server.url);
    expect(await decide(client, 'a1')).toBe('allow');
    const payload = JSON.stringify({ tool: 'Bash', call: 'x'.repeat(60_000) });
    for (let count = 0; count < 10; count += 1) await client.publish('worker.w2.tool.used', payload);

    fill();
    // It has JetStream's own error message, so it was not caused by a missing reply.
    const answer = () =>
      client.nc.request('stopgate.main.worker.w2.tool.used', payload, { timeout: 1_000 }).then(
        (message) => message.string(),
        (error: Error) => error.message,
      );
    await expect.poll(answer, patient).toContain('insufficient resources');
    await expect.poll(() => decide(client, 'a2'), patient).toBe('503');
    await expect.poll(isReady(replica), patient).toBe(false);

    empty();
    await expect.poll(() => decide(client, 'a3'), patient).toBe('allow');
    await expect.poll(isReady(replica), patient).toBe(true);
    // Acknowledged entries are still there, and an earlier attempt keeps its decision.
    const { body } = await client.ask('get.worker.w2');
    expect((body as unknown as { toolCount: number }).toolCount).toBeGreaterThanOrEqual(10);
    expect((await client.ask('decide.w1', { attempt: 'a1' })).body).toMatchObject({ attempt: 'a1', decision: 'allow' });
  },
);

// Root cause: nats-server 2.9 stops reading from a connection that publishes, and the 503 replies used that connection.
test.skipIf(disk === null)('a separate server on a full disk: each of 20 requests gets 503', async () => {
  const { path, fill, empty } = disk as SmallDisk;
  const server = await openNats({ storeDir: join(path, 'own') });
  ends.push(server.stop);
  const replica = await startReplica({ nats: server.url });
  ends.push(replica.close);
  expect(await decide(await connect(server.url), 'a1')).toBe('allow');

  fill();
  // Space that is already allocated may still fit an entry or two.
  const answers = [];
  for (let count = 0; answers.length < 20; count += 1) {
    const edge = replica.service.decide('w1', { attempt: `edge-${count}` }).then(
      ({ decision }) => decision,
      ({ code }) => code,
    );
    const both = [await decide(await connect(server.url), `nats-${count}`), await edge];
    if (answers.length > 0 || !both.includes('allow')) answers.push(...both);
  }
  expect(answers).toEqual(Array.from({ length: 20 }, (_, index) => (index % 2 === 0 ? '503' : 'log.unavailable')));

  empty();
  await server.kill('SIGKILL'); // 2.9 no longer reacts to SIGTERM
  await server.restart();
  const client = await connect(server.url);
  await expect.poll(() => decide(client, 'a3'), patient).toBe('allow');
  expect((await client.ask('decide.w1', { attempt: 'a1' })).body).toMatchObject({ attempt: 'a1', decision: 'allow' });
});
