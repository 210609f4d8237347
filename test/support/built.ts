/** For the few tests that need a build: pages, and programs that run as separate processes. */
import { existsSync } from 'node:fs';

/** @param file in `dist`; default: a complete build. @throws Error that says how to build it */
export function needsBuild(file = '.built'): void {
  if (!existsSync(new URL(`../../dist/${file}`, import.meta.url)))
    throw new Error(`there is no dist/${file}; run: npm run build`);
}
