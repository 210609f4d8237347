/** When a long-running process ends, and with which exit code. */
import { AppError } from '../errors.ts';
import type { Logger } from '../log.ts';
import type { Io } from '../terminal/process-io.ts';
import { idleEnd } from './idle-exit.ts';

const interruption = 'interrupted';

export type End = {
  /** Rejects at Ctrl-C, for a start that is under way. */
  readonly interrupted: Promise<never>;
  isInterrupted(): boolean;
  /** Waits for Ctrl-C or one of these. @returns the exit code */
  untilEnd(...gone: readonly Promise<string>[]): Promise<number>;
};

/** Call it at the start: from then on Ctrl-C counts. */
export function createEnd(io: Io, logger: Logger): End {
  const signal = io.interrupt();
  const interrupted = new Promise<never>((_resolve, reject) => {
    const stop = () => reject(new AppError('service.busy', 'the service is closing'));
    if (signal.aborted) stop();
    signal.addEventListener('abort', stop, { once: true });
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
