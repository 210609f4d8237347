/** Which caller gets the next permit: a flood of invented workers delays others by a few admissions at most. */
import { expect, test } from 'vitest';
import {
  type Caller,
  createFairSemaphore,
  type FairSemaphoreOptions,
} from '../../../src/concurrency/fair-semaphore.ts';

/** A new signal for each call: one signal with thousands of listeners is slow. */
const never = () => new AbortController().signal;

/** A semaphore whose only permit is taken. Lists admissions in order. */
function createScene(options: Partial<FairSemaphoreOptions> = {}) {
  const slots = createFairSemaphore({ countMax: 1, waitingMax: 20_000, perWorkerMax: 16, ...options });
  const admitted: string[] = [];
  void slots.acquire({ folder: null, worker: null }, never());
  return {
    slots,
    admitted,
    wait: (worker: string, folder: string | null = null, label = worker) =>
      slots.acquire({ folder, worker }, never()).then((admission) => {
        if (admission === 'admitted') admitted.push(label);
        return admission;
      }),
    /** Releases the permit `count` times. */
    async free(count: number) {
      for (let left = count; left > 0; left -= 1) {
        slots.release();
        await Promise.resolve();
      }
      await Promise.resolve();
      return admitted;
    },
  };
}
const flood = ({ wait }: ReturnType<typeof createScene>, count: number, folderOf: (at: number) => string | null) => {
  for (let at = 0; at < count; at += 1) void wait(`invented-${at}`, folderOf(at));
};

test('workers take turns, however many requests one of them has; requests of one worker keep their order', async () => {
  const scene = createScene();
  for (const label of ['a1', 'a2', 'a3']) void scene.wait('a', null, label);
  for (const label of ['b1', 'b2']) void scene.wait('b', null, label);
  void scene.wait('c', null, 'c1');
  expect(await scene.free(6)).toEqual(['a1', 'b1', 'c1', 'a2', 'b2', 'a3']);
});

test('folders take turns, however many workers there are in one of them', async () => {
  const scene = createScene();
  for (const worker of ['a1', 'a2', 'a3']) void scene.wait(worker, '/a');
  for (const worker of ['b1', 'b2']) void scene.wait(worker, '/b');
  expect(await scene.free(5)).toEqual(['a1', 'b1', 'a2', 'b2', 'a3']);
});

test.each<{ why: string; folderOf: (at: number) => string | null; neighbour: string | null; before: number }>([
  { why: 'from no folder, a neighbour in its own', folderOf: () => null, neighbour: '/mine', before: 1 },
  { why: 'from no folder, a neighbour without one too', folderOf: () => null, neighbour: null, before: 1 },
  { why: 'from a folder each', folderOf: (at) => `/invented/${at}`, neighbour: '/mine', before: 1 },
])(
  '2,000 invented workers $why: at most $before is admitted before the neighbour',
  async ({ folderOf, neighbour, before }) => {
    const scene = createScene();
    flood(scene, 2_000, folderOf);
    void scene.wait('neighbour', neighbour);
    expect((await scene.free(before + 1)).indexOf('neighbour')).toBe(before);
  },
);

test('a continuing flood delays only callers of the same folder', async () => {
  const scene = createScene();
  flood(scene, 1_000, () => null);
  void scene.wait('with-folder', '/mine');
  void scene.wait('without');
  flood(scene, 1_000, () => null);
  const order = await scene.free(1_999);
  expect(order.indexOf('with-folder')).toBe(1);
  // It takes turns with older callers, behind the newer ones.
  expect(order.indexOf('without')).toBeLessThanOrEqual(2_000);
});

test('the oldest of a crowd waits at most twice as long as in a strict rotation', async () => {
  const scene = createScene();
  flood(scene, 200, () => null);
  const order = await scene.free(200);
  for (let at = 0; at < 100; at += 1) expect(order.indexOf(`invented-${at}`)).toBeLessThanOrEqual(2 * at);
});

test('a worker that keeps returning is preferred as the newest only once', async () => {
  const scene = createScene();
  flood(scene, 400, () => null);
  for (let round = 0; round < 50; round += 1) {
    void scene.wait('again');
    await scene.free(2);
  }
  expect(scene.admitted.filter((worker) => worker === 'again')).toHaveLength(1);
});

test('beyond the limit per worker, the oldest request of the worker gives up', async () => {
  const scene = createScene({ perWorkerMax: 2 });
  const [first, ...others] = ['a1', 'a2', 'a3'].map((label) => scene.wait('a', null, label));
  expect(await first).toBe('worker-full');
  expect(scene.slots.waiting()).toBe(2);
  await scene.free(2);
  expect(await Promise.all(others)).toEqual(['admitted', 'admitted']);
});

test('however many folders are flooded, there is room for another one', async () => {
  const scene = createScene({ waitingMax: 1_000 });
  const refused: Promise<string>[] = [];
  for (const folder of ['/a', '/b', '/c'])
    for (let at = 0; at < 600; at += 1) refused.push(scene.wait(`w${at}`, folder));
  expect(scene.slots.waiting()).toBe(875); // a half, a quarter, an eighth
  const neighbour = scene.wait('neighbour', '/mine');
  scene.slots.resize(2_000);
  expect(await neighbour).toBe('admitted');
  expect((await Promise.all(refused)).filter((admission) => admission === 'full')).toHaveLength(925);
});

test('an aborted caller leaves the queue', async () => {
  const scene = createScene();
  const abort = new AbortController();
  const by: Caller = { folder: null, worker: 'a' };
  const left = scene.slots.acquire(by, abort.signal);
  void scene.wait('b');
  abort.abort();
  expect(await left).toBe('aborted');
  expect(await scene.slots.acquire(by, abort.signal)).toBe('aborted');
  expect(await scene.free(1)).toEqual(['b']);
  expect(scene.slots.waiting()).toBe(0);
});
