/**
 * A replicated log that looks lost may not be: for some seconds, a former leader that was cut off from the other nodes
 * answers as if it still led, without what was stored since. So such an answer counts only when it has lasted.
 */
import type { StreamInfo } from '@nats-io/jetstream';
import { AppError } from '../../errors.ts';

/** nats-server notices after 10 s that a leader has lost the others. */
const doubtMs = 15_000;

type Ask = () => Promise<StreamInfo | AppError>;

/**
 * As `ask`; of a replicated log, `log.lost` is `log.unavailable` until nothing else was answered for 15 s,
 * asked about at least that often.
 */
export function confirmLoss(ask: Ask, replicas: number): Ask {
  if (replicas <= 1) return ask;
  let sinceMs: number | null = null;
  let answeredMs = 0;
  return async () => {
    // What was answered in the meantime is not known.
    if (performance.now() - answeredMs > doubtMs) sinceMs = null;
    const found = await ask();
    answeredMs = performance.now();
    if (!(found instanceof AppError)) sinceMs = null;
    if (!(found instanceof AppError) || found.code !== 'log.lost') return found;
    sinceMs ??= performance.now();
    if (performance.now() - sinceMs >= doubtMs) return found;
    const message = `a node of the cluster says that ${found.message}; it may lag, and is asked again`;
    return new AppError('log.unavailable', message, { cause: found });
  };
}
