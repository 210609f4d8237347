/**
 * `npm run build:program`: the program as packages have it, bundled, in dist/program, beside links to the files that it reads.
 * It starts in half the time, and is what the tests of the shipped program run. The packages that went in are listed in
 * dist/program-packages.json, for their licences.
 */
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { bundleProgram, filesOfProgram } from './pack/bundle.js';

const root = resolve(import.meta.dirname, '..');
const dist = join(root, 'dist');
const program = join(dist, 'program');

rmSync(program, { recursive: true, force: true });
const bundled = await bundleProgram(dist, join(program, 'dist'));
for (const [from, to] of [
  ['package.json', 'package.json'],
  ...filesOfProgram.map((name) => [join('dist', name), join('dist', name)]),
]) {
  const link = join(program, to);
  mkdirSync(dirname(link), { recursive: true });
  symlinkSync(relative(dirname(link), join(root, from)), link);
}
const packages = [...bundled].map((folder) => relative(root, folder)).sort();
writeFileSync(join(dist, 'program-packages.json'), JSON.stringify(packages));
