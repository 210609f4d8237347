/** The simulation itself (`npm run test:sim`): its runs are repeatable, and some run here. */
import { afterAll, expect, test } from 'vitest';
import { simulate } from '../../simulation/simulate.ts';
import { takesAll } from '../../support/random.ts';

/** Fifteen runs in the nightly run, in addition to the 10,000 of `npm run test:sim`. */
const last = takesAll ? 515 : 502;

const timers = () => process.getActiveResourcesInfo().filter((type) => type === 'Timeout').length;
const timersBefore = timers();
/** Requests that were in flight at the end of a run may wait some seconds for an answer. */
afterAll(async () => {
  while (timers() > timersBefore) await new Promise((done) => setTimeout(done, 50).unref());
});

async function traceOf(seed: number): Promise<string[]> {
  const lines: string[] = [];
  await simulate(seed, { onTrace: (line) => lines.push(line) });
  return lines;
}

test('a seed repeats the same run, step by step', async () => {
  const first = await traceOf(3);
  await simulate(4);
  const second = await traceOf(3);
  expect(first.length).toBeGreaterThan(200);
  expect(second).toEqual(first);
});

test('the invariants hold under crashes, cut connections, full disks and stolen message ids', async () => {
  for (let seed = 501; seed <= last; seed += 1) {
    const { failures } = await simulate(seed);
    expect(failures, `npm run test:sim -- --seed ${seed}`).toEqual([]);
  }
});
