/** Stores the entries that the host itself appends. Retries until the log has them; each is stored once. */
import { type Fleet, retriedMessageId } from '../../machines/index.ts';
import { AppError } from '../errors.ts';
import type { Logger } from '../log.ts';
import type { EventLog } from '../nats/log/event-log.ts';
import type { Stored } from '../nats/log/log-submitter.ts';
import type { FoldProgress } from './fold/fold-progress.ts';
import type { Lifecycle } from './lifecycle.ts';

/** `tail` is the subject after `stopgate.<fleet>.`. NATS deduplicates retries by `messageId`. */
export type OwnEntry = {
  readonly tail: string;
  readonly data: object;
  readonly messageId: string;
  /** Called before each attempt to store; false stops the retries. */
  readonly isNeeded: () => boolean;
  readonly onRefused?: ((error: AppError) => void) | undefined;
};

export type OwnEntries = {
  /**
   * Resolves to null if the entry is no longer needed. `duplicate` means that the log already had an entry with that
   * message id, at `seq`.
   */
  untilStored(entry: OwnEntry): Promise<Stored | null>;
  /**
   * Like `untilStored`, for an entry that is no longer needed once it is folded. Agents choose their message ids
   * freely. If our entry is still needed after the fold of a duplicate, an agent has used its id, and we store it under
   * a random one.
   */
  untilFolded(entry: OwnEntry): Promise<void>;
};

export type OwnEntriesOptions = {
  readonly fleet: Pick<Fleet, 'name'>;
  readonly replica: string;
  readonly log: Pick<EventLog, 'append'>;
  readonly lifecycle: Pick<Lifecycle, 'isAtHead'>;
  readonly progress: Pick<FoldProgress, 'until'>;
  readonly newId: () => string;
  readonly logger: Logger;
};

const retryMs = 300;

export function createOwnEntries(options: OwnEntriesOptions): OwnEntries {
  const { replica, log, lifecycle, progress, newId, logger } = options;
  const untilStored: OwnEntries['untilStored'] = async ({ tail, data, messageId, isNeeded, onRefused }) => {
    const payload = JSON.stringify(data);
    while (isNeeded()) {
      // Behind the head, the state that called for this entry may be out of date.
      if (!lifecycle.isAtHead()) {
        await new Promise((done) => setTimeout(done, retryMs));
        continue;
      }
      try {
        return await log.append(subject(options, tail), payload, { messageId, replica });
      } catch (error) {
        if (error instanceof AppError) onRefused?.(error);
        logger.warn({ err: error, tail }, 'entry not stored, trying again');
        await new Promise((done) => setTimeout(done, retryMs));
      }
    }
    return null;
  };
  return {
    untilStored,
    async untilFolded(entry) {
      for (let { messageId } = entry; ; messageId = retriedMessageId(entry.messageId, newId())) {
        const stored = await untilStored({ ...entry, messageId });
        if (stored === null || !stored.duplicate) return;
        await progress.until(stored.seq);
      }
    },
  };
}

/** `stopgate.<fleet>.<tail>` */
export const subject = ({ fleet }: { readonly fleet: Pick<Fleet, 'name'> }, tail: string): string =>
  `stopgate.${fleet.name}.${tail}`;
