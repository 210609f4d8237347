/**
 * A process that answers each request with its own bytes, for the floor, and a remote check with `complete`. Once it was
 * asked to, it is the bare path too.
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
