/** Keeps track of who is escalated, and of the replica that notifies people. */
import type { EscalatedEntity } from '../values/escalation.ts';
import { actorKey, type Fleet } from './fleet.ts';
import { ownerFor } from './owner.ts';

/**
 * Keeps the index of who is escalated; to be called at each change.
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
