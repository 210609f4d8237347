/**
 * Plants each bug of `bugs/` in the service and runs seeds from 1 on until one fails:
 * `npm run test:sim:bugs [-- NAME ...]`. `-- NAME --seed S` runs one seed with the bug, and shows the end of its trace.
 *
 * A bug with `faults` needs faults that are rare in a mixed run, so only these are enabled.
 */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir, readFile } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs, promisify } from 'node:util';
import { bundle, root } from '../support/bundle.mjs';
import { simulatedModules } from './modules/plugin.mjs';

const folder = fileURLToPath(new URL('bugs', import.meta.url));
/** Number of seeds to try. A bug that needs more would be missed by CI. */
const seedsMax = 500;
const run = promisify(execFile);

const { values, positionals } = parseArgs({ options: { seed: { type: 'string' } }, allowPositionals: true });
const names = (await readdir(folder)).map((it) => it.replace(/\.json$/, '')).sort();
const unknown = positionals.filter((it) => !names.includes(it));
if (unknown.length > 0) throw new Error(`no bug is named ${unknown.join(', ')}: there are ${names.join(', ')}`);
const wanted = positionals.length === 0 ? names : positionals;
if (values.seed === undefined) await tabulate(wanted);
else for (const name of wanted) await withBug(name, (file, args) => showSeed(file, [...args, '--seed', values.seed]));

async function tabulate(names) {
  process.stdout.write('| bug | what was planted | seed | what was seen |\n| --- | --- | ---: | --- |\n');
  const left = [...names];
  const next = async () => {
    for (let name = left.shift(); name !== undefined; name = left.shift()) {
      const { about, failed, why } = await withBug(name, search);
      const what = why.split('\n')[0].slice(0, 110).replaceAll('|', '/');
      process.stdout.write(`| \`${name}\` | ${about} | ${failed[0] ?? `none of ${seedsMax}`} | ${what} |\n`);
      if (failed.length === 0) process.exitCode = 1;
    }
  };
  await Promise.all(Array.from({ length: availableParallelism() }, next));
}

/** @returns the result of `use` for a program with the bug, and the bug's description */
async function withBug(name, use) {
  const bug = JSON.parse(await readFile(join(folder, `${name}.json`), 'utf8'));
  const { file, remove } = await bundle('test/simulation/main.ts', [plant(bug), simulatedModules]);
  try {
    const args = bug.faults === undefined ? [] : ['--faults', bug.faults];
    return { about: bug.about, ...(await use(file, args)) };
  } finally {
    await remove();
  }
}

function plant({ file, from, to }) {
  return {
    name: 'plant',
    enforce: 'pre',
    transform(code, id) {
      if (id !== join(root, file)) return null;
      if (!code.includes(from)) throw new Error(`${file} has no "${from}": write what the code says there now`);
      return code.replace(from, () => to);
    },
  };
}

function argsOf(file, args) {
  const program = `import(${JSON.stringify(file)}).then((it) => it.main(process.argv.slice(1)))`;
  return ['--input-type=module', '-e', program, '--', ...args];
}

async function search(file, given) {
  const args = [...given, '--seeds', String(seedsMax), '--first', '--json'];
  const { stdout } = await run(process.execPath, argsOf(file, args), { timeout: 900_000 });
  return JSON.parse(stdout);
}

async function showSeed(file, args) {
  await once(spawn(process.execPath, argsOf(file, args), { stdio: 'inherit' }), 'exit');
}
