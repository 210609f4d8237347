/** An entry is late when the log delivers nothing, not when it is busy. */
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { expectEntry } from '../../../src/host/intake/entry-wait.ts';
import { createTimerQueue } from '../../../src/timer.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function start(flushLog = true) {
  const progress = { seq: 1 };
  const state = { isLate: false };
  const context = { progress, entryWaits: createTimerQueue(750), bus: { flushLog: async () => flushLog } };
  const timer = expectEntry(context as never, () => {
    state.isLate = true;
  });
  return { progress, state, stop: () => timer.clear() };
}

test('an entry is late if the log delivers nothing within the timeout', async () => {
  const { state } = start();
  await vi.advanceTimersByTimeAsync(1_499);
  expect(state.isLate).toBe(false);
  await vi.advanceTimersByTimeAsync(1);
  expect(state.isLate).toBe(true);
});

// Root cause: of 10,000 simultaneous requests, all were stored, but all after the first 122 got a 503.
test('while other entries are delivered it is only queued, up to 10 s', async () => {
  const { progress, state } = start();
  for (let waited = 0; waited < 9_000; waited += 1_500) {
    progress.seq += 1;
    await vi.advanceTimersByTimeAsync(1_500);
    expect(state.isLate).toBe(false);
  }
  progress.seq += 1;
  await vi.advanceTimersByTimeAsync(1_500);
  expect(state.isLate).toBe(true);
});

test('without an answer of the server it is late; once it has arrived it never is', async () => {
  const { progress, state } = start(false);
  progress.seq += 1;
  await vi.advanceTimersByTimeAsync(1_500);
  expect(state.isLate).toBe(true);
  const other = start();
  other.stop();
  await vi.advanceTimersByTimeAsync(5_000);
  expect(other.state.isLate).toBe(false);
});

// Root cause: clients with a timeout of 3 s gave up before the service had detected that the server no longer reads.
test('a server that stays silent for its second makes the entry late at once, not a second later', async () => {
  const flushLog = () => new Promise<boolean>((resolve) => setTimeout(resolve, 1_000, false));
  let isLate = false;
  const onLate = () => {
    isLate = true;
  };
  const entryWaits = createTimerQueue(750);
  expectEntry({ progress: { seq: 1 }, entryWaits, bus: { flushLog } } as never, onLate);
  await vi.advanceTimersByTimeAsync(1_749);
  expect(isLate).toBe(false);
  await vi.advanceTimersByTimeAsync(1);
  expect(isLate).toBe(true);
});
