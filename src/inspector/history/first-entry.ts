/** Finds the entry of a time. */
import type { StoredLog } from '../../nats/log/stored-log.ts';

/** Finds the first entry at or after `fromMs`, or one a little earlier where entries are missing. */
export async function findFirst(
  log: Pick<StoredLog, 'history'>,
  { firstSeq, lastSeq }: { readonly firstSeq: number; readonly lastSeq: number },
  fromMs: number,
): Promise<number> {
  let [low, high] = [Math.max(1, firstSeq), lastSeq + 1];
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    let isBefore = false;
    await log.history({ fromSeq: middle, toSeq: middle }, ({ atMs }) => {
      isBefore = atMs < fromMs;
    });
    if (isBefore) low = middle + 1;
    else high = middle;
  }
  return low;
}
