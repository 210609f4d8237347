/** Turns: who asks for the past shares the thread, may be told to wait, and can give up. */
import { expect, test } from 'vitest';
import { createLane, createPace } from '../../../../src/inspector/history/turns.ts';

const neverAborted = new AbortController().signal;

/** Works until `isDone`, a slice at a time. @returns in how many slices */
async function work(signal: AbortSignal, isDone: () => boolean): Promise<number> {
  const pace = createPace(signal, () => {});
  let slices = 1;
  for (let step = 0; !isDone(); step += 1) {
    const rest = pace.step(step, 1);
    if (rest === undefined) continue;
    slices += 1;
    await rest;
  }
  return slices;
}

test('a short request is not kept by a long one that came first', async () => {
  let isOver = false;
  const long = work(neverAborted, () => isOver);
  let steps = 0;
  await work(neverAborted, () => ++steps > 10_000);
  isOver = true;
  expect(await long).toBeGreaterThan(1);
});

test('who gives up is stopped at its next turn', async () => {
  const given = new AbortController();
  const long = work(given.signal, () => false);
  given.abort(new Error('no longer wanted'));
  await expect(long).rejects.toThrow('no longer wanted');
});

test('more than a lane takes wait, in order, and one that gives up leaves the line', async () => {
  const lane = createLane(1);
  const order: string[] = [];
  let endFirst = () => {};
  const first = lane.run(neverAborted, () => new Promise<void>((done) => (endFirst = done)));
  const given = new AbortController();
  const second = lane.run(given.signal, async () => void order.push('second'));
  const third = lane.run(neverAborted, async () => void order.push('third'));
  given.abort(new Error('no longer wanted'));
  await expect(second).rejects.toThrow('no longer wanted');
  expect(order).toEqual([]);
  endFirst();
  await Promise.all([first, third]);
  expect(order).toEqual(['third']);
  expect(await lane.run(neverAborted, async () => 'free again')).toBe('free again');
});
