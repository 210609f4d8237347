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

/** All agents of a server: each connection costs it a file descriptor and about 50 KB. */
export const agentsLimits = { ...connectionLimits, max_connections: 4_096 };
/** Connections of an agent that is one worker: its hook, client and MCP server, twice while they reconnect. */
export const oneAgentLimits = { ...connectionLimits, max_connections: 32 };

/** Their own streams are a convenience, and must leave the disk to the log. In bytes. */
export const agentsJetStream = {
  max_file: 256 * 1_024 * 1_024,
  max_mem: 32 * 1_024 * 1_024,
  max_streams: 16,
  max_consumers: 64,
};
