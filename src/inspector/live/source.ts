/** What the live feed needs of a replica. */
import type { Fleet } from '../../../machines/index.ts';
import type { Observe } from '../../host/observers.ts';
import type { Logger } from '../../log.ts';

export type LiveSource = {
  readonly fleet: Fleet;
  readonly logNow: () => number;
  readonly foldedSeq: () => number;
  /** The newest entry of the log. */
  readonly headSeq: () => Promise<number>;
  /** Why nothing can be decided now, or null. */
  readonly fault: () => Error | null;
  readonly observe: Observe;
  readonly logger: Logger;
};
