/**
 * A limit of the account on what its streams may store. nats-server 2.9 stores an entry beyond it, refuses it and
 * removes it. Each leaves a gap in the log, and a log with a gap has lost something (`log-continuity.ts`).
 */
import { type JetStreamManager, jetstreamManager } from '@nats-io/jetstream';
import type { Logger } from '../log.ts';
import { isTestedServer } from './cluster-version.ts';
import { type ConnectionOptions, openConnection } from './connection.ts';

export const accountLimit = {
  text: 'this NATS account has a limit on storage (max_file of its JetStream), and past it this nats-server leaves holes in the log, which is then LOG_LOST',
  fix: "remove the limit and set the server's max_file_store, or update to 2.15",
} as const;

/** @param version as the server announces it, such as `2.15.2` */
export async function warnOfAccountLimit(manager: JetStreamManager, version: string, log: Logger): Promise<void> {
  const limit = await findLimit(manager, version).catch(() => null);
  if (limit !== null) log.warn({ ...limit, version }, `${accountLimit.text}: ${accountLimit.fix}`);
}

const askMs = 2_000;

/** Whether the account has a limit that leaves holes. Null: it cannot be asked from here. Never rejects. */
export async function askAccountLimit(options: Pick<ConnectionOptions, 'url' | 'credsFile'>): Promise<boolean | null> {
  const nc = await openConnection({ ...options, name: 'stopgate doctor', patient: false }).catch(() => null);
  if (nc === null) return null;
  try {
    const manager = await jetstreamManager(nc, { timeout: askMs, checkAPI: false });
    return (await findLimit(manager, nc.info?.version ?? 'unknown')) !== null;
  } catch {
    return null;
  } finally {
    await nc.close();
  }
}

async function findLimit(manager: JetStreamManager, version: string) {
  if (isTestedServer(version)) return null;
  const { limits, storage: bytes } = await manager.getAccountInfo();
  const bytesMax = limits?.max_storage ?? -1;
  return bytesMax < 0 ? null : { bytesMax, bytes };
}
