/**
 * Records outside of the log how far it is folded, periodically and at the end, so that the next start can detect that
 * the log has lost entries.
 */
import type { Logger } from '../../log.ts';
import type { Bus } from '../../nats/bus.ts';
import type { EventLog } from '../../nats/log/event-log.ts';
import { within } from '../../timer.ts';
import type { FoldProgress } from '../fold/fold-progress.ts';
import type { Lifecycle } from '../lifecycle.ts';

/** The loss of entries that were folded since the last note goes undetected. */
const noteEveryMs = 60_000;
const lastNoteTimeoutMs = 1_000;

export type FoldNote = {
  /**
   * Starts the periodic notes. A log without a note gets its first one before this resolves, unless NATS refuses it.
   */
  open(): Promise<void>;
  /** Writes a last note, for at most a second. */
  close(): Promise<void>;
};

type FoldNoteOptions = {
  readonly lifecycle: Pick<Lifecycle, 'phase'>;
  readonly log: Pick<EventLog, 'isNoted' | 'note'>;
  readonly progress: Pick<FoldProgress, 'position'>;
  readonly bus: Pick<Bus, 'isConnected'>;
  readonly logger: Logger;
};

export function createFoldNote(options: FoldNoteOptions): FoldNote {
  const { log, progress, bus, logger } = options;
  let notedSeq = 0;
  let timer: NodeJS.Timeout | null = null;
  const note = async () => {
    const position = progress.position();
    if (options.lifecycle.phase === 'lost' || position === null || position.seq === notedSeq || !bus.isConnected())
      return;
    try {
      await log.note(position);
      notedSeq = position.seq;
    } catch (error) {
      logger.debug({ err: error }, 'the progress of the fold was not recorded');
    }
  };
  return {
    async open() {
      timer ??= setInterval(() => void note(), noteEveryMs).unref();
      if (!log.isNoted) await note();
    },
    async close() {
      if (timer !== null) clearInterval(timer);
      await within(lastNoteTimeoutMs, note());
    },
  };
}
