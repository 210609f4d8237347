/**
 * The module layout (docs/architecture.md, "Rooms"): which room may import which. Rooms import only from rooms to their
 * right, type imports included, and files have no import cycles.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { posix } from 'node:path';
import { expect, test } from 'vitest';

/** Left to right; rooms of one row do not import each other. A name ending in `.ts` is a file beside the rooms. */
const machineRooms = [
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
const srcRooms = [
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
  // Whatever stands beside the rooms: errors, the logger, timers, the version.
  ['*.ts'],
  ['concurrency', 'telemetry', 'text'],
];

/** Rooms that are imported by one other alone. */
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

/** The folder and the room in it; a file that is no room of its own is in `*.ts`. */
function roomOf(file: string): [folder: string, room: string] {
  const [folder = '', room = '', ...rest] = file.split('/');
  const isRoom = rest.length > 0 || [...machineRooms, ...srcRooms].some((row) => row.includes(room));
  return [folder, isRoom ? room : '*.ts'];
}

const show = ({ from, to }: Import) => `${from} -> ${to}`;

function isForbidden({ from, to }: Import): boolean {
  const [fromFolder, fromRoom] = roomOf(from);
  const [toFolder, toRoom] = roomOf(to);
  if (fromFolder !== toFolder) return fromFolder === 'machines';
  if (fromRoom === toRoom) return false;
  const only = importedBy[`${toFolder}/${toRoom}`];
  if (only !== undefined && only !== `${fromFolder}/${fromRoom}`) return true;
  const rows = fromFolder === 'machines' ? machineRooms : srcRooms;
  const place = (room: string) => rows.findIndex((row) => row.includes(room));
  return place(fromRoom) >= place(toRoom);
}

test.each([
  { folder: 'machines', rows: machineRooms },
  { folder: 'src', rows: srcRooms },
])('every file of $folder/ stands in a room of the plan', ({ folder, rows }) => {
  const own = files.filter((file) => file.startsWith(`${folder}/`));
  expect(own.length).toBeGreaterThan(50);
  expect(own.filter((file) => !rows.some((row) => row.includes(roomOf(file)[1])))).toEqual([]);
});

test('imports run to the right, and the command line is imported by app/ alone', () => {
  expect(imports.length).toBeGreaterThan(500);
  expect(imports.filter(isForbidden).map(show)).toEqual([]);
});

test('no files import each other in a circle', () => {
  const targets = new Map<string, Set<string>>(files.map((file) => [file, new Set()]));
  for (const { from, to } of imports) targets.get(from)?.add(to);
  expect(circlesAmong(files, targets)).toEqual([]);
});

/** Each circle once, as the names in it. */
function circlesAmong(names: readonly string[], targets: ReadonlyMap<string, ReadonlySet<string>>): string[] {
  const reachedFrom = (name: string, seen = new Set<string>()) => {
    for (const to of targets.get(name) ?? []) if (!seen.has(to)) reachedFrom(to, seen.add(to));
    return seen;
  };
  const reached = new Map(names.map((name) => [name, reachedFrom(name)]));
  const circles = names
    .filter((name) => reached.get(name)?.has(name))
    .map((name) => names.filter((it) => reached.get(name)?.has(it) && reached.get(it)?.has(name)).sort());
  return [...new Set(circles.map((circle) => circle.join(', ')))];
}

test('no modules of the Python client import each other in a circle', () => {
  const folder = new URL('clients/python/src/stopgate/', root);
  const names = readdirSync(folder).flatMap((name) => (name.endsWith('.py') ? [name.slice(0, -3)] : []));
  expect(names.length).toBeGreaterThan(10);
  const targets = new Map(
    names.map((name) => {
      const source = readFileSync(new URL(`${name}.py`, folder), 'utf8');
      return [name, new Set([...source.matchAll(/^\s*from \.(\w+) import/gm)].map(([, to]) => to as string))];
    }),
  );
  expect(circlesAmong(names, targets)).toEqual([]);
});
