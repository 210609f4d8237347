/** What the live feed needs of a replica. */
import type { Fleet } from '../../../machines/index.ts';
import type { LogMessage } from '../../nats/log-reader.ts';
import type { Watch } from '../shared-watcher.ts';

export type LiveSource = {
  readonly fleet: Fleet;
  readonly watch: Watch;
  readonly logNow: () => number;
  readonly foldedSeq: () => number;
  /** The newest entry of the log. */
  readonly headSeq: () => Promise<number>;
  /** Why nothing can be decided now, or null. */
  readonly fault: () => Error | null;
  /** Reports each message of the log after it was folded. */
  readonly observe: (onFolded: ((message: LogMessage) => void) | null) => void;
};
