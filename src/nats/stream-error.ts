/** Errors of the JetStream API, told apart by their codes. */
import { JetStreamApiError } from '@nats-io/jetstream';

const streamNotFound = 10_059;
const noSuitablePeers = 10_005;
const replicasNotSupported = 10_074;

/** Of a cluster, or of the nodes that have the stream: temporarily unavailable, not the leader, offline. */
const withoutLeader: ReadonlySet<number> = new Set([10_008, 10_009, 10_118]);

export const isStreamNotFound = (cause: unknown): boolean =>
  cause instanceof JetStreamApiError && cause.code === streamNotFound;

/** The cluster has fewer nodes than a stream wants copies. */
export const isWithoutPeers = (cause: unknown): boolean =>
  cause instanceof JetStreamApiError && cause.code === noSuitablePeers;

/** A leaf node alone: it announces a cluster by its own name. */
export const isUnclustered = (cause: unknown): boolean =>
  cause instanceof JetStreamApiError && cause.code === replicasNotSupported;

/** Whether it is an election's, or that of a cluster too few of whose nodes run: it passes by itself. */
export function isWithoutLeader(error: unknown): boolean {
  for (let it = error; it instanceof Error; it = it.cause)
    if (it instanceof JetStreamApiError && withoutLeader.has(it.code)) return true;
  return false;
}
