/** `npm run bench`: every figure of the README, each as a ratio to raw NATS in the same run. `--json` for machines. */

import { type Figure, formatFigures, isReached } from './figures.ts';
import { measureFold, measureMemory } from './fold.ts';
import { measureLatency } from './latency.ts';
import { openScene } from './scene.ts';

const figures: Figure[] = measureMemory();
const scene = await openScene();
try {
  process.stderr.write('measuring latency and rates (about a minute)\n');
  figures.push(...(await measureLatency(scene.url)));
  process.stderr.write('measuring the fold\n');
  figures.push(...(await measureFold(scene.url)));
} finally {
  await scene.close();
}
const json = figures.map((figure) => ({ ...figure, reached: isReached(figure) }));
process.stdout.write(process.argv.includes('--json') ? `${JSON.stringify(json)}\n` : formatFigures(figures));
