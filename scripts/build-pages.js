/** `npm run build:pages`: the three pages, one after the other in one process, since most of a build is its start. */
import { build } from 'vite';

for (const page of ['', '/inspect', '/incident'])
  await build({ configFile: `src/inspector/client${page}/vite.config.ts` });
