/** Runs the timers of a replica over a log in memory, in faked time. */
import { pino } from 'pino';
import { vi } from 'vitest';
import { type FleetView, foldEntry, readEntry, viewFleet } from '../../../machines/index.ts';
import { createHostParts, type HostOptions } from '../../../src/host/parts.ts';

/**
 * Returns the fleet some minutes after these entries. Nobody reads it meanwhile, so only entries that the timers
 * append move its clock.
 */
export function fleetAfter(minutes: number, entries: readonly (readonly [tail: string, data: object])[]): FleetView {
  // Synchronous, so that no other code in this process sees the faked clock.
  vi.useFakeTimers({
    toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'setImmediate', 'clearImmediate', 'Date'],
  });
  const { fleet, lifecycle, logClock, effects } = createHostParts({
    fleet: 'main',
    replica: 'r1',
    clock: Date.now,
    newId: () => 'id',
    logger: pino({ level: 'silent' }),
    bus: { isConnected: () => true },
    metrics: { bounded: () => {} },
    log: { submit: (subject: string, text: string) => fold(subject, text) },
  } as unknown as HostOptions);
  const fold = (subject: string, text: string) => {
    const entry = readEntry(subject, text, Buffer.byteLength(text));
    if (entry === null || 'code' in entry) throw new Error(`${subject} is no entry`);
    logClock.observe(Date.now());
    effects.touch(foldEntry(fleet, { seq: fleet.seq + 1, atMs: Date.now(), entry }).touched);
  };
  try {
    lifecycle.reachHead();
    for (const [tail, data] of entries) fold(`stopgate.main.${tail}`, JSON.stringify(data));
    vi.advanceTimersByTime(minutes * 60_000);
    return viewFleet(fleet);
  } finally {
    effects.close();
    vi.useRealTimers();
  }
}
