/**
 * `npm run bench:growth`: the cost of a decision with more workers, a longer log, more replicas and more fleets, as a
 * ratio to the floor of the same turns.
 */
import { writeFileSync } from 'node:fs';
import { cpus, loadavg } from 'node:os';
import { join } from 'node:path';
import { formatTable } from '../../src/terminal/table.ts';
import { openCache } from '../peers/cache.ts';
import { readKept, readNames, readRunOptions } from '../run-options.ts';
import { type Axis, axes, measurePoint, type Point } from './points.ts';

const names = Object.keys(axes) as Axis[];
const help = `npm run bench:growth -- [--only NAME,NAME] [--large] [--resume] [--json]

Measures the cost of a decision with more and more ${names.join(', ')}.
--only    measures only these, and keeps the last results of the others
--large   also measures ten million entries, which takes minutes and 2 GB of disk
--resume  measures only what an interrupted run has left
`;

const boolean = { type: 'boolean', default: false } as const;
const options = { only: { type: 'string' }, large: boolean, resume: boolean, json: boolean, help: boolean } as const;
const values = readRunOptions(options, help);
if (values.help) process.stdout.write(help);
else await main();

async function main(): Promise<void> {
  const wanted = readNames(values.only, names, help);
  const file = join(openCache(), 'growth.json');
  const kept = readKept<Point[]>(file, []);
  const isWanted = ({ axis, size }: Pick<Point, 'axis' | 'size'>) =>
    wanted.includes(axis) && (values.large || !(axes[axis].large ?? []).includes(size));
  let points = values.resume ? kept : kept.filter((point) => !isWanted(point));
  let isEnded = false;
  // The current size is ended cleanly. A second signal exits at once.
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.on(signal, () => {
      if (isEnded) process.exit(1);
      isEnded = true;
    });
  }
  for (const axis of wanted) {
    for (const size of [...axes[axis].sizes, ...(values.large ? (axes[axis].large ?? []) : [])]) {
      if (isEnded || points.some((point) => point.axis === axis && point.size === size)) continue;
      process.stderr.write(`measuring ${size.toLocaleString('en')} ${axis}\n`);
      const point = await measurePoint(axis, size, () => loadavg()[0] ?? 0).catch((error: unknown) => {
        // The terminal sends the signal to the measured processes too.
        if (!isEnded) throw error;
        return null;
      });
      if (point !== null) points = [...points, point];
      writeFileSync(file, JSON.stringify(points));
    }
  }
  points = names.flatMap((axis) => points.filter((point) => point.axis === axis).sort((a, b) => a.size - b.size));
  if (values.json) process.stdout.write(`${JSON.stringify({ cores: cpus().length, node: process.version, points })}\n`);
  else process.stdout.write(`${cpus().length} cores, Node ${process.version}\n\n${formatPoints(points)}\n`);
}

function formatPoints(points: readonly Point[]): string {
  const headings = ['', 'p50 ms', 'x floor', 'p99 ms', 'x floor', 'service us', 'server us', 'filled in s', 'load'];
  const rows = points.map((point) => [
    `${point.size.toLocaleString('en')} ${point.axis}`,
    point.p50Ms.toFixed(2),
    (point.p50Ms / point.floorP50Ms).toFixed(2),
    point.p99Ms.toFixed(2),
    (point.p99Ms / point.floorP99Ms).toFixed(2),
    point.serviceUs.toFixed(0),
    point.serverUs.toFixed(0),
    (point.fillMs / 1_000).toFixed(1),
    point.load.toFixed(1),
  ]);
  return formatTable(
    headings,
    rows.map((row) => row.map((text) => ({ text }))),
    200,
  ).join('\n');
}
