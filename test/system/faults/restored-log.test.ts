/**
 * A log is recognised by its entries (protocol.md §2): nats-server 2.15 changes the creation time of a restored stream,
 * 2.9 does not. Backups have the format of `nats stream backup`.
 */
import { pino } from 'pino';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Replica } from '../../../src/app/replica.ts';
import { type Client, openClient } from '../../support/client.ts';
import { type Folder, makeFolder } from '../../support/deployment.ts';
import type { NatsServer } from '../../support/nats-server.ts';
import { startReplica } from '../../support/replica.ts';
import { openNats } from '../../support/shared-server.ts';
import { backUpStream, restoreStream } from '../../support/stream-backup.ts';

const log = 'STOPGATE_main';
const everything = ['OBJ_STOPGATE-SNAPSHOTS_main', 'STOPGATE-DEAD_main', log];
let server: NatsServer;
let client: Client;
let folder: Folder;
let replica: Replica | null = null;
let warnings: string[] = [];

beforeEach(async () => {
  warnings = [];
  server = await openNats();
  client = await openClient(server.url);
  folder = await makeFolder();
});
afterEach(async () => {
  await stop();
  await client.close();
  await Promise.all([server.stop(), folder.remove()]);
});

async function start(): Promise<Replica> {
  const logger = pino({ level: 'warn' }, { write: (line: string) => void warnings.push(line) });
  replica = await startReplica({ nats: server.url, logger });
  return replica;
}
async function stop(): Promise<void> {
  await replica?.close();
  replica = null;
}
const decide = async (attempt: string) => (await client.ask('decide.w1', { attempt })).body;
const backUp = async (streams: readonly string[]) => {
  for (const stream of streams) await backUpStream(client.nc, stream, `${folder.path}/${stream}`);
};
const remove = async (streams: readonly string[]) => {
  for (const stream of streams) await client.manager.streams.delete(stream);
};
const restore = async (streams: readonly string[]) => {
  for (const stream of streams) await restoreStream(client.nc, `${folder.path}/${stream}`);
};
const beats = async (count: number) => {
  for (let beat = 0; beat < count; beat += 1) await client.publish('worker.w1.heartbeat.sent');
};

test('a service starts on a restored backup of all streams and knows earlier decisions', async () => {
  await start();
  const decided = await decide('a1');
  await stop();
  await backUp(everything);
  await remove(everything);
  await restore(everything);
  await start();
  expect(await decide('a1')).toEqual(decided);
  expect(warnings).toEqual([]);
});

test('a service continues if its log is deleted and restored while it runs', async () => {
  const running = await start();
  const decided = await decide('a1');
  // The decision is stored after the reply. Wait until it is folded.
  await expect.poll(() => client.stored(log, 'stopgate.main.decision.w1')).toHaveLength(1);
  await backUp([log]);
  await remove([log]);
  await restore([log]);
  // The consumer was deleted with the stream. The next one first verifies that the log is the same.
  await expect.poll(async () => (await decide('a2')).decision).toBe('allow');
  expect(await decide('a1')).toEqual(decided);
  expect(running.service.status()).toMatchObject({ ready: true });
});

test('a service starts on a backup older than its fold, and warns about the loss', async () => {
  await start();
  await decide('a1');
  await stop();
  await backUp([log]);
  await start();
  await beats(5);
  await client.ask('get.worker.w1');
  await stop();
  await remove([log]);
  await restore([log]);
  await start();
  expect(warnings.join('')).toContain('the log went back: acknowledged entries are gone');
  expect((await decide('a2')).decision).toBe('allow');
});

test.each([{ entries: 0 }, { entries: 40 }])(
  'a log that was deleted and created again, with $entries entries, is lost to the service and to each start',
  async ({ entries }) => {
    const running = await start();
    await beats(5);
    await client.ask('get.worker.w1');
    const { config } = await client.manager.streams.info(log);
    await remove([log]);
    await client.manager.streams.add(config);
    await beats(entries);
    await expect.poll(() => running.service.status().code).toBe('log.lost');
    expect(running.service.status().reason).toMatch(
      /was created again at .*, without entry \d+, the last that was folded/,
    );
    await stop();
    await expect(start()).rejects.toThrow(/has none of the entries that were folded.*--accept-empty-log/);
  },
);
