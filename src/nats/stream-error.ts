/** Errors of the JetStream API, told apart by their codes. */
import { JetStreamApiError } from '@nats-io/jetstream';

const streamNotFound = 10_059;
const noSuitablePeers = 10_005;
const replicasNotSupported = 10_074;

export const isStreamNotFound = (cause: unknown): boolean =>
  cause instanceof JetStreamApiError && cause.code === streamNotFound;

/** The cluster has fewer nodes than a stream wants copies. */
export const isWithoutPeers = (cause: unknown): boolean =>
  cause instanceof JetStreamApiError && cause.code === noSuitablePeers;

/** A leaf node alone: it announces a cluster by its own name. */
export const isUnclustered = (cause: unknown): boolean =>
  cause instanceof JetStreamApiError && cause.code === replicasNotSupported;
