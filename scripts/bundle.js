/**
 * `npm run build:bundles`: bundles the inspector's page, and the program as in the packages (dist/program, with links
 * to the files that it reads). The bundle starts in half the time, and the tests of the shipped program run it. Lists
 * the bundled packages in dist/bundled.json, for their licences.
 */
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { bundlePage, bundleProgram, filesOfProgram } from './pack/bundle.js';

const root = resolve(import.meta.dirname, '..');
const dist = join(root, 'dist');
const program = join(dist, 'program');

const packages = [...(await bundlePage())];

rmSync(program, { recursive: true, force: true });
packages.push(...(await bundleProgram(dist, join(program, 'dist'))));
for (const [from, to] of [
  ['package.json', 'package.json'],
  ['templates', 'templates'],
  ...filesOfProgram.map((name) => [join('dist', name), join('dist', name)]),
]) {
  const link = join(program, to);
  mkdirSync(dirname(link), { recursive: true });
  symlinkSync(relative(dirname(link), join(root, from)), link);
}
const folders = new Set(packages.map((folder) => relative(root, folder)));
writeFileSync(join(dist, 'bundled.json'), JSON.stringify([...folders].sort()));
