/** A file system that is small enough to be filled. */
import { execFileSync } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export type SmallDisk = {
  readonly path: string;
  /** Fills the free space. */
  fill(): void;
  /** Frees the space again. */
  empty(): void;
  remove(): void;
};

/** Returns null if not root, because only root may mount it. */
export function mountSmallDisk(megabytes: number): SmallDisk | null {
  const path = mkdtempSync(join(tmpdir(), 'stopgate-disk-'));
  const options = ['-t', 'tmpfs', '-o', `size=${megabytes}m`, 'stopgate-test', path];
  try {
    execFileSync('/bin/mount', options, { stdio: 'ignore' });
  } catch {
    rmSync(path, { recursive: true });
    return null;
  }
  const filler = join(path, 'filler');
  return {
    path,
    fill() {
      const file = openSync(filler, 'a');
      for (const bytes of [Buffer.alloc(65_536), Buffer.alloc(4_096)]) {
        while (writesAll(file, bytes));
      }
      closeSync(file);
    },
    empty: () => rmSync(filler, { force: true }),
    remove() {
      execFileSync('/bin/umount', ['-l', path]);
      rmSync(path, { recursive: true });
    },
  };
}

function writesAll(file: number, bytes: Buffer): boolean {
  try {
    return writeSync(file, bytes) === bytes.length;
  } catch {
    return false;
  }
}
