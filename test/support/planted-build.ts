/** Builds stopgate with a planted bug (like `npm run test:sim:bugs`), to prove that a checker finds it. */
import { cp, mkdtemp, readFile, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { root } from './markdown.ts';

export type PlantedBuild = {
  /** Path of the program for node. */
  readonly main: string;
  remove(): Promise<void>;
};
type Bug = { readonly file: string; readonly from: string; readonly to: string };

/** @param name of a file in `test/simulation/bugs`. @throws Error if the built file lacks the quoted text */
export async function plantBug(name: string): Promise<PlantedBuild> {
  const bug = JSON.parse(await readFile(join(root, 'test/simulation/bugs', `${name}.json`), 'utf8')) as Bug;
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'stopgate-planted-')));
  const isNoMap = (path: string) => !path.endsWith('.map');
  await cp(join(root, 'dist'), join(folder, 'dist'), { recursive: true, filter: isNoMap });
  await cp(join(root, 'package.json'), join(folder, 'package.json'));
  await symlink(join(root, 'node_modules'), join(folder, 'node_modules'));
  const file = join(folder, 'dist', bug.file.replace(/\.ts$/, '.js'));
  const code = await readFile(file, 'utf8');
  // The compiler may break lines differently from the source.
  const from = new RegExp(bug.from.split(' ').map(quote).join('\\s+'));
  if (!from.test(code)) throw new Error(`${file} has no "${bug.from}"`);
  await writeFile(
    file,
    code.replace(from, () => bug.to),
  );
  return {
    main: join(folder, 'dist', 'src', 'main.js'),
    remove: () => rm(folder, { recursive: true, force: true, maxRetries: 3 }),
  };
}

const quote = (word: string) => word.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&');
