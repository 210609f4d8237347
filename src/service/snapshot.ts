/** snapshot: writes the state of the fleet now (protocol.md §15). Only for operators, by the servers' permissions. */
import type { SnapshotTaken } from '../host/maintenance/snapshots.ts';
import { type Endpoint, replyLater } from '../nats/request-server.ts';

/** `stopgate.<fleet>.snapshot.<fleet>` */
export const snapshotEndpoint = (fleet: string, take: () => Promise<SnapshotTaken>): Endpoint => ({
  name: 'snapshot',
  subject: `stopgate.${fleet}.snapshot`,
  handle: replyLater(take),
});
