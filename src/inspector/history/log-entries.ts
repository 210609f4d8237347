/** Reads log entries for folds of the past without gaps, although retention may remove entries at any time. */
import { AppError } from '../../errors.ts';
import { isGapAccepted } from '../../nats/log/log-note.ts';
import type { LogMessage } from '../../nats/log/log-reader.ts';
import type { StoredLog } from '../../nats/log/stored-log.ts';

/** Entries needed by a fold are missing in the log, starting at `fromSeq`. */
export class GapError extends AppError {
  readonly fromSeq: number;
  /** Subject and verb of an error message, such as `entries 5 to 9 are`. */
  readonly what: string;

  constructor(fromSeq: number, toSeq: number) {
    const what = fromSeq === toSeq ? `entry ${fromSeq} is` : `entries ${fromSeq} to ${toSeq} are`;
    super('log.unavailable', `${what} no longer in the log; if it was just truncated, try again`);
    this.fromSeq = fromSeq;
    this.what = what;
  }
}

/**
 * Reads entries `fromSeq` to `toSeq`. Only gaps that a person has accepted are allowed (docs/protocol.md §2).
 * @throws GapError before the first entry after a gap
 * @throws AppError log.unavailable
 */
export async function readUnbroken(
  log: Pick<StoredLog, 'history' | 'range' | 'accepted'>,
  { fromSeq, toSeq }: { readonly fromSeq: number; readonly toSeq: number },
  onMessage: (message: LogMessage) => void | Promise<void>,
): Promise<void> {
  let nextSeq = fromSeq;
  const passGap = async (seq: number) => {
    const { firstSeq } = await log.range();
    if (!isGapAccepted(log.accepted, nextSeq, seq, firstSeq)) throw new GapError(nextSeq, seq - 1);
  };
  const advance = (message: LogMessage) => {
    nextSeq = message.seq + 1;
    return onMessage(message);
  };
  await log.history({ fromSeq, toSeq }, (message) =>
    message.seq > nextSeq ? passGap(message.seq).then(() => advance(message)) : advance(message),
  );
  if (nextSeq <= toSeq) await passGap(toSeq + 1);
}

/** Finds the first entry stored at or after `fromMs`, or a slightly earlier one where entries are missing. */
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
