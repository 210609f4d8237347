/** Errors of the JetStream API, told apart by their codes. */
import { JetStreamApiError } from '@nats-io/jetstream';

const streamNotFound = 10_059;

export const isStreamNotFound = (cause: unknown): boolean =>
  cause instanceof JetStreamApiError && cause.code === streamNotFound;
