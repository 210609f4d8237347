/**
 * Checks from time to time whether the log is still the one that was folded. Readers check it anyway; without readers,
 * a log that was purged, or cut where no snapshot covers it, would only be noticed at the next start.
 */
import { AppError } from '../errors.ts';
import type { HostContext } from './context.ts';

/** A request costs NATS and this process together some 0.3 ms of CPU, for each fleet. */
const askEveryMs = 10_000;

export type LogWatch = { open(): void; close(): void };

export function createLogWatch({ log, bus, life }: HostContext): LogWatch {
  let timer: NodeJS.Timeout | null = null;
  let isAsking = false;
  const ask = async () => {
    if (isAsking || !bus.isConnected()) return;
    isAsking = true;
    await log.head().catch((error: unknown) => {
      if (error instanceof AppError && error.code === 'log.lost') life.lose(error);
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
