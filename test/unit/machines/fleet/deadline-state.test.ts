/** Replicas with timers read, drop and move deadlines. That does not change the state (docs/protocol.md §1). */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  advanceClock,
  createFleet,
  type Fleet,
  foldEntry,
  nextDeadline,
  type StoredEntry,
} from '../../../../machines/index.ts';
import { entryOf } from '../../../support/fold-lines.ts';
import { takesAll } from '../../../support/random.ts';
import { randomLog } from '../../../support/random-log.ts';
import { snapshotText } from '../../../support/snapshot-text.ts';

const startMs = Date.parse('2026-03-02T12:00:00.000Z');
const minuteMs = 60_000;
const stateOf = (fleet: Fleet) => snapshotText(fleet).replaceAll(/^\["(deadlines|forgetting)",.*\n/gm, '');

function foldAsReplica(log: readonly StoredEntry[]): Fleet {
  const fleet = createFleet('main');
  for (const entry of log) {
    foldEntry(fleet, entry);
    nextDeadline(fleet);
  }
  return fleet;
}

test('looking for the next deadline after each entry does not change the state', () => {
  fc.assert(
    fc.property(randomLog(120), (log) => {
      const fleet = createFleet('main');
      for (const entry of log) foldEntry(fleet, entry);
      expect(stateOf(foldAsReplica(log))).toBe(stateOf(fleet));
    }),
    { numRuns: takesAll ? 150 : 25 },
  );
});

const entryAt = (minute: number, tail: string, data: object = {}): StoredEntry => {
  return { seq: minute + 1, atMs: startMs + minute * minuteMs, entry: entryOf(`worker.w1.${tail}`, data) };
};

test('a worker is stale two minutes after its last tool, however often tools ran and deadlines were moved', () => {
  const tools = Array.from({ length: 50 }, (_, index) => [
    entryAt(10 * index, 'tool.started', { tool: 'Bash', call: `c${index}` }),
    entryAt(10 * index + 9, 'tool.used', { tool: 'Bash', call: `c${index}` }),
  ]).flat();
  const fleet = foldAsReplica(tools);
  const presence = () => fleet.workers.read('w1')?.snapshot.value.presence;
  expect(fleet.deadlines.size).toBeLessThan(5);
  advanceClock(fleet, startMs + 501 * minuteMs);
  expect(presence()).toBe('active');
  advanceClock(fleet, startMs + 501 * minuteMs + 1);
  expect(presence()).toBe('stale');
});
