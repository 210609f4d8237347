/** The clock that a replica's timers follow (docs/protocol.md §1). */
import { expect, test } from 'vitest';
import { createFleet } from '../../machines/index.ts';
import { createLogClock } from '../../src/host/fold/log-clock.ts';
import { createForwardClock } from '../../src/timer.ts';

function scene() {
  const machine = { wallMs: 1_000_000, monotonicMs: 500 };
  const run = (ms: number) => {
    machine.wallMs += ms;
    machine.monotonicMs += ms;
  };
  const clock = createForwardClock(
    () => machine.wallMs,
    () => machine.monotonicMs,
  );
  return { machine, run, clock };
}

test('a clock that is set back delays no timer', () => {
  const { machine, run, clock } = scene();
  const logClock = createLogClock(createFleet('main'), clock, () => {});
  logClock.observe(machine.wallMs);
  const dueMs = logClock.now() + 30_000;
  machine.wallMs -= 3_600_000;
  run(30_000);
  expect(logClock.now()).toBe(dueMs);
});

test('the time that the machine slept counts, though its monotonic clock stood still', () => {
  const { machine, run, clock } = scene();
  const before = clock();
  machine.wallMs += 60_000;
  run(5);
  expect(clock() - before).toBe(60_005);
});

test('a server whose clock is set back is noticed once', () => {
  const fleet = createFleet('main');
  const setBack: number[] = [];
  const logClock = createLogClock(
    fleet,
    () => 1_000_000,
    (byMs) => setBack.push(byMs),
  );
  fleet.nowMs = 100_000;
  for (const atMs of [100_000, 99_000, 40_000, 41_000, 100_000, 70_000]) logClock.observe(atMs);
  expect(setBack).toEqual([60_000, 30_000]);
});

test('where the clock of the server was set back, a timer waits for it, and what has passed counts on', () => {
  const fleet = createFleet('main');
  let machineMs = 1_000_000;
  const logClock = createLogClock(
    fleet,
    () => machineMs,
    () => {},
  );
  const store = (atMs: number) => {
    fleet.nowMs = Math.max(fleet.nowMs, atMs);
    logClock.observe(atMs);
  };
  store(500_000);
  machineMs += 1_000;
  store(441_000);
  expect([logClock.now(), logClock.server(), logClock.since(500_000)]).toEqual([500_000, 441_000, 0]);
  machineMs += 40_000;
  expect([logClock.now(), logClock.server(), logClock.since(500_000)]).toEqual([500_000, 481_000, 40_000]);
  machineMs += 20_000;
  store(501_000);
  expect([logClock.now(), logClock.server(), logClock.since(500_000)]).toEqual([501_000, 501_000, 1_000]);
});
