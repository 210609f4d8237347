/** The fair queue serves senders in turn, however many requests one of them sends. */
import { expect, test } from 'vitest';
import { createFairQueue } from '../../../src/nats/fair-queue.ts';

const turn = () => new Promise((done) => setImmediate(done));

test('a single item is handled synchronously', () => {
  const handled: number[] = [];
  const queue = createFairQueue<number>((item) => void handled.push(item));
  queue.push('w1', 1);
  expect(handled).toEqual([1]);
});

test('a sender of a thousand items does not delay others, and each sender keeps its order', async () => {
  const handled: string[] = [];
  const queue = createFairQueue<string>((item) => void handled.push(item));
  for (let index = 0; index < 1_000; index += 1) queue.push('noisy', `noisy-${index}`);
  for (const worker of ['w1', 'w2']) queue.push(worker, worker);
  while (handled.length < 1_002) await turn();
  expect(handled.indexOf('w1')).toBeLessThan(60);
  expect(handled.indexOf('w2')).toBeLessThan(60);
  expect(handled.filter((item) => item.startsWith('noisy'))).toEqual(
    Array.from({ length: 1_000 }, (_, index) => `noisy-${index}`),
  );
});

test('a long queue is spread over several turns of the event loop', async () => {
  let handled = 0;
  const queue = createFairQueue<number>(() => {
    handled += 1;
  });
  for (let index = 0; index < 1_000; index += 1) queue.push(`w${index}`, index);
  expect(handled).toBeLessThan(1_000);
  const [before] = [handled, await turn()];
  expect(handled).toBeGreaterThan(before);
  expect(handled).toBeLessThan(1_000);
  while (handled < 1_000) await turn();
});
