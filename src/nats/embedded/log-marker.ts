/**
 * Marker files outside JetStream that say which fleets have a log in a store. If all streams are deleted, the note in
 * the dead-letter stream is lost together with the log, and without a marker a start would silently create an empty
 * log.
 *
 * The marker is `fleets/<fleet>.json` in the store folder, next to `jetstream/`. Deleting the whole store folder also
 * deletes the markers: that is how to start over.
 */
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const markerOf = (storeDir: string, fleet: string) => join(storeDir, 'fleets', `${fleet}.json`);

/** Checks for the marker file. Its content does not matter. */
export const hasHadLog = (storeDir: string, fleet: string): boolean => existsSync(markerOf(storeDir, fleet));

/** Called once the log of a fleet is open. */
export function markLog(storeDir: string, fleet: string): void {
  if (hasHadLog(storeDir, fleet)) return;
  mkdirSync(join(storeDir, 'fleets'), { recursive: true, mode: 0o700 });
  const text = { fleet, note: 'this fleet has a log in this store; without it a start is refused' };
  writeFileSync(markerOf(storeDir, fleet), `${JSON.stringify(text)}\n`, { mode: 0o600 });
}
