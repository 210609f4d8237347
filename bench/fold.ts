/** The speed of the fold, reading the log like a service, compared with plain consumers of the same messages. */
import { jetstream, jetstreamManager } from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/nats-core';
import { connect } from '@nats-io/transport-node';
import { createFleet, createSubjectReader, foldEntry, readEntry } from '../machines/index.ts';
import { type LogMessage, openLogReader } from '../src/nats/log/log-reader.ts';
import { type Figure, figure, quantile } from './figures.ts';

const messages = 60_000;
const rounds = 5;
const workersCount = 1_000;
const stream = 'BENCH-FOLD';

export async function measureFold(url: string, scale: number): Promise<Figure[]> {
  const nc = await connect({ servers: url });
  const manager = await jetstreamManager(nc);
  await manager.streams.add({ name: stream, subjects: ['stopgate.bench.>'], storage: 'file' });
  for (let index = 0; index < messages; index += 1) nc.publish(...entryAt(index));
  await nc.flush();
  while ((await manager.streams.info(stream)).state.messages < messages) await nc.flush();
  const ordered: number[] = [];
  const bare: number[] = [];
  const folded: number[] = [];
  for (let round = 0; round < Math.ceil(rounds * scale); round += 1) {
    ordered.push(await consumeOrdered(nc));
    bare.push(await consume(nc, () => {}));
    folded.push(await consume(nc, createFold()));
  }
  await nc.close();
  const fold = quantile(folded, 0.5);
  return [
    figure("bare consumer: the library's ordered consumer", quantile(ordered, 0.5), '/s'),
    figure('bare consumer: our own reader, without the fold', quantile(bare, 0.5), '/s'),
    figure('fold', fold, '/s'),
    figure('fold / ordered consumer', fold / quantile(ordered, 0.5), 'x', { atLeast: 0.7 }),
    figure('fold / our own reader', fold / quantile(bare, 0.5), 'x'),
  ];
}

/** A typical mix of entries: mostly tools and heartbeats, sometimes a step or a stop. */
function entryAt(index: number): [subject: string, data: string] {
  const subject = (type: string) => `stopgate.bench.worker.w${index % workersCount}.${type}`;
  if (index < workersCount) return [subject('worker.registered'), '{"agent":"bench"}'];
  if (index % 50 === 0) return [subject('stop.attempted'), `{"attempt":"a${index}","output":"done"}`];
  if (index % 10 === 0) return [subject('step.updated'), '{"step":"1","title":"Write tests","status":"completed"}'];
  if (index % 4 === 0) return [subject('heartbeat.sent'), '{}'];
  return [subject('tool.used'), '{"tool":"Edit","ok":true,"files":["src/a.ts"]}'];
}

function createFold(): (message: LogMessage) => void {
  const fleet = createFleet('bench');
  const decoder = new TextDecoder();
  const readAddress = createSubjectReader();
  return ({ seq, atMs, subject, data }) => {
    const entry = readEntry(subject, decoder.decode(data), data.length, readAddress);
    if (entry === null || !('data' in entry)) throw new Error(`no entry: ${subject}`);
    foldEntry(fleet, { seq, atMs, entry });
  };
}

async function consumeOrdered(nc: NatsConnection): Promise<number> {
  const consumer = await jetstream(nc).consumers.get(stream);
  const started = performance.now();
  await new Promise<void>((resolve) => {
    void consumer.consume({ max_messages: 1_000, callback: ({ seq }) => (seq < messages ? undefined : resolve()) });
  });
  const rate = (messages / (performance.now() - started)) * 1_000;
  await consumer.delete();
  return rate;
}

function consume(nc: NatsConnection, onMessage: (message: LogMessage) => void): Promise<number> {
  return new Promise((resolve) => {
    const started = performance.now();
    const reader = openLogReader(nc, {
      stream,
      fromSeq: 1,
      onMessage: (message) => {
        onMessage(message);
        if (message.seq < messages) return;
        reader.close();
        resolve((messages / (performance.now() - started)) * 1_000);
      },
    });
  });
}
