/**
 * Checks the module layout (docs/architecture.md, "Modules"). Modules import only from modules to their
 * right, type imports included, and files have no import cycles.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { posix } from 'node:path';
import { expect, test } from 'vitest';

/**
 * From left to right. Modules of one row do not import each other. A name that ends in `.ts` is a file beside the
 * modules.
 */
const machineModules = [
  ['index.ts'],
  ['replay'],
  ['fleet'],
  ['rules'],
  ['worker', 'task'],
  ['guards'],
  ['entries'],
  ['policy'],
  ['values'],
  ['step.ts'],
];
const srcModules = [
  ['main.ts', 'demo'],
  ['app'],
  ['cli', 'http'],
  ['mcp', 'acp'],
  ['inspector', 'client', 'backtest'],
  ['agents', 'notify'],
  ['runner'],
  ['service'],
  ['host'],
  ['nats', 'config', 'terminal', 'hook-command'],
  // Files beside the modules: errors, the logger, timers, the version.
  ['*.ts'],
  ['concurrency', 'telemetry', 'text'],
];

/** Modules that only one other module may import. */
const importedBy: Readonly<Record<string, string>> = { 'src/cli': 'src/app' };

type Import = { readonly from: string; readonly to: string };

const root = new URL('../../', import.meta.url);
const files = ['machines', 'src'].flatMap((folder) =>
  readdirSync(new URL(folder, root), { recursive: true, encoding: 'utf8' })
    .map((name) => posix.join(folder, name.replaceAll('\\', '/')))
    .filter((name) => /\.tsx?$/.test(name) && !name.endsWith('.d.ts')),
);
const known = new Set(files);
const imports: readonly Import[] = files.flatMap(importsOf);

function importsOf(from: string): Import[] {
  const source = readFileSync(new URL(from, root), 'utf8');
  return [...source.matchAll(/(?:\bfrom\s|\bimport\s|\bimport\()\s*'(\.[^']+)'/g)]
    .map(([, path]) => ({ from, to: posix.join(posix.dirname(from), path as string) }))
    .filter(({ to }) => known.has(to));
}

/** Returns the folder and the module in it. A file outside of all modules is in `*.ts`. */
function moduleOf(file: string): [folder: string, module: string] {
  const [folder = '', module = '', ...rest] = file.split('/');
  const isModule = rest.length > 0 || [...machineModules, ...srcModules].some((row) => row.includes(module));
  return [folder, isModule ? module : '*.ts'];
}

const show = ({ from, to }: Import) => `${from} -> ${to}`;

function isForbidden({ from, to }: Import): boolean {
  const [fromFolder, fromModule] = moduleOf(from);
  const [toFolder, toModule] = moduleOf(to);
  if (fromFolder !== toFolder) return fromFolder === 'machines';
  if (fromModule === toModule) return false;
  const only = importedBy[`${toFolder}/${toModule}`];
  if (only !== undefined && only !== `${fromFolder}/${fromModule}`) return true;
  const rows = fromFolder === 'machines' ? machineModules : srcModules;
  const place = (module: string) => rows.findIndex((row) => row.includes(module));
  return place(fromModule) >= place(toModule);
}

test.each([
  { folder: 'machines', rows: machineModules },
  { folder: 'src', rows: srcModules },
])('every file of $folder/ belongs to a known module', ({ folder, rows }) => {
  const own = files.filter((file) => file.startsWith(`${folder}/`));
  expect(own.length).toBeGreaterThan(50);
  expect(own.filter((file) => !rows.some((row) => row.includes(moduleOf(file)[1])))).toEqual([]);
});

test('modules import only from their right, and only app/ imports the command line', () => {
  expect(imports.length).toBeGreaterThan(500);
  expect(imports.filter(isForbidden).map(show)).toEqual([]);
});

test('files have no import cycles', () => {
  const targets = new Map<string, Set<string>>(files.map((file) => [file, new Set()]));
  for (const { from, to } of imports) targets.get(from)?.add(to);
  expect(cyclesAmong(files, targets)).toEqual([]);
});

/** Returns each import cycle once, as a list of its members. */
function cyclesAmong(names: readonly string[], targets: ReadonlyMap<string, ReadonlySet<string>>): string[] {
  const reachedFrom = (name: string, seen = new Set<string>()) => {
    for (const to of targets.get(name) ?? []) if (!seen.has(to)) reachedFrom(to, seen.add(to));
    return seen;
  };
  const reached = new Map(names.map((name) => [name, reachedFrom(name)]));
  const cycles = names
    .filter((name) => reached.get(name)?.has(name))
    .map((name) => names.filter((it) => reached.get(name)?.has(it) && reached.get(it)?.has(name)).sort());
  return [...new Set(cycles.map((cycle) => cycle.join(', ')))];
}

test('modules of the Python client have no import cycles', () => {
  const folder = new URL('clients/python/src/stopgate/', root);
  const names = readdirSync(folder).flatMap((name) => (name.endsWith('.py') ? [name.slice(0, -3)] : []));
  expect(names.length).toBeGreaterThan(10);
  const targets = new Map(
    names.map((name) => {
      const source = readFileSync(new URL(`${name}.py`, folder), 'utf8');
      return [name, new Set([...source.matchAll(/^\s*from \.(\w+) import/gm)].map(([, to]) => to as string))];
    }),
  );
  expect(cyclesAmong(names, targets)).toEqual([]);
});
