/**
 * Runs what only looks on: pages, inspectors, listeners. An error in it is a bug of ours; it is logged, and whatever
 * runs it goes on.
 */
import type { Logger } from './log.ts';

export type Guarded = (work: () => void) => void;

/**
 * @param what fails, for the log. The first error is logged as such and later ones for debugging only, since they may
 *   come with every entry
 */
export function createGuarded(logger: Logger, what: string): Guarded {
  let hasFailed = false;
  return (work) => {
    try {
      work();
    } catch (error) {
      logger[hasFailed ? 'debug' : 'error']({ err: error }, `${what} failed: a bug`);
      hasFailed = true;
    }
  };
}
