/** The simulation itself (`npm run test:sim`): its runs can be repeated, and some of them here. */
import { expect, test } from 'vitest';
import { simulate } from '../../simulation/simulate.ts';
import { createRandom } from '../../support/random.ts';

async function traceOf(seed: number): Promise<string[]> {
  const lines: string[] = [];
  await simulate(seed, { onTrace: (line) => lines.push(line) });
  return lines;
}

test('a seed gives the same run again, step by step', async () => {
  const first = await traceOf(3);
  await simulate(4);
  const second = await traceOf(3);
  expect(first.length).toBeGreaterThan(200);
  expect(second).toEqual(first);
});

test('what must hold holds under crashes, cuts, full disks and thieves', async () => {
  const random = createRandom('simulation');
  for (let count = 0; count < 15; count += 1) {
    const seed = Math.floor(random() * 1e9);
    const { failures } = await simulate(seed);
    expect(failures, `npm run test:sim -- --seed ${seed}`).toEqual([]);
  }
});
