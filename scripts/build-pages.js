/** `npm run build:pages`: the inspector's page. The packages that went in are listed in dist/page-packages.json, for their licences. */
import { writeFileSync } from 'node:fs';
import { relative, resolve } from 'node:path';
import { build } from 'vite';

const root = resolve(import.meta.dirname, '..');
const packages = new Set();

const { output } = await build({ configFile: 'src/inspector/client/vite.config.ts' });
for (const id of output.flatMap((chunk) => Object.keys(chunk.modules ?? {}))) {
  const [folder] = /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+/.exec(id.replaceAll('\0', '')) ?? [];
  if (folder !== undefined) packages.add(relative(root, folder));
}
writeFileSync(`${root}/dist/page-packages.json`, JSON.stringify([...packages].sort()));
