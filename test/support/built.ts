/** For the few tests that need a file of the build; all others run from the sources. */
import { existsSync } from 'node:fs';

/** @param file in `dist`. @throws Error that says how to make it */
export function requireBuilt(file: string): void {
  const path = new URL(`../../dist/${file}`, import.meta.url).pathname;
  if (!existsSync(path)) throw new Error(`there is no ${path}; run: npm run build`);
}
