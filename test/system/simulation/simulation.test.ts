/** The simulation itself (`npm run test:sim`): its runs can be repeated, and some of them here. */
import { afterAll, expect, test } from 'vitest';
import { simulate } from '../../simulation/simulate.ts';
import { takesAll } from '../../support/random.ts';

/** Fifteen runs at night, beside the 10,000 of `npm run test:sim`. */
const last = takesAll ? 515 : 502;

const timers = () => process.getActiveResourcesInfo().filter((type) => type === 'Timeout').length;
const timersBefore = timers();
/** What was on its way when its run ended may still wait for an answer, for some seconds. */
afterAll(async () => {
  while (timers() > timersBefore) await new Promise((done) => setTimeout(done, 50).unref());
});

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
  for (let seed = 501; seed <= last; seed += 1) {
    const { failures } = await simulate(seed);
    expect(failures, `npm run test:sim -- --seed ${seed}`).toEqual([]);
  }
});
