/** Jobs of the history process: one runs at a time, long ones yield, and each can be aborted. */
import { expect, test } from 'vitest';
import { type Asker, createJobs, type Job } from '../../../../src/inspector/history/jobs.ts';

const asker: Asker = { signal: new AbortController().signal, onProgress() {} };

/** Works until `isDone`. @returns how often it yielded */
async function work(job: Job, isDone: () => boolean): Promise<number> {
  let pauses = 0;
  while (!isDone()) {
    const pause = job.step(0, 1);
    if (pause === undefined) continue;
    pauses += 1;
    await pause;
  }
  return pauses;
}

test('a short job does not wait for an earlier long one to finish', async () => {
  const jobs = createJobs();
  let isOver = false;
  const long = jobs.run('whatIf', asker, (job) => work(job, () => isOver));
  let steps = 0;
  await jobs.run('past', asker, (job) => work(job, () => ++steps > 10_000));
  isOver = true;
  expect(await long).toBeGreaterThan(0);
});

test('an aborted job stops', async () => {
  const given = new AbortController();
  const job = createJobs().run('past', { ...asker, signal: given.signal }, (running) => work(running, () => false));
  given.abort(new Error('no longer wanted'));
  await expect(job).rejects.toThrow('no longer wanted');
});

test('a job that is aborted while it waits never starts', async () => {
  const jobs = createJobs();
  const given = new AbortController();
  const begun: string[] = [];
  const first = jobs.run('statistics', asker, async () => void begun.push('first'));
  const second = jobs.run('statistics', { ...asker, signal: given.signal }, async () => void begun.push('second'));
  given.abort(new Error('no longer wanted'));
  await expect(second).rejects.toThrow('no longer wanted');
  await first;
  expect(begun).toEqual(['first']);
});

test('a background job does nothing while other jobs wait', async () => {
  const jobs = createJobs();
  let [isOver, isWaitedFor] = [false, false];
  let steps = 0;
  const count = () => {
    if (isWaitedFor) steps += 1;
    return isOver;
  };
  const background = jobs.run('background', asker, (job) => work(job, count));
  await jobs.run('outline', asker, async (job) => {
    isWaitedFor = true;
    let slices = 0;
    await work(job, () => ++slices > 100_000);
    isWaitedFor = false;
  });
  isOver = true;
  await background;
  expect(steps).toBe(0);
});

test('jobs beyond the limit of their kind wait and start in order', async () => {
  const jobs = createJobs();
  const order: string[] = [];
  let endFirst = () => {};
  const first = jobs.run('statistics', asker, () => new Promise<void>((done) => (endFirst = done)));
  const second = jobs.run('statistics', asker, async () => Promise.reject(new Error('failed')));
  const third = jobs.run('statistics', asker, async () => void order.push('third'));
  expect(order).toEqual([]);
  await expect.poll(() => endFirst.length).toBe(1);
  endFirst();
  await expect(second).rejects.toThrow('failed');
  await Promise.all([first, third]);
  expect(order).toEqual(['third']);
  expect(await jobs.run('statistics', asker, async () => 'free again')).toBe('free again');
});

// Root cause of a flaky failure: the first job ended by the clock, on a busy machine before it had yielded at all.
test('two statistics jobs never interleave, and a jump does not wait for them', async () => {
  const jobs = createJobs();
  const order: string[] = [];
  const count = (name: string) =>
    jobs.run('statistics', asker, async (job) => {
      order.push(`${name} begins`);
      await work(job, () => order.includes('a jump'));
      order.push(`${name} ends`);
    });
  await Promise.all([count('first'), count('second'), jobs.run('past', asker, async () => void order.push('a jump'))]);
  expect(order).toEqual(['first begins', 'a jump', 'first ends', 'second begins', 'second ends']);
});
