/** A responder between the agents and Postgres, in a process of its own. */
import { connect } from '@nats-io/transport-node';
import { openDatabase } from './postgres.ts';

const [nats = '', postgres = '', cache = ''] = process.argv.slice(2);
const nc = await connect({ servers: nats });
const database = openDatabase(cache, postgres);
for (const call of ['report', 'stop'] as const) {
  nc.subscribe(`peer.postgres.${call}.*`, {
    queue: 'peer',
    callback: async (_error, message) => {
      const worker = message.subject.split('.').at(-1) ?? '';
      message.respond(await database.call(call, worker, message.string()));
    },
  });
}
await nc.flush();
process.send?.('ready');
