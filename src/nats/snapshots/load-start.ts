/**
 * Loads a start of a fold for a reader of the log, such as a command. It stands apart from the client of the log, which
 * is in the package of clients, for it brings the machines with it.
 */
import { AppError } from '../../errors.ts';
import { createLogger } from '../../log.ts';
import type { NatsConnection } from '../connection.ts';
import { isForbidden, operatorHint } from '../log/log-client.ts';
import type { FoldStart } from './find-start.ts';
import { createSnapshots } from './snapshots.ts';

/**
 * Loads a stored snapshot of the log as it is now, for a fold of what retention has left: the newest whose last entry
 * was stored before `beforeMs`, or without it the oldest. Null: there is none.
 * @throws AppError rules.unknown, log.unavailable; input.unauthorized: the server does not let us read snapshots
 */
export async function loadStart(nc: NatsConnection, fleet: string, beforeMs?: number): Promise<FoldStart | null> {
  try {
    return await load(nc, fleet, beforeMs);
  } catch (cause) {
    if (!isForbidden(cause)) throw cause;
    const message = `the NATS server does not let us read the snapshots of fleet ${fleet}, from which this would go on: ${operatorHint}`;
    throw new AppError('input.unauthorized', message, { cause });
  }
}

async function load(nc: NatsConnection, fleet: string, beforeMs?: number): Promise<FoldStart | null> {
  // One that is passed over is nothing to the reader of a command: it reports where it cannot start.
  const { past } = createSnapshots(nc, fleet, createLogger('silent'));
  const positions = [...(await past.positions())].sort((a, b) => a.seq - b.seq);
  if (beforeMs !== undefined) return past.load(positions.findLast(({ atMs }) => atMs < beforeMs)?.seq ?? 0);
  for (const { seq } of positions) {
    const start = await past.load(seq);
    if (start !== null) return start;
  }
  return null;
}
