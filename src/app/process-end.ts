/** When a long-running process ends, and with which exit code: by a signal, or once it has been idle for a while. */
import { AppError } from '../errors.ts';
import type { Logger } from '../log.ts';
import type { Io } from '../terminal/process-io.ts';
import { sleep } from '../timer.ts';

/** Ends a service that was started on demand once it has been idle for a while. */
const idleEnd = 'idle';

export type IdleWatch = {
  /** An entry or a request came. Those under `ownSubjects` are the service's own, and do not count. */
  noteEntry(subject: string): void;
  /** Resolves after the idle time; never if there is none. */
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
  /** Rejects at Ctrl-C, for a start that is under way. */
  readonly interrupted: Promise<never>;
  isInterrupted(): boolean;
  /** Waits for Ctrl-C or one of these. @returns the exit code */
  untilEnd(...gone: readonly Promise<string>[]): Promise<number>;
};

/** Call it at the start: from then on Ctrl-C counts. */
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

/** A ready line is printed and kept, so it must not show the password of a URL. */
export const withoutSecrets = (nats: string): string => nats.replace(/\/\/[^@/]*@/g, '//');
