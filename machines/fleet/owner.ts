/** Decides which replica acts. It follows from the log alone, so all replicas agree (protocol.md §9). */
import { hashOf } from '../values/digest.ts';
import type { EscalatedEntity } from '../values/escalation.ts';
import { actorKey, type Fleet, type Neglected } from './fleet.ts';

const none: ReadonlySet<string> = new Set();

/**
 * Returns the replica that acts for `key`: the preferred replica if it is a member, otherwise the member whose hash
 * with the key is highest (rendezvous hashing). Null if there are no members.
 * @param preferred the replica that received the request
 * @param gone members known to be dead
 */
export function ownerFor(fleet: Fleet, key: string, preferred: string | null, gone = none): string | null {
  if (preferred !== null && !gone.has(preferred) && fleet.replicas.has(preferred)) return preferred;
  const members = membersOf(fleet).filter((member) => !gone.has(member));
  let owner: string | null = null;
  let highest = -1;
  for (const member of members) {
    const weight = hashOf(`${member} ${key}`);
    if (weight > highest) [owner, highest] = [member, weight];
  }
  return owner;
}

/** Lists the replicas that have joined and not left, sorted by name. */
const membersOf = (fleet: Fleet): string[] => [...fleet.replicas.keys()].sort();

/** Returns the newest rules version that every member knows. Members that announced none know only the first. */
export function rulesOfMembers(fleet: Fleet): number {
  const known = membersOf(fleet).map((name) => fleet.rulesOfReplicas.get(name) ?? 1);
  return known.length === 0 ? fleet.rules.version : Math.min(...known);
}

/** Updates the index of neglected workers and queues. Call it at each change. */
export function trackNeglect(fleet: Fleet, entity: Neglected['entity'], id: string, isNeglected: boolean): void {
  const key = actorKey(entity, id);
  if (!isNeglected) fleet.neglected.delete(key);
  else if (!fleet.neglected.has(key)) fleet.neglected.set(key, { entity, id, owner: ownerFor(fleet, key, null) });
}

/**
 * Updates the index of escalated workers and tasks. Call it at each change.
 * @param preferred the replica that acts for its attempt
 */
export function trackEscalation(
  fleet: Fleet,
  entity: EscalatedEntity,
  id: string,
  isEscalated: boolean,
  preferred: string | null,
): void {
  const key = actorKey(entity, id);
  fleet.touched.add(key);
  if (!isEscalated) fleet.escalated.delete(key);
  else if (!fleet.escalated.has(key)) {
    fleet.escalated.set(key, { entity, id, owner: ownerFor(fleet, key, preferred) });
    fleet.outcomes.push({ kind: 'escalated', entity, id });
  }
}
