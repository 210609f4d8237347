/** What it takes to have a few bytes on this disk for certain: without it the peers that wait for that mean little. */
import { closeSync, fdatasyncSync, mkdirSync, openSync, writeSync } from 'node:fs';
import { join } from 'node:path';

const perRound = 20;
/** About what a commit of Postgres writes. */
const bytes = Buffer.alloc(4_096, 'x');

/** @returns ms, one of each write */
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
