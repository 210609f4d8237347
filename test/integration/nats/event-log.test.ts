/** Opening a log: found or created, even if replies get lost. */
import { jetstreamManager } from '@nats-io/jetstream';
import { type NatsConnection, TimeoutError } from '@nats-io/nats-core';
import { connect } from '@nats-io/transport-node';
import { pino } from 'pino';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { AppError } from '../../../src/errors.ts';
import { openEventLog } from '../../../src/nats/log/event-log.ts';
import { readPosition } from '../../../src/nats/log/log-continuity.ts';
import type { LogPosition } from '../../../src/nats/log/log-reader.ts';
import { openLogStreams } from '../../../src/nats/log/log-streams.ts';
import type { NatsServer } from '../../support/nats-server.ts';
import { openNats } from '../../support/shared-server.ts';

let server: NatsServer;
let nc: NatsConnection;
beforeAll(async () => {
  server = await openNats();
  nc = await connect({ servers: server.url });
});
afterAll(async () => {
  for (const reader of reading) reader.close();
  await nc.close();
  await server.stop();
});

const reading: { close(): void }[] = [];
const log = pino({ level: 'silent' });
const open = (connection: NatsConnection, fleet: string, coveredTo = 0, acceptEmptyLog = false) =>
  openEventLog({
    nc: connection,
    fleet,
    replicas: 1,
    acceptEmptyLog,
    log,
    findCoveredTo: async () => coveredTo,
    hasStart: async () => coveredTo > 0,
  });

/** Wraps a connection: the first `count` requests of each kind are carried out, but their replies are lost. */
function withoutAnswers(subject: string, count: number) {
  const timeoutsMs: number[] = [];
  const request: NatsConnection['request'] = async (asked, payload, options) => {
    const reply = await nc.request(asked, payload, options);
    if (!asked.startsWith(subject)) return reply;
    timeoutsMs.push(options?.timeout ?? 0);
    if (timeoutsMs.length <= count) throw new TimeoutError();
    return reply;
  };
  return { connection: Object.create(nc, { request: { value: request } }) as NatsConnection, timeoutsMs };
}

test.each(['INFO', 'STREAM.NAMES', 'STREAM.INFO', 'STREAM.CREATE'])(
  'a start whose reply to $JS.API.%s is lost retries with a longer timeout each time',
  async (request) => {
    const fleet = `lost-${request.toLowerCase().replace('.', '-')}`;
    const { connection, timeoutsMs } = withoutAnswers(`$JS.API.${request}`, 2);
    await expect(open(connection, fleet)).resolves.toMatchObject({ deadSeq: 0 });
    expect(timeoutsMs.slice(0, 2)).toEqual([4_000, 8_000]);
  },
);

test.each([
  ['2.9.10', 1_048_576, 1],
  ['2.9.10', -1, 0],
  ['2.15.2', 1_048_576, 0],
])(
  'nats-server %s whose account may store %s bytes (-1: any number): %s warnings',
  async (version, max_storage, count) => {
    const request: NatsConnection['request'] = async (asked, payload, options) => {
      const reply = await nc.request(asked, payload, options);
      if (asked !== '$JS.API.INFO') return reply;
      const info = reply.json<{ limits: object }>();
      const limited = { ...info, limits: { ...info.limits, max_storage } };
      return { ...reply, json: () => limited, data: Buffer.from(JSON.stringify(limited)) } as typeof reply;
    };
    const connection = Object.create(nc, { request: { value: request }, info: { value: { ...nc.info, version } } });
    const lines: string[] = [];
    const warned = pino({ level: 'warn' }, { write: (line) => void lines.push(line) });
    await openEventLog({
      nc: connection,
      fleet: 'limited',
      replicas: 1,
      acceptEmptyLog: false,
      log: warned,
      findCoveredTo: async () => 0,
      hasStart: async () => false,
    });
    expect(lines.filter((line) => /max_file of its JetStream.*update to 2\.15/.test(line))).toHaveLength(count);
  },
);

test('a start without any reply ends with log.unavailable', async () => {
  const { connection, timeoutsMs } = withoutAnswers('$JS.API.STREAM.NAMES', Number.POSITIVE_INFINITY);
  await expect(open(connection, 'silent')).rejects.toMatchObject({ code: 'log.unavailable' });
  expect(timeoutsMs).toEqual([4_000, 8_000, 16_000, 32_000]);
});

test('a reader behind trimmed entries reports no loss if a snapshot covers them, otherwise a loss', async () => {
  const why = async (fleet: string, coveredTo: number, foldedSeq: number | null = null) => {
    const opened = await open(nc, fleet, coveredTo);
    for (let index = 0; index < 6; index += 1)
      await opened.append(`stopgate.${fleet}.worker.w1.heartbeat.sent`, '{}', {});
    const manager = await jetstreamManager(nc);
    const position = foldedSeq === null ? null : await readPosition(manager, `STOPGATE_${fleet}`, foldedSeq);
    await manager.streams.purge(`STOPGATE_${fleet}`, { seq: 4 });
    const error = await new Promise<AppError>((onLost) => {
      const reader = opened.read({ folded: () => position, onMessage: () => {}, onLost, onInterrupted: () => {} });
      reading.push(reader);
    });
    return `${error.code}: ${error.message}`;
  };
  // It has folded nothing yet and notices the gap.
  expect(await why('covered', 5)).toMatch(/^log.lost: entries 1 to 3 are no longer in the log .* restart it/);
  expect(await why('uncovered', 0)).toMatch(
    /^log.lost: the log STOPGATE_uncovered has a gap: entries 1 to 3 are missing/,
  );
  // No entry is missing, but the last folded entry can no longer be compared.
  expect(await why('unproved', 5, 3)).toMatch(/^log.lost: entry 3, the last that this replica folded, is no longer in/);
});

test('a start while another replica trims the log behind a snapshot recognises the log', async () => {
  const fleet = 'trimmed-meanwhile';
  const stream = `STOPGATE_${fleet}`;
  const opened = await open(nc, fleet);
  for (let index = 0; index < 6; index += 1)
    await opened.append(`stopgate.${fleet}.worker.w1.heartbeat.sent`, '{}', {});
  const manager = await jetstreamManager(nc);
  await opened.note((await readPosition(manager, stream, 3)) as LogPosition);
  let trims = 0;
  const request: NatsConnection['request'] = async (asked, payload, options) => {
    if (asked === `$JS.API.STREAM.MSG.GET.${stream}` && trims === 0) {
      trims += 1;
      await manager.streams.purge(stream, { seq: 5 });
    }
    return nc.request(asked, payload, options);
  };
  const trimming = Object.create(nc, { request: { value: request } }) as NatsConnection;
  await expect(open(trimming, fleet, 5)).resolves.toMatchObject({ deadSeq: 0 });
  expect(trims).toBe(1);
});

test('an accepted gap does not excuse a beginning that is lost or trimmed later', async () => {
  const fleet = 'accepted';
  const stream = `STOPGATE_${fleet}`;
  const opened = await open(nc, fleet);
  for (const worker of ['w1', 'w1', 'w1', 'w1', 'w2', 'w1', 'w1'])
    await opened.append(`stopgate.${fleet}.worker.${worker}.heartbeat.sent`, '{}', {});
  const manager = await jetstreamManager(nc);
  await manager.streams.purge(stream, { filter: `stopgate.${fleet}.worker.w2.>` });
  await manager.streams.purge(stream, { seq: 3 });
  const covering = await readPosition(manager, stream, 4);
  const read = async (coveredTo: number, options: { accept: boolean }) => {
    const log = await open(nc, fleet, coveredTo, options.accept);
    return new Promise<number[] | string>((resolve) => {
      const seqs: number[] = [];
      const reader = log.read({
        folded: () => (coveredTo === 0 ? null : covering),
        onMessage: ({ seq }) => void (seqs.push(seq) && seq === 7 && resolve(seqs)),
        onLost: (error) => resolve(error.message),
        onInterrupted: () => {},
      });
      reading.push(reader);
    });
  };
  expect(await read(4, { accept: false })).toMatch('has a gap: entry 5 is missing');
  expect(await read(4, { accept: true })).toEqual([6, 7]);
  // The snapshot is gone, but existed when the gap was accepted.
  expect(await read(0, { accept: false })).toMatch('has a gap: entries 1 to 2 are missing');
  expect(await read(0, { accept: true })).toEqual([3, 4, 6, 7]);
  expect(await read(0, { accept: false })).toEqual([3, 4, 6, 7]);
  await manager.streams.purge(stream, { seq: 4 });
  expect(await read(0, { accept: false })).toMatch('has a gap: entries 1 to 3 are missing');
});

test('a gap is not reported as a loss while the snapshots cannot be read', async () => {
  const fleet = 'silent-snapshots';
  let [answers, asked] = [false, 0];
  const findCoveredTo = async () => {
    asked += 1;
    if (!answers) throw new Error('timeout');
    return 3;
  };
  const opened = await openEventLog({
    nc,
    fleet,
    replicas: 1,
    acceptEmptyLog: false,
    log,
    findCoveredTo,
    hasStart: async () => true,
  });
  for (let index = 0; index < 4; index += 1)
    await opened.append(`stopgate.${fleet}.worker.w1.heartbeat.sent`, '{}', {});
  await (await jetstreamManager(nc)).streams.purge(`STOPGATE_${fleet}`, { seq: 3 });
  await expect(opened.range()).rejects.toThrow(/cannot determine whether a snapshot covers entry 2 .*: timeout/);
  const lost = new Promise<AppError>((onLost) => {
    const reader = opened.read({ folded: () => null, onMessage: () => {}, onLost, onInterrupted: () => {} });
    reading.push(reader);
  });
  await expect.poll(() => asked).toBeGreaterThan(2);
  answers = true;
  expect((await lost).message).toMatch('Nothing is lost: restart it');
});

test('a number of copies that an existing log does not have is answered with the command that changes it', async () => {
  await open(nc, 'copies');
  const warnings: unknown[] = [];
  const warn = (fields: object, message: string) => void warnings.push({ ...fields, message });
  await openLogStreams(await jetstreamManager(nc), {
    nc,
    fleet: 'copies',
    replicas: 3,
    acceptEmptyLog: false,
    log: { ...log, warn } as unknown as typeof log,
    hasStart: async () => false,
  });
  expect(warnings).toEqual([
    expect.objectContaining({
      replicas: 1,
      message: expect.stringContaining('stream edit STOPGATE_copies --replicas 3'),
    }),
  ]);
});
