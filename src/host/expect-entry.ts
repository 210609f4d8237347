/** How long an entry may take to come back from the log, before its caller gets 503 (docs/protocol.md §9). */
import type { HostContext } from './context.ts';

/** The limit even if the log delivers other entries meanwhile. */
const slowestMs = 10_000;

/**
 * Calls `onLate` if the log delivers nothing within `entryTimeoutMs`. While it does deliver, an entry is only behind
 * others: a burst of thousands is served to its end, and not refused after it was stored.
 * @returns a function that ends it
 */
export function expectEntry(
  { bus, progress, entryTimeoutMs }: Pick<HostContext, 'bus' | 'progress' | 'entryTimeoutMs'>,
  onLate: () => void,
): () => void {
  const startedMs = performance.now();
  const halfMs = entryTimeoutMs / 2;
  let timer: NodeJS.Timeout;
  let seq = progress.seq;
  let ended = false;
  const check = async (early: Promise<boolean>) => {
    // What the server had sent before may still stand in line here, behind requests.
    const isHeard = ((await early) || progress.seq > seq) && (await bus.isHeard());
    if (ended) return;
    const moves = isHeard && progress.seq > seq && performance.now() - startedMs < slowestMs;
    seq = progress.seq;
    if (moves) wait();
    else onLate();
  };
  // The server is pinged at half time already, because a missing answer takes a second to notice.
  const listen = () => {
    timer = setTimeout(check, halfMs, bus.isHeard());
  };
  const wait = () => {
    timer = setTimeout(listen, halfMs);
  };
  wait();
  return () => {
    ended = true;
    clearTimeout(timer);
  };
}
