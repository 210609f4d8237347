/**
 * What agents may use of a NATS server, in the form of its configuration. Each limit is far above what an agent needs.
 */
import { messageBytesMax } from './stream-limits.ts';

/** Limits for each connection, except `max_connections`. */
const connectionLimits = {
  /** What the log takes: a larger message is refused before it is sent. */
  max_payload: messageBytesMax,
  /** Inboxes, decisions and dead letters. Each costs the server memory and every publish in the account time. */
  max_subscriptions: 256,
};

/**
 * All agents of a server: each connection costs it a file descriptor, about 50 KB, and `max_pending` if it does not read. 512
 * are more than a hundred agents, each with a hook, a client and an MCP server.
 */
export const agentsLimits = { ...connectionLimits, max_connections: 512 };
/** Connections of an agent that is one worker: its hook, client and MCP server, twice while they reconnect. */
export const oneAgentLimits = { ...connectionLimits, max_connections: 32 };

/** Of the whole server, for every connection alike: NATS has no such limits of a user or an account. */
export const serverLimits = {
  /**
   * What may wait for a connection that does not read: then it is closed. It is eight windows of a log reader
   * (log-window.ts), and a few hundred of the largest requests that come while the service collects garbage. The stream backup
   * of the nats tool has 8 MiB on its way, of which the sockets' buffers hold a part.
   */
  max_pending: 8 * 1_024 * 1_024,
  /** How long one write to a connection may take: then it is closed. Garbage collection of a full service takes less. */
  write_deadline: '5s',
  /** Agents (`max_connections` of their account), services, runners, operators. */
  max_connections: 1_024,
};

/** Their own streams are a convenience, and must leave the disk to the log. In bytes. */
export const agentsJetStream = {
  max_file: 256 * 1_024 * 1_024,
  max_mem: 32 * 1_024 * 1_024,
  max_streams: 16,
  max_consumers: 64,
};
