/**
 * Records how far the log is folded, from time to time and at the end, outside of the log: a start can then tell what a
 * log has lost.
 */
import type { HostContext } from './context.ts';

/** A later start cannot report a loss of what was folded since the last note. */
const noteEveryMs = 60_000;
const lastNoteTimeoutMs = 1_000;

export type FoldNote = {
  /** Resolves when a log that was never noted is, if NATS takes the note: from then on a start recognises it. */
  open(): Promise<void>;
  /** Notes once more, if NATS takes it soon enough. */
  close(): Promise<void>;
};

export function createFoldNote(context: HostContext): FoldNote {
  const { log, progress, bus, logger } = context;
  let notedSeq = 0;
  let timer: NodeJS.Timeout | null = null;
  const note = async () => {
    const position = progress.position();
    if (context.life.phase === 'lost' || position === null || position.seq === notedSeq || !bus.isConnected()) return;
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
      await Promise.race([note(), new Promise((done) => setTimeout(done, lastNoteTimeoutMs).unref())]);
    },
  };
}
