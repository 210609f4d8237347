/** Waiting callers are limited in number and in time. */
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createWaiters, type Waiters } from '../../../src/host/intake/waiters.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const ask = (wait: Waiters<string>['waitForEntry'], key: string) =>
  new Promise<string>((resolve, reject) => {
    wait(key, { waitsFor: key, finish: (answer) => (answer instanceof Error ? reject(answer) : resolve(answer)) });
  });

test('the ninth caller of one key evicts the first, which is told to try again', async () => {
  const waiters = createWaiters<string>(() => expect.unreachable());
  const asked = Array.from({ length: 9 }, () => ask(waiters.waitForAnswer, 'w1:a'));
  await expect(asked[0]).rejects.toMatchObject({ code: 'service.busy' });
  waiters.settle('w1:a', 'allow');
  expect(await Promise.all(asked.slice(1))).toEqual(Array(8).fill('allow'));
});

test('a late entry fails its caller; after the entry, the caller waits up to a day for the answer', async () => {
  const late: (() => void)[] = [];
  const waiters = createWaiters<string>((onLate) => {
    late.push(onLate);
    return { clear: () => {} };
  });
  const [first, second] = [ask(waiters.waitForEntry, 'w1:a'), ask(waiters.waitForEntry, 'w2:a')];
  expect([waiters.awaitsEntry('w1:a'), waiters.awaitsEntry('w2:a')]).toEqual([true, true]);
  late[0]?.();
  await expect(first).rejects.toMatchObject({ code: 'log.unavailable' });
  waiters.onStored('w2:a', 'w2:a');
  expect(waiters.awaitsEntry('w2:a')).toBe(false);
  vi.advanceTimersByTime(24 * 3_600_000 - 1);
  expect(waiters.has('w2:a')).toBe(true);
  vi.advanceTimersByTime(1);
  await expect(second).rejects.toMatchObject({ code: 'log.unavailable', message: expect.stringContaining('24 h') });
});
