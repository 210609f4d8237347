/** A log may lose entries while a starting replica waits for its head: after a power loss, or a restored backup. */
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { type BarrierParts, catchUp } from '../../../src/host/intake/read-barrier.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** A host that has folded entry 3 of a log. Each question for the head returns the next of `heads`. */
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

test('entries that the log has lost are not waited for', async () => {
  expect(await outcomeOf([5, 5, 3])).toBe('at the head');
});

test('entries that the log has are waited for', async () => {
  expect(await outcomeOf([5])).toBe('waits');
});
