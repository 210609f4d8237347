/**
 * Tracks whether the log stores the entries that this replica sends; a refusal is the only sign of a full disk. After a
 * refused entry, the replica sends only harmless probe entries until one is stored. If the log does not even answer the
 * question for its head, no other requests are sent, because each would wait for its full timeout.
 */
import { AppError } from '../../errors.ts';
import type { Bus } from '../../nats/bus.ts';
import type { EventLog } from '../../nats/log/event-log.ts';
import type { Stored } from '../../nats/log/log-submitter.ts';

export type LogHealth = {
  /** The given log, wrapped. */
  readonly log: EventLog;
  /** Returns why the last entry was not stored, or null. */
  fault(): AppError | null;
  /** Returns why the log did not answer the last question for its head, or null. */
  silence(): AppError | null;
  close(): void;
};

export type LogHealthOptions = {
  readonly log: EventLog;
  readonly bus: Pick<Bus, 'isConnected' | 'flushLog'>;
  /** Appends a harmless probe entry. */
  readonly probe: () => Promise<Stored>;
};

const retryMs = 2_000;

export function createLogHealth({ log, bus, probe }: LogHealthOptions): LogHealth {
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
  const retry = async () => {
    timer = null;
    try {
      await askHead();
      observe(await probe());
    } catch (error) {
      if (error instanceof AppError) observe(error);
      await bus.flushLog();
      arm(retryMs);
    }
  };
  const arm = (delayMs: number) => {
    if (timer !== null || isClosed || fault === null) return;
    timer = setTimeout(retry, delayMs);
    timer.unref();
  };
  const observe = (answer: AppError | Stored) => {
    if (!(answer instanceof AppError)) fault = null;
    // An error of a broken connection says nothing about the log.
    else if (answer.code === 'log.unavailable' && bus.isConnected()) {
      const isNew = fault === null;
      fault = answer;
      if (isNew) void bus.flushLog().then(() => arm(0));
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
      // The outbox sends dropped decisions again.
      send(...entry) {
        if (fault === null) log.send(...entry);
      },
    },
    fault: () => fault,
    silence: () => silence,
    close() {
      isClosed = true;
      if (timer !== null) clearTimeout(timer);
    },
  };
}
