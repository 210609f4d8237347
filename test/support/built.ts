/** For tests that need what only a build makes: the pages, and programs that run as processes of their own. */
import { existsSync } from 'node:fs';

/** @throws Error where the sources were not built */
export function needsBuild(): void {
  if (!existsSync(new URL('../../dist/.built', import.meta.url)))
    throw new Error('this test needs the files of a build: run npm run build');
}
