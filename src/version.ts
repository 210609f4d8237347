/** The package's version and files, wherever it is installed. */
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** The package's folder, relative to src/, dist/src/ and the chunks of the published package, dist/src/chunks/. */
const folder = ['../', '../../', '../../../']
  .map((path) => new URL(path, import.meta.url))
  .find((url) => existsSync(new URL('package.json', url))) as URL;

export const version = (): string =>
  (JSON.parse(readFileSync(new URL('package.json', folder), 'utf8')) as { version: string }).version;

/** Path of a file in dist/, such as `docs/search.json`. When run from source, that of the last build. */
export const builtFile = (name: string): string => fileURLToPath(new URL(`dist/${name}`, folder));
/** Path of a built script such as `main.js`. When run from source, that of the last build. */
export const builtScript = (name: string): string => builtFile(`src/${name}`);
