/**
 * A process that echoes each request, for the floor, and answers a remote check with `complete`. On request it also
 * becomes the bare path.
 */
import { connect } from '@nats-io/transport-node';
import { openBarePath } from './bare.ts';

const nc = await connect({ servers: process.argv[2] ?? '' });
nc.subscribe('bench.echo', { callback: (_error, message) => void message.respond(message.data) });
nc.subscribe('stopgate.main.check.bench', {
  queue: 'stopgate-check',
  callback: (_error, message) => void message.respond('{"complete":true}'),
});
nc.subscribe('bench.bare.open', {
  max: 1,
  callback: (_error, message) => void openBarePath(nc, message.data.slice()).then(() => message.respond()),
});
await nc.flush();
process.send?.('ready');
