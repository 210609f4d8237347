/** Folds own entries about the fleet: its replicas and its policies (protocol.md §3). */
import type { OwnFleetEntry } from '../entries/index.ts';
import type { Fleet } from './fleet.ts';
import { rearmForgetting } from './forgetting.ts';
import { armStaleDeadlines } from './stale-deadlines.ts';

export function foldOwnFleet(fleet: Fleet, entry: OwnFleetEntry, seq: number): void {
  switch (entry.type) {
    case 'replica.joined':
      fleet.replicas.set(entry.data.replica, fleet.nowMs);
      break;
    case 'replica.left':
      fleet.replicas.delete(entry.data.replica);
      break;
    case 'rules.set':
      // One version is known so far, and it holds from the beginning.
      break;
    case 'policy.set':
      if (fleet.policyPinned) break;
      fleet.policies = entry.data;
      fleet.policySeq = seq;
      for (const worker of fleet.workers.keys()) armStaleDeadlines(fleet, worker);
      rearmForgetting(fleet);
      break;
  }
}
