/** Turns: who asks for the past shares the process, may be told to wait, and can give up. */
import { expect, test } from 'vitest';
import { createLane, createPace } from '../../../../src/inspector/history/turns.ts';

type PaceOptions = Parameters<typeof createPace>[0];

/** Works until `isDone`, a slice at a time. @returns in how many slices */
async function work(isDone: () => boolean, options: Partial<PaceOptions> = {}): Promise<number> {
  const pace = createPace({ onTurn() {}, ...options });
  let slices = 1;
  while (!isDone()) {
    const rest = pace.step();
    if (rest === undefined) continue;
    slices += 1;
    await rest;
  }
  return slices;
}

test('a short request is not kept by a long one that came first', async () => {
  let isOver = false;
  const long = work(() => isOver);
  let steps = 0;
  await work(() => ++steps > 10_000);
  isOver = true;
  expect(await long).toBeGreaterThan(1);
});

test('who gives up is stopped at a turn', async () => {
  const onTurn = () => {
    throw new Error('no longer wanted');
  };
  await expect(work(() => false, { onTurn })).rejects.toThrow('no longer wanted');
});

test('work in the background rests as long as somebody waits for other work', async () => {
  let isOutranked = true;
  let restedSteps = 0;
  let asked = 0;
  const isDone = () => {
    if (asked > 0 && isOutranked) restedSteps += 1;
    return !isOutranked;
  };
  await work(isDone, {
    isBackground: () => true,
    isOutranked() {
      asked += 1;
      if (asked === 3) isOutranked = false;
      return isOutranked;
    },
  });
  expect({ asked, restedSteps }).toEqual({ asked: 3, restedSteps: 0 });
});

test('more than a lane takes wait, and start in order', async () => {
  const lane = createLane(1);
  const order: string[] = [];
  let endFirst = () => {};
  const first = lane.run(() => new Promise<void>((done) => (endFirst = done)));
  const second = lane.run(async () => Promise.reject(new Error('failed')));
  const third = lane.run(async () => void order.push('third'));
  expect(order).toEqual([]);
  endFirst();
  await expect(second).rejects.toThrow('failed');
  await Promise.all([first, third]);
  expect(order).toEqual(['third']);
  expect(await lane.run(async () => 'free again')).toBe('free again');
});
