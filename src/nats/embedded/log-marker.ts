/**
 * Remembers outside of JetStream which fleets have a log in a store. The note in the dead-letter stream is lost together
 * with the log when all streams are deleted, and a start would then create an empty log without a word.
 *
 * The memory is `fleets/<fleet>.json` in the store folder, beside `jetstream/`. Whoever deletes the whole store folder
 * deletes the memory too, and the next start is a first start: that is how a person begins again.
 */
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const markerOf = (storeDir: string, fleet: string) => join(storeDir, 'fleets', `${fleet}.json`);

/** A marker that cannot be read counts: only its name matters. */
export const hasHadLog = (storeDir: string, fleet: string): boolean => existsSync(markerOf(storeDir, fleet));

/** Called once the log of a fleet is open. */
export function markLog(storeDir: string, fleet: string): void {
  if (hasHadLog(storeDir, fleet)) return;
  mkdirSync(join(storeDir, 'fleets'), { recursive: true, mode: 0o700 });
  const text = { fleet, note: 'this fleet has a log in this store; without it a start is refused' };
  writeFileSync(markerOf(storeDir, fleet), `${JSON.stringify(text)}\n`, { mode: 0o600 });
}
