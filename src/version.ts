/** The package's own version and files, wherever it is installed. */
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** The package's folder, seen from src/ and from dist/src/. */
const folder = new URL(existsSync(new URL('../package.json', import.meta.url)) ? '../' : '../../', import.meta.url);

export const version = (): string =>
  (JSON.parse(readFileSync(new URL('package.json', folder), 'utf8')) as { version: string }).version;

/** A script as it is built, such as `main.js`; run from source, that of the last build. */
export const builtScript = (name: string): string => fileURLToPath(new URL(`dist/src/${name}`, folder));
