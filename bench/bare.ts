/**
 * The bare path: the cost of a decision without a fold. Sends the same messages with the same bytes, with only the NATS
 * library: a request or attempt arrives, is stored, delivered and answered; a decision entry follows and comes back.
 */
import { jetstreamManager } from '@nats-io/jetstream';
import { createInbox, headers, type Msg, type NatsConnection } from '@nats-io/nats-core';
import { openLogReader } from '../src/nats/log/log-reader.ts';

const stream = 'BENCH-BARE';
/** `bench.bare.log.<worker>` has attempts, `bench.bare.decision.<worker>` decisions. */
const subjects = ['bench.bare.log.*', 'bench.bare.decision.*'];

/** @param decision the bytes of each reply and of each decision entry */
export async function openBarePath(nc: NatsConnection, decision: Uint8Array): Promise<void> {
  const manager = await jetstreamManager(nc);
  await manager.streams.add({ name: stream, subjects, storage: 'file' });
  const waiting = new Map<string, Msg>();
  const acknowledged = createInbox();
  nc.subscribe(acknowledged, { callback: () => {} });
  let count = 0;
  nc.subscribe('bench.bare.decide.*', {
    queue: 'bench',
    callback: (_error, message) => {
      count += 1;
      const worker = message.subject.slice('bench.bare.decide.'.length);
      const id = `${worker}:${count}`;
      waiting.set(id, message);
      const logHeaders = headers();
      logHeaders.set('Nats-Msg-Id', id);
      logHeaders.set('Stopgate-Replica', 'bare');
      nc.publish(`bench.bare.log.${worker}`, message.data, { reply: acknowledged, headers: logHeaders });
    },
  });
  openLogReader(nc, {
    stream,
    fromSeq: 1,
    onMessage({ subject, header }) {
      if (subject.startsWith('bench.bare.decision.')) return;
      const id = header('Nats-Msg-Id') ?? '';
      const inbox = header('Stopgate-Reply');
      if (inbox !== undefined) nc.publish(inbox, decision);
      waiting.get(id)?.respond(decision);
      waiting.delete(id);
      const decisionHeaders = headers();
      decisionHeaders.set('Nats-Msg-Id', `${id}:decision`);
      const worker = subject.slice('bench.bare.log.'.length);
      setImmediate(() => nc.publish(`bench.bare.decision.${worker}`, decision, { headers: decisionHeaders }));
    },
  });
  await nc.flush();
}
