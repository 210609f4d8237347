/** Errors of the JetStream API, told apart by their codes. */
import { JetStreamApiError } from '@nats-io/jetstream';

const streamNotFound = 10_059;
const noSuitablePeers = 10_005;

export const isStreamNotFound = (cause: unknown): boolean =>
  cause instanceof JetStreamApiError && cause.code === streamNotFound;

/** The cluster has fewer nodes than a stream wants copies. */
export const isWithoutPeers = (cause: unknown): boolean =>
  cause instanceof JetStreamApiError && cause.code === noSuitablePeers;
