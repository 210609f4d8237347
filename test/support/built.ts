/** For the few tests that need what only a build makes: the pages, and programs that run as processes of their own. */
import { existsSync } from 'node:fs';

/** @param file in `dist`; default: a whole build. @throws Error that says how to make it */
export function needsBuild(file = '.built'): void {
  if (!existsSync(new URL(`../../dist/${file}`, import.meta.url)))
    throw new Error(`there is no dist/${file}; run: npm run build`);
}
