/** When a long-running process ends, and with which exit code. */
import type { Logger } from '../log.ts';
import type { Io } from '../terminal/process-io.ts';
import { idleEnd } from './idle-exit.ts';

const interruption = 'interrupted';

/** Call it at the start: from then on Ctrl-C counts. */
export function createEnd(io: Io, logger: Logger) {
  const signal = io.interrupt();
  const interrupted = new Promise<string>((done) => {
    if (signal.aborted) done(interruption);
    signal.addEventListener('abort', () => done(interruption), { once: true });
  });
  /** Waits for Ctrl-C or one of these. @returns the exit code */
  return async (...gone: readonly Promise<string>[]): Promise<number> => {
    const why = await Promise.race([interrupted, ...gone]);
    logger.info({ why }, 'stopping');
    return why === interruption || why === idleEnd ? 0 : 3;
  };
}

/** A ready line is printed and kept, so it must not show the password of a URL. */
export const withoutSecrets = (nats: string): string => nats.replace(/\/\/[^@/]*@/g, '//');
