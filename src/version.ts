/** What this package says of itself, wherever it is installed. */
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

const require = createRequire(import.meta.url);

export const version = (): string => (require('stopgate/package.json') as { version: string }).version;

/** A script as it is built, such as `main.js`; run from source, that of the last build. */
export const builtScript = (name: string): string =>
  join(dirname(require.resolve('stopgate/package.json')), 'dist/src', name);
