/** A log may go back while a replica that starts waits for its head: power was lost, or a backup was restored. */
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { type BarrierParts, catchUp } from '../../../src/host/intake/read-barrier.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** A host that has folded up to entry 3 of a log whose head is, each time it is asked, the next of `heads`. */
function createScene(heads: readonly number[]): BarrierParts {
  const left = [...heads];
  return {
    log: { head: async () => ({ seq: left.length > 1 ? left.shift() : left[0], atMs: 3_000 }) },
    progress: { until: (seq: number) => (seq <= 3 ? Promise.resolve() : new Promise(() => {})), timeOf: () => null },
    lifecycle: { lost: new AbortController().signal },
  } as unknown as BarrierParts;
}

const outcomeOf = async (heads: readonly number[]): Promise<string> => {
  let outcome = 'waits';
  void catchUp(createScene(heads)).then(() => (outcome = 'at the head'));
  await vi.advanceTimersByTimeAsync(10_000);
  return outcome;
};

test('entries that the log had, and has lost since, are not waited for', async () => {
  expect(await outcomeOf([5, 5, 3])).toBe('at the head');
});

test('entries that the log has are', async () => {
  expect(await outcomeOf([5])).toBe('waits');
});
