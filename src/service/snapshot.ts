/** snapshot: the state of the fleet, written down now (protocol.md §15). For operators: the servers' permissions say so. */
import type { SnapshotTaken } from '../host/snapshots.ts';
import type { Endpoint } from '../nats/request-server.ts';

/** `stopgate.<fleet>.snapshot.<fleet>` */
export const snapshotEndpoint = (fleet: string, take: () => Promise<SnapshotTaken>): Endpoint => ({
  name: 'snapshot',
  subject: `stopgate.${fleet}.snapshot`,
  handle: take,
});
