/** Asks for a decision until it comes: a replica that stops or dies takes its answer with it, and another one has it. */
import { setTimeout } from 'node:timers/promises';
import { AppError } from '../errors.ts';
import { RequestError, TimeoutError } from '../nats/client-library.ts';

/** A question that got no answer in this time is asked again: its replica may be gone. */
const silenceMs = 30_000;
/**
 * The time that a replica may take to start, or to give way to another; a service that is silent for longer is down.
 */
const awayMsMax = 5_000;
const pauseMs = 250;

/**
 * @param ask has the same attempt id each time, so that it is decided and counted once
 * @param waitMs in all
 * @throws AppError of the last time, or at once what would not change
 */
export async function askUntilAnswered<Answer>(
  ask: (timeoutMs: number) => Promise<Answer>,
  waitMs: number,
): Promise<Answer> {
  const endsMs = performance.now() + waitMs;
  let awaySinceMs: number | null = null;
  for (;;) {
    try {
      return await ask(Math.max(1, Math.round(Math.min(silenceMs, endsMs - performance.now()))));
    } catch (error) {
      const nowMs = performance.now();
      if (!(error instanceof AppError)) throw error;
      if (error.cause instanceof TimeoutError) {
        if (nowMs >= endsMs) throw error;
        awaySinceMs = null; // somebody took the question
        continue;
      }
      if (!isAway(error)) throw error;
      awaySinceMs ??= nowMs;
      const afterMs = Math.max(pauseMs, error.retryAfterMs ?? 0) + Math.random() * pauseMs;
      if (nowMs + afterMs > Math.min(endsMs, awaySinceMs + awayMsMax)) throw error;
      await setTimeout(afterMs);
    }
  }
}

/** A replica that cannot answer now, or none at this moment. */
const isAway = ({ code, cause }: AppError): boolean =>
  code === 'log.unavailable' || (cause instanceof RequestError && cause.isNoResponders());
