/**
 * `npm run bench`: every figure of the README, each as a ratio to raw NATS in the same run. `--json` for machines;
 * `npm run bench -- checks` measures these parts alone.
 */
import { measureChecks } from './checks.ts';
import { type Figure, formatFigures, isReached } from './figures.ts';
import { measureFold, measureMemory } from './fold.ts';
import { measureLatency } from './latency.ts';
import { openScene } from './scene.ts';

const parts: Readonly<Record<string, (url: string) => Figure[] | Promise<Figure[]>>> = {
  memory: measureMemory,
  latency: measureLatency, // about a minute
  checks: measureChecks,
  fold: measureFold,
};
const asked = process.argv.slice(2).filter((word) => !word.startsWith('--'));
const names = Object.keys(parts);
const unknown = asked.find((name) => !names.includes(name));
if (unknown !== undefined) {
  process.stderr.write(`there is no part '${unknown}' of the bench; these are: ${names.join(', ')}\n`);
  process.exit(2);
}

const figures: Figure[] = [];
const scene = await openScene();
try {
  for (const [name, measure] of Object.entries(parts)) {
    if (asked.length > 0 && !asked.includes(name)) continue;
    process.stderr.write(`measuring ${name}\n`);
    figures.push(...(await measure(scene.url)));
  }
} finally {
  await scene.close();
}
const json = figures.map((figure) => ({ ...figure, reached: isReached(figure) }));
process.stdout.write(process.argv.includes('--json') ? `${JSON.stringify(json)}\n` : formatFigures(figures));
