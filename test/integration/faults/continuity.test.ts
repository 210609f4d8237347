/** A log that lost folded entries or has a gap: 503 LOG_LOST (protocol.md §2). */
import { cp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { pino } from 'pino';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Replica } from '../../../src/app/replica.ts';
import { type Client, openClient } from '../../support/client.ts';
import type { NatsServer } from '../../support/nats-server.ts';
import { startReplica } from '../../support/replica.ts';
import { openNats } from '../../support/shared-server.ts';

let server: NatsServer;
let client: Client;
let replica: Replica | null = null;
let logged: string[] = [];

beforeEach(async () => {
  logged = [];
  server = await openNats({});
  client = await openClient(server.url);
});
afterEach(async () => {
  await replica?.close();
  replica = null;
  await client.close();
  await server.stop();
  await rm(copyOf(server), { recursive: true, force: true });
});

const start = async (options: { acceptEmptyLog?: boolean } = {}) => {
  const logger = pino({ level: 'warn' }, { write: (line: string) => void logged.push(line) });
  replica = await startReplica({ nats: server.url, logger, ...options });
  return replica;
};
const stop = async () => {
  await replica?.close();
  replica = null;
};
const copyOf = ({ storeDir }: NatsServer) => `${storeDir}-copy`;
const storeOf = ({ storeDir }: NatsServer) => join(storeDir, 'jetstream', '$G', 'streams', 'STOPGATE_main');
const beats = async (count: number) => {
  for (let beat = 0; beat < count; beat += 1) await client.publish('worker.w1.heartbeat.sent');
};
/** Backs up the current log, to restore it later. */
const backUp = async () => {
  await server.kill('SIGTERM');
  await cp(storeOf(server), copyOf(server), { recursive: true });
  await server.restart();
  await reconnected();
};
const restore = async () => {
  await server.kill('SIGKILL');
  await rm(storeOf(server), { recursive: true });
  await cp(copyOf(server), storeOf(server), { recursive: true });
  await server.restart();
  await reconnected();
};
const reconnected = () => expect.poll(() => client.nc.rtt().then(Boolean, () => false)).toBe(true);
const codeOf = async (subject: string) =>
  client.ask(subject, {}, 3_000).then(
    ({ body }) => body.error?.code,
    () => 'no answer',
  );

test.each([
  { how: 'went back', writes: 0 },
  { how: 'went back and was written to since', writes: 20 },
])('a log that $how: LOG_LOST, and a restart folds it again and warns about the loss', async ({ writes }) => {
  await start();
  await beats(3);
  await stop();
  await backUp();
  await start();
  expect((await client.ask('decide.w1', { attempt: 'a1' })).body).toMatchObject({ decision: 'allow' });
  await beats(5);
  await client.ask('get.worker.w1');
  await stop();
  await start();
  await restore();
  await beats(writes);

  await expect.poll(() => codeOf('decide.w1')).toBe('LOG_LOST');
  expect(await codeOf('get.worker.w1')).toBe('LOG_LOST');
  const { ready, reason } = (replica as Replica).service.status();
  expect({ ready, reason }).toEqual({ ready: false, reason: expect.stringContaining('the log went back') });
  await stop();

  await start();
  const warning = logged.find((line) => /the log went back[:,]/.test(line));
  expect(JSON.parse(warning ?? '{}')).toMatchObject({ foldedSeq: expect.any(Number), foldedAt: expect.any(String) });
  expect((await client.ask('decide.w1', { attempt: 'a2' })).code).toBe('');
  const decided = async () =>
    (await client.stored('STOPGATE_main', 'stopgate.main.decision.w1')).map(({ attempt }) => attempt);
  // Requests from before the loss was noticed may have been stored and decided by this fold.
  await expect.poll(decided).toContain('a2');
  expect(await decided()).not.toContain('a1');
  // The warning is logged once.
  await stop();
  logged = [];
  await start();
  expect(logged.filter((line) => line.includes('went back'))).toEqual([]);
});

test('a log without its beginning: LOG_LOST, and it starts only with --accept-empty-log', async () => {
  await start();
  await beats(30);
  const { config } = await client.manager.streams.info('STOPGATE_main');
  // A stream that refuses new messages instead of dropping old ones keeps its messages on current servers.
  await client.manager.streams.update('STOPGATE_main', { ...config, max_msgs: 20, discard: 'old' });
  await client.manager.streams.update('STOPGATE_main', config);

  expect(await codeOf('get.worker.w1')).toBe('LOG_LOST');
  expect(await codeOf('decide.w1')).toBe('LOG_LOST');
  expect(replica?.service.status().reason).toMatch(/has a gap: entries 1 to \d+ are missing/);
  await stop();
  await expect(start()).rejects.toThrow(/has a gap: entries 1 to \d+ are missing.*--accept-empty-log/);
  await start({ acceptEmptyLog: true });
  expect((await client.ask('get.worker.w1')).body).toMatchObject({ worker: 'w1' });
  await stop();
  // The acceptance is permanent.
  await start();
  expect((await client.ask('decide.w1')).body).toMatchObject({ decision: 'allow' });
});

test('a NATS server that restarts with the same log is not a loss', async () => {
  await start();
  await beats(3);
  expect((await client.ask('decide.w1', { attempt: 'a1' })).code).toBe('');
  await server.kill('SIGKILL');
  await server.restart();
  await expect.poll(() => codeOf('decide.w1')).toBeUndefined();
  expect((await client.ask('decide.w1', { attempt: 'a1' })).body).toMatchObject({ attempt: 'a1' });
});
