/** Decides when a long-running process ends (a signal, a lost dependency, or idle time), and its exit code. */
import { AppError } from '../errors.ts';
import type { Logger } from '../log.ts';
import type { Io } from '../terminal/process-io.ts';
import { sleep } from '../timer.ts';

/** The reason of a service that was started on demand and has been idle. */
const idleEnd = 'idle';

export type IdleWatch = {
  /** Records an entry or a request. Those under `ownSubjects` are the service's own and do not count. */
  noteEntry(subject: string): void;
  /** Resolves after the idle time, or never if there is no limit. */
  ended(isBusy: () => boolean): Promise<string>;
  close(): void;
};

export function createIdleWatch(idleMs: number | undefined, ownSubjects: string): IdleWatch {
  let lastMs = performance.now();
  let timer: NodeJS.Timeout | undefined;
  return {
    noteEntry(subject) {
      if (!subject.startsWith(ownSubjects)) lastMs = performance.now();
    },
    ended: (isBusy) =>
      new Promise((resolve) => {
        if (idleMs === undefined) return;
        lastMs = performance.now();
        timer = setInterval(
          () => {
            if (isBusy()) lastMs = performance.now();
            else if (performance.now() - lastMs >= idleMs) resolve(idleEnd);
          },
          Math.min(Math.max(idleMs / 4, 10), 10_000),
        );
      }),
    close: () => clearInterval(timer),
  };
}

const interruption = 'interrupted';

type End = {
  /** Rejects at Ctrl-C, to abort a start. */
  readonly interrupted: Promise<never>;
  isInterrupted(): boolean;
  /** Waits for Ctrl-C or one of these promises. @returns the exit code */
  untilEnd(...gone: readonly Promise<string>[]): Promise<number>;
};

/** Starts to handle Ctrl-C. Call it first. */
export function createEnd(io: Io, logger: Logger): End {
  const signal = io.interrupt();
  const interrupted = sleep(null, signal).then((): never => {
    throw new AppError('service.busy', 'the service is closing');
  });
  const interruptedEnd = interrupted.catch(() => interruption);
  return {
    interrupted,
    isInterrupted: () => signal.aborted,
    async untilEnd(...gone) {
      const why = await Promise.race([interruptedEnd, ...gone]);
      logger.info({ why }, 'stopping');
      return why === interruption || why === idleEnd ? 0 : 3;
    },
  };
}

/** Removes user and password from URLs, since the ready line is printed and kept. */
export const withoutSecrets = (nats: string): string => nats.replace(/\/\/[^@/]*@/g, '//');
