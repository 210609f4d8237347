/**
 * `npm run build:pages`: the two pages, one after the other in one process, since most of a build is its start. The packages
 * that went in are listed in dist/page-packages.json, for their licences.
 */
import { writeFileSync } from 'node:fs';
import { relative, resolve } from 'node:path';
import { build } from 'vite';

const root = resolve(import.meta.dirname, '..');
const packages = new Set();

for (const mode of ['inspector', 'incident'])
  for (const { output } of [await build({ configFile: 'src/inspector/client/vite.config.ts', mode })].flat())
    for (const id of output.flatMap((chunk) => Object.keys(chunk.modules ?? {}))) {
      const [folder] = /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+/.exec(id.replaceAll('\0', '')) ?? [];
      if (folder !== undefined) packages.add(relative(root, folder));
    }
writeFileSync(`${root}/dist/page-packages.json`, JSON.stringify([...packages].sort()));
