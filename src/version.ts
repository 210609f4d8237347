/** Our own version, wherever the package is installed. */
import { createRequire } from 'node:module';

export function version(): string {
  return (createRequire(import.meta.url)('stopgate/package.json') as { version: string }).version;
}
