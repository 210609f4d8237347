/** Measures a synchronous write of a few bytes on this disk, to put the peers that wait for one into perspective. */
import { closeSync, fdatasyncSync, mkdirSync, openSync, writeSync } from 'node:fs';
import { join } from 'node:path';

const perRound = 20;
/** About the size of a Postgres commit. */
const bytes = Buffer.alloc(4_096, 'x');

/** @returns the duration of each write, in ms */
export function sampleFsync(folder: string): number[] {
  mkdirSync(folder, { recursive: true });
  const file = openSync(join(folder, 'fsync'), 'a');
  const took = Array.from({ length: perRound }, () => {
    const startedMs = performance.now();
    writeSync(file, bytes);
    fdatasyncSync(file);
    return performance.now() - startedMs;
  });
  closeSync(file);
  return took;
}
