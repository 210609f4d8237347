/** The version of this package, from its own package.json. */
import { readFileSync } from 'node:fs';

export const version: string = readVersion();

function readVersion(): string {
  // dist/src/version.js and src/version.ts are not equally deep below package.json.
  for (const up of ['../package.json', '../../package.json']) {
    try {
      return (JSON.parse(readFileSync(new URL(up, import.meta.url), 'utf8')) as { version: string }).version;
    } catch {
      // the other one
    }
  }
  return '0.0.0';
}
