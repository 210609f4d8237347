/** A process that answers each request with its own bytes, for the floor, and a remote check with `complete`. */
import { connect } from '@nats-io/transport-node';

const nc = await connect({ servers: process.argv[2] ?? '' });
nc.subscribe('bench.echo', { callback: (_error, message) => void message.respond(message.data) });
nc.subscribe('stopgate.main.check.bench', {
  queue: 'stopgate-check',
  callback: (_error, message) => void message.respond('{"complete":true}'),
});
await nc.flush();
process.send?.('ready');
