/**
 * Records how far the log is folded, from time to time and at the end, outside of the log: a start can then tell what a
 * log has lost.
 */
import type { Logger } from '../../log.ts';
import type { Bus } from '../../nats/bus.ts';
import type { EventLog } from '../../nats/log/event-log.ts';
import { within } from '../../timer.ts';
import type { FoldProgress } from '../fold/fold-progress.ts';
import type { Lifecycle } from '../lifecycle.ts';

/** A later start cannot report a loss of what was folded since the last note. */
const noteEveryMs = 60_000;
const lastNoteTimeoutMs = 1_000;

export type FoldNote = {
  /** Resolves when a log that was never noted is, if NATS takes the note: from then on a start recognises it. */
  open(): Promise<void>;
  /** Notes once more, if NATS takes it soon enough. */
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
      logger.debug({ err: error }, 'how far the log is folded was not noted');
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
