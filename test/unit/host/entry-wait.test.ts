/** An entry is late when the log stands still, and not when it is busy. */
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { expectEntry } from '../../../src/host/intake/entry-wait.ts';
import { createTimerQueue } from '../../../src/timer.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function start(isHeard = true) {
  const progress = { seq: 1 };
  const state = { isLate: false };
  const context = { progress, entryWaits: createTimerQueue(750), bus: { isHeard: async () => isHeard } };
  const timer = expectEntry(context as never, () => {
    state.isLate = true;
  });
  return { progress, state, stop: () => timer.clear() };
}

test('a log that delivers nothing is late after its time', async () => {
  const { state } = start();
  await vi.advanceTimersByTimeAsync(1_499);
  expect(state.isLate).toBe(false);
  await vi.advanceTimersByTimeAsync(1);
  expect(state.isLate).toBe(true);
});

// Root cause: of 10,000 requests at once that were stored, those behind the first 122 got 503.
test('while others are delivered it is only behind them, up to 10 s', async () => {
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

test('without an answer of the server it is late, and never once it has come', async () => {
  const { progress, state } = start(false);
  progress.seq += 1;
  await vi.advanceTimersByTimeAsync(1_500);
  expect(state.isLate).toBe(true);
  const other = start();
  other.stop();
  await vi.advanceTimersByTimeAsync(5_000);
  expect(other.state.isLate).toBe(false);
});

// Root cause: clients that wait for 3 s had given up before a server that no longer reads was given up here.
test('a server that is silent for the second that it gets is late by then, not a second later', async () => {
  const isHeard = () => new Promise<boolean>((resolve) => setTimeout(resolve, 1_000, false));
  let isLate = false;
  const onLate = () => {
    isLate = true;
  };
  const entryWaits = createTimerQueue(750);
  expectEntry({ progress: { seq: 1 }, entryWaits, bus: { isHeard } } as never, onLate);
  await vi.advanceTimersByTimeAsync(1_749);
  expect(isLate).toBe(false);
  await vi.advanceTimersByTimeAsync(1);
  expect(isLate).toBe(true);
});
