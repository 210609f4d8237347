/** snapshot: saves the fleet's current state (protocol.md §15). NATS permissions restrict it to operators. */
import type { SnapshotTaken } from '../host/maintenance/snapshot-taker.ts';
import { type Endpoint, replyLater } from '../nats/request-server.ts';

/** `stopgate.<fleet>.snapshot.<fleet>` */
export const snapshotEndpoint = (fleet: string, take: () => Promise<SnapshotTaken>): Endpoint => ({
  name: 'snapshot',
  subject: `stopgate.${fleet}.snapshot`,
  handle: replyLater(take),
});
