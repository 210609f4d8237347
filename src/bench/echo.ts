/** The floor's other half: a process that answers each request with its own bytes. */
import { connect } from '@nats-io/transport-node';

const nc = await connect({ servers: process.argv[2] ?? '' });
nc.subscribe('bench.echo', { callback: (_error, message) => void message.respond(message.data) });
await nc.flush();
process.send?.('ready');
