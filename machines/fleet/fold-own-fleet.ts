/** Folds own entries about the fleet: its replicas and its policies (protocol.md §3). */
import type { OwnFleetEntry } from '../entries/index.ts';
import type { PolicySet } from '../policy/policy-set.ts';
import { handOverAttempts } from './attempts.ts';
import { type Fleet, setRules } from './fleet.ts';
import { rearmForgetting } from './forgetting.ts';
import { armStaleDeadlines } from './stale-deadlines.ts';

export function foldOwnFleet(fleet: Fleet, entry: OwnFleetEntry, seq: number): void {
  switch (entry.type) {
    case 'replica.joined':
      fleet.replicas.set(entry.data.replica, fleet.nowMs);
      if (entry.data.rules !== undefined) fleet.rulesOfReplicas.set(entry.data.replica, entry.data.rules[1]);
      break;
    case 'replica.left':
      fleet.replicas.delete(entry.data.replica);
      fleet.rulesOfReplicas.delete(entry.data.replica);
      handOverAttempts(fleet, entry.data.replica);
      break;
    case 'rules.set':
      // A late entry for an older version changes nothing.
      if (entry.data.version > fleet.rules.version) setRules(fleet, entry.data.version);
      break;
    case 'policy.set':
      if (fleet.policyPinned) break;
      setPolicies(fleet, entry.data, seq);
      break;
  }
}

/** Goes over all actors only if one of their deadlines may have changed. */
function setPolicies(fleet: Fleet, policies: PolicySet, seq: number): void {
  const { forgetMs } = fleet.policies;
  fleet.policies = policies;
  fleet.policySeq = seq;
  if (policies.releaseAfterMs !== null || [...policies.policies.values()].some((it) => it.onStale === 'escalate'))
    for (const worker of fleet.workers.keys()) armStaleDeadlines(fleet, worker);
  if (policies.forgetMs !== forgetMs) rearmForgetting(fleet);
}
