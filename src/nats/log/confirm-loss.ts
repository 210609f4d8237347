/**
 * Confirms that a replicated log is lost. It may be intact: a leader that is cut off from its peers keeps answering for
 * some seconds, without the entries stored since. So a loss counts only if it is reported for a while.
 */
import type { StreamInfo } from '@nats-io/jetstream';
import { AppError } from '../../errors.ts';

/** A nats-server leader steps down 10 s after losing its peers. */
const doubtMs = 15_000;

type Inspect = () => Promise<StreamInfo | AppError>;

/**
 * Wraps `inspect` for a replicated log: returns `log.unavailable` instead of `log.lost` until `log.lost` was the only
 * result for 15 s. Must be called at least that often.
 */
export function confirmLoss(inspect: Inspect, replicas: number): Inspect {
  if (replicas <= 1) return inspect;
  let sinceMs: number | null = null;
  let answeredMs = 0;
  return async () => {
    // After a pause, the results in between are unknown.
    if (performance.now() - answeredMs > doubtMs) sinceMs = null;
    const found = await inspect();
    answeredMs = performance.now();
    if (!(found instanceof AppError)) sinceMs = null;
    if (!(found instanceof AppError) || found.code !== 'log.lost') return found;
    sinceMs ??= performance.now();
    if (performance.now() - sinceMs >= doubtMs) return found;
    const message = `a node of the cluster says that ${found.message}; it may lag, so stopgate will ask again`;
    return new AppError('log.unavailable', message, { cause: found });
  };
}
