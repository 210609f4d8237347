/**
 * Tells whether the log stores what this replica sends, which is the only sign of a full disk. Once an entry was not
 * stored, the replica sends only an entry that changes nothing, until one is stored. If the log does not even answer
 * where it ends, nothing else is asked, because each question would wait for its full timeout.
 */

import { AppError } from '../../errors.ts';
import type { Logger } from '../../log.ts';
import type { Bus } from '../../nats/bus.ts';
import type { EventLog } from '../../nats/log/event-log.ts';
import type { Stored } from '../../nats/log/log-submitter.ts';
import { within } from '../../timer.ts';
import type { FoldProgress } from '../fold/fold-progress.ts';
import type { Lifecycle } from '../lifecycle.ts';

export type LogHealth = {
  /** The given log, observed. */
  readonly log: EventLog;
  /** Says why the last entry was not stored; null: it was. */
  fault(): AppError | null;
  /** Says why the log did not say where it ends when it was last asked; null: it did. */
  silence(): AppError | null;
  close(): void;
};

export type LogHealthOptions = {
  readonly log: EventLog;
  readonly bus: Pick<Bus, 'isConnected' | 'isHeard'>;
  /** Appends an entry that changes nothing. */
  readonly tryEntry: () => Promise<Stored>;
};

const retryMs = 2_000;

export function createLogHealth({ log, bus, tryEntry }: LogHealthOptions): LogHealth {
  let fault: AppError | null = null;
  let silence: AppError | null = null;
  let timer: NodeJS.Timeout | null = null;
  let isClosed = false;
  const askHead = () =>
    log.head().then(
      (head) => {
        silence = null;
        return head;
      },
      (error: Error) => {
        silence = error instanceof AppError ? error : new AppError('log.unavailable', error.message, { cause: error });
        throw error;
      },
    );
  const tryAgain = async () => {
    timer = null;
    try {
      await askHead();
      observe(await tryEntry());
    } catch (error) {
      if (error instanceof AppError) observe(error);
      await bus.isHeard();
      arm(retryMs);
    }
  };
  const arm = (delayMs: number) => {
    if (timer !== null || isClosed || fault === null) return;
    timer = setTimeout(tryAgain, delayMs);
    timer.unref();
  };
  const observe = (answer: AppError | Stored) => {
    if (!(answer instanceof AppError)) fault = null;
    // An error of a broken connection says nothing about the log.
    else if (answer.code === 'log.unavailable' && bus.isConnected()) {
      const isNew = fault === null;
      fault = answer;
      if (isNew) void bus.isHeard().then(() => arm(0));
    }
  };
  return {
    log: {
      ...log,
      submit(subject, payload, headers, onAnswer) {
        if (fault !== null) {
          onAnswer(fault);
          return;
        }
        log.submit(subject, payload, headers, (answer) => {
          observe(answer);
          onAnswer(answer);
        });
      },
      async append(...entry) {
        if (fault !== null) throw fault;
        try {
          const stored = await log.append(...entry);
          observe(stored);
          return stored;
        } catch (error) {
          if (error instanceof AppError) observe(error);
          throw error;
        }
      },
      async head() {
        if (fault !== null && silence !== null) throw fault;
        return askHead();
      },
      // A decision is sent again by the outbox.
      send: (...entry) => void (fault === null && log.send(...entry)),
    },
    fault: () => fault,
    silence: () => silence,
    close() {
      isClosed = true;
      if (timer !== null) clearTimeout(timer);
    },
  };
}

/** A request costs NATS and this process together some 0.3 ms of CPU, for each fleet. */
const askEveryMs = 10_000;

export type LogWatch = { open(): void; close(): void };

type LogWatchOptions = {
  readonly lifecycle: Pick<Lifecycle, 'lose'>;
  readonly log: Pick<EventLog, 'head'>;
  readonly bus: Pick<Bus, 'isConnected'>;
};

/**
 * Checks from time to time whether the log is still the one that was folded. Readers check it anyway; without readers,
 * a log that was purged, or cut where no snapshot covers it, would only be noticed at the next start.
 */
export function createLogWatch({ log, bus, lifecycle }: LogWatchOptions): LogWatch {
  let timer: NodeJS.Timeout | null = null;
  let isAsking = false;
  const ask = async () => {
    if (isAsking || !bus.isConnected()) return;
    isAsking = true;
    await log.head().catch((error: unknown) => {
      if (error instanceof AppError && error.code === 'log.lost') lifecycle.lose(error);
    });
    isAsking = false;
  };
  return {
    open() {
      timer ??= setInterval(() => void ask(), askEveryMs).unref();
    },
    close() {
      if (timer !== null) clearInterval(timer);
    },
  };
}

/**
 * Records how far the log is folded, from time to time and at the end, outside of the log: a start can then tell what a
 * log has lost.
 */

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

/**
 * Records how far the log is folded, from time to time and at the end, outside of the log: a start can then tell what a
 * log has lost.
 */
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
