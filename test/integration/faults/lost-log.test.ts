/** The log is created with the right settings and never silently recreated (protocol.md §2 and §9). */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Replica } from '../../../src/app/replica.ts';
import { createLogger } from '../../../src/log.ts';
import { type Client, openClient } from '../../support/client.ts';
import type { NatsServer } from '../../support/nats-server.ts';
import { startReplica } from '../../support/replica.ts';
import { openNats } from '../../support/shared-server.ts';

let server: NatsServer;
let client: Client;
let replica: Replica | null = null;

beforeEach(async () => {
  server = await openNats();
  client = await openClient(server.url);
});
afterEach(async () => {
  await replica?.close();
  replica = null;
  await client.close();
  await server.stop();
});

test('the stream is created with the settings of the protocol', async () => {
  replica = await startReplica({ nats: server.url });
  const { config } = await client.manager.streams.info('STOPGATE_main');
  expect(config).toMatchObject({
    storage: 'file',
    discard: 'new',
    deny_delete: true,
    deny_purge: false,
    duplicate_window: 120e9,
    max_msg_size: 71_680,
  });
  const dead = await client.manager.streams.info('STOPGATE-DEAD_main');
  expect(dead.config).toMatchObject({ discard: 'old', max_msgs: 20_000, deny_delete: true });
});

test.each([
  { hadLog: undefined, acceptEmptyLog: false, says: 'first start of this fleet, or its store was lost' },
  { hadLog: false, acceptEmptyLog: false, says: 'first start of this fleet' },
  { hadLog: true, acceptEmptyLog: true, says: 'its loss was accepted' },
])('the log says why an empty log was created: $says', async ({ says, ...options }) => {
  const lines: string[] = [];
  const logger = createLogger('info', { write: (line: string) => void lines.push(line) });
  replica = await startReplica({ nats: server.url, logger, ...options });
  expect(lines.map((line) => JSON.parse(line).msg)).toContain(`created an empty log: ${says}`);
});

describe.each(['deleted', 'recreated'])('a log that is %s while the service runs', (how) => {
  test('gives 503 LOG_LOST and is recreated only with --accept-empty-log', async () => {
    replica = await startReplica({ nats: server.url });
    expect((await client.ask('decide.w1')).code).toBe('');
    const { config } = await client.manager.streams.info('STOPGATE_main');
    await client.manager.streams.delete('STOPGATE_main');
    if (how === 'recreated') await client.manager.streams.add(config);

    await expect.poll(async () => (await client.ask('decide.w1')).body.error?.code).toBe('LOG_LOST');
    expect((await client.ask('get.worker.w1')).code).toBe('503');
    expect(replica.service.status()).toMatchObject({ ready: false });
    const names: string[] = [];
    for await (const name of client.manager.streams.names()) names.push(name);
    expect(names.includes('STOPGATE_main')).toBe(how === 'recreated');

    await replica.close();
    replica = null;
    await expect(startReplica({ nats: server.url })).rejects.toThrow(/--accept-empty-log/);
    replica = await startReplica({ nats: server.url, acceptEmptyLog: true });
    expect((await client.ask('decide.w1')).body).toMatchObject({ decision: 'allow' });
  });
});
