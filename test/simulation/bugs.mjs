/** Plants each bug of `bugs/` in the service and runs seeds until one fails: `npm run test:sim:bugs [-- NAME ...]`. */
import { execFile } from 'node:child_process';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { bundle, root } from '../support/bundle.mjs';
import { simulatedModules } from './modules/plugin.mjs';

const folder = fileURLToPath(new URL('bugs', import.meta.url));
/** A bug that is found later than this would slip through a run of CI. */
const seedsMax = 500;
const run = promisify(execFile);

const plant = ({ file, from, to }) => ({
  name: 'plant',
  enforce: 'pre',
  transform(code, id) {
    if (id !== join(root, file)) return null;
    if (!code.includes(from)) throw new Error(`${file} has no "${from}": write what the code says there now`);
    return code.replace(from, () => to);
  },
});

const wanted = process.argv.slice(2);
const names = (await readdir(folder)).map((it) => it.replace(/\.json$/, '')).sort();
process.stdout.write(
  '| bug | what was planted | seeds until it was found | what was seen |\n| --- | --- | --- | --- |\n',
);
for (const name of names.filter((it) => wanted.length === 0 || wanted.includes(it))) {
  const bug = JSON.parse(await readFile(join(folder, `${name}.json`), 'utf8'));
  const { file, remove } = await bundle('test/simulation/main.ts', [plant(bug), simulatedModules]);
  try {
    const { seeds, failed, why } = await search(file);
    const found = failed.length > 0 ? String(seeds) : `not in ${seeds}`;
    process.stdout.write(
      `| ${name} | ${bug.about} | ${found} | ${why.split('\n')[0].slice(0, 110).replaceAll('|', '/')} |\n`,
    );
    if (failed.length === 0) process.exitCode = 1;
  } finally {
    await remove();
  }
}

async function search(file) {
  const args = [
    '--input-type=module',
    '-e',
    `import(${JSON.stringify(file)}).then((it) => it.main(process.argv.slice(1)))`,
  ];
  const { stdout } = await run(process.execPath, [...args, '--', '--seeds', String(seedsMax), '--first', '--json'], {
    timeout: 600_000,
  });
  return JSON.parse(stdout);
}
