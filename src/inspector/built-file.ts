/** Reads a file of the pages' build. */
import { existsSync, readFileSync } from 'node:fs';

/** Looks next to this folder in a build, and in dist when run from the sources, as tests do. Null: it is not built. */
export function readBuilt(file: string): Buffer | null {
  const found = [`../../${file}`, `../../dist/${file}`].map((path) => new URL(path, import.meta.url)).find(existsSync);
  return found === undefined ? null : readFileSync(found);
}
