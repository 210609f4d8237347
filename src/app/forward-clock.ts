/** This machine's clock, but it never goes back: otherwise, timers that follow it would wait for that long again. */

/**
 * @param wall milliseconds since 1970
 * @param monotonic milliseconds since any time; it may stand still while the machine sleeps
 * @returns a clock in milliseconds since 1970. A step forward (also the end of a sleep) is followed, one back is not.
 */
export function createForwardClock(wall = () => Date.now(), monotonic = () => performance.now()): () => number {
  let offsetMs = Number.NEGATIVE_INFINITY;
  return () => {
    const nowMs = monotonic();
    offsetMs = Math.max(offsetMs, wall() - nowMs);
    return Math.round(nowMs + offsetMs);
  };
}
