/**
 * A limit of the account on what its streams may store. nats-server 2.9 stores an entry past it, refuses it and removes
 * it: each leaves a hole in the log, and a log with a hole has lost something (`log-continuity.ts`).
 */
import type { JetStreamManager } from '@nats-io/jetstream';
import type { Logger } from '../log.ts';
import { isTestedServer } from './cluster-version.ts';

/** @param version as the server tells it, such as `2.15.2` */
export async function warnOfAccountLimit(manager: JetStreamManager, version: string, log: Logger): Promise<void> {
  if (isTestedServer(version)) return;
  const info = await manager.getAccountInfo().catch(() => null);
  const bytesMax = info?.limits?.max_storage ?? -1;
  if (info === null || bytesMax < 0) return;
  log.warn(
    { bytesMax, bytes: info.storage, version },
    "this NATS account has a limit on storage (max_file of its JetStream), and past it this nats-server leaves holes in the log, which is then LOG_LOST: remove the limit and set the server's max_file_store, or update to 2.15",
  );
}
