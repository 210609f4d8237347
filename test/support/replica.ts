/** A replica in this process with a silent log and readable metrics. */
import { type LinkOptions, openLink } from '../../src/app/link.ts';
import { openReplica, type Replica, type ReplicaOptions } from '../../src/app/replica.ts';
import { createLogger } from '../../src/log.ts';

const silent = createLogger('silent');

export type Counts = { decided: number; refused: string[]; dead: string[]; conflicts: number };

type Options = Pick<LinkOptions, 'nats'> &
  Partial<LinkOptions & ReplicaOptions> & {
    /** Called before the replica opens its log. */
    readonly onConnected?: () => void;
    /** Called with each folded entry, including those of the initial fold. */
    readonly onFolded?: (subject: string) => void;
  };

/** Starts a replica with its own connection, which is closed with it. */
export async function startReplica({
  nats,
  creds,
  inboxPrefix,
  name = 'r1',
  replyPrefixes = [],
  onConnected = () => {},
  onFolded = () => {},
  ...options
}: Options): Promise<Replica & { readonly counts: Counts }> {
  const counts: Counts = { decided: 0, refused: [], dead: [], conflicts: 0 };
  const link = await openLink({ nats, creds, inboxPrefix, name, version: '0.0.0', replyPrefixes, logger: silent });
  onConnected();
  try {
    const replica = await openReplica(link, {
      fleet: 'main',
      policies: null,
      runCheck: async () => ({ outcome: 'error', reason: 'no runner in this test', tookMs: 0 }),
      logger: silent,
      metrics: countInto(counts, onFolded),
      ...options,
    });
    const close = async () => {
      await replica.close();
      await link.close();
    };
    return { ...replica, counts, close };
  } catch (error) {
    await link.close();
    throw error;
  }
}

const countInto = (counts: Counts, onFolded: (subject: string) => void): ReplicaOptions['metrics'] => ({
  folded: onFolded,
  decided: () => {
    counts.decided += 1;
  },
  refused: (type) => void counts.refused.push(type),
  dead: (code) => void counts.dead.push(code),
  hookRan: () => {},
  used: () => {},
  bounded: () => {},
  policyConflict: () => {
    counts.conflicts += 1;
  },
  answered: () => {},
});
