/** A responder between the agents and Postgres, in its own process. */
import type { Msg } from '@nats-io/nats-core';
import { connect } from '@nats-io/transport-node';
import { openDatabase } from './postgres.ts';

const [nats = '', postgres = '', cache = ''] = process.argv.slice(2);
const nc = await connect({ servers: nats });
const database = openDatabase(cache, postgres);
const answer = async (call: 'report' | 'stop', message: Msg) => {
  const worker = message.subject.split('.').at(-1) ?? '';
  message.respond(await database.call(call, worker, message.string()));
};
for (const call of ['report', 'stop'] as const) {
  nc.subscribe(`peer.postgres.${call}.*`, {
    queue: 'peer',
    callback: (_error, message) => void answer(call, message),
  });
}
await nc.flush();
process.send?.('ready');
