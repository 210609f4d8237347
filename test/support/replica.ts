/** A replica in this process, for tests: quiet, with counters that can be read. */

import { openReplica, type Replica, type ReplicaOptions } from '../../src/app/replica.ts';
import { createLogger } from '../../src/log.ts';

const silent = createLogger('silent');

export type Counts = { refused: string[]; dead: string[]; conflicts: number };

export async function startReplica(
  options: Pick<ReplicaOptions, 'nats'> & Partial<ReplicaOptions>,
): Promise<Replica & { readonly counts: Counts }> {
  const counts: Counts = { refused: [], dead: [], conflicts: 0 };
  const replica = await openReplica({
    fleet: 'main',
    name: 'r1',
    version: '0.0.0',
    policies: null,
    runCheck: async () => ({ outcome: 'error', reason: 'no runner in this test', tookMs: 0 }),
    logger: silent,
    metrics: {
      folded: () => {},
      decided: () => {},
      refused: (type) => void counts.refused.push(type),
      dead: (code) => void counts.dead.push(code),
      hookRan: () => {},
      policyConflict: () => {
        counts.conflicts += 1;
      },
      answered: () => {},
    },
    ...options,
  });
  return { ...replica, counts };
}
