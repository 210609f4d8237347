/**
 * Folds the live log of a fleet in a command, from its beginning or, if retention has removed that, from a snapshot.
 */
import { createFleet, type Fleet } from '../../machines/index.ts';
import type { LogMessage } from '../nats/log/log-reader.ts';
import type { Requester } from '../nats/requester.ts';

type Log = Pick<Requester, 'read' | 'loadStart'>;
/** `fleet` is folded up to entry `seq`. */
export type FoldStart = { readonly fleet: Fleet; readonly seq: number };

/** @param firstSeq the first entry that the log still has */
export async function beginAt(log: Log, name: string, firstSeq: number): Promise<FoldStart> {
  const start = firstSeq > 1 ? await log.loadStart() : null;
  return { fleet: start?.fleet ?? createFleet(name), seq: start?.position.seq ?? 0 };
}

/**
 * Calls `step` with each entry, which it must fold, until it returns true or the log ends.
 * @returns the fleet at the end, and the entry after which folding began
 */
export async function foldLog(
  log: Log,
  name: string,
  step: (fleet: Fleet, message: LogMessage) => boolean,
): Promise<{ readonly fleet: Fleet; readonly startSeq: number }> {
  const { batches } = await log.read();
  let from: FoldStart | null = null;
  for await (const batch of batches)
    for (const message of batch) {
      from ??= await beginAt(log, name, message.seq);
      from.fleet.showsInputs = true;
      if (message.seq > from.seq && step(from.fleet, message)) return { fleet: from.fleet, startSeq: from.seq };
    }
  return { fleet: from?.fleet ?? createFleet(name), startSeq: from?.seq ?? 0 };
}
