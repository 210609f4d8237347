/**
 * Checks periodically that the log is still the one that was folded. Reads check this anyway. Without reads, a log that
 * was purged, or trimmed beyond the snapshots, would only be detected at the next start.
 */
import { AppError } from '../../errors.ts';
import type { Bus } from '../../nats/bus.ts';
import type { EventLog } from '../../nats/log/event-log.ts';
import type { Lifecycle } from '../lifecycle.ts';

/** Each request costs NATS and this process together about 0.3 ms of CPU, per fleet. */
const askEveryMs = 10_000;

export type LogWatch = { open(): void; close(): void };

type LogWatchOptions = {
  readonly lifecycle: Pick<Lifecycle, 'lose'>;
  readonly log: Pick<EventLog, 'head'>;
  readonly bus: Pick<Bus, 'isConnected'>;
};

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
