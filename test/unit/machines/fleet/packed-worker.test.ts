/** Stopped workers are held as text, and nobody can tell (docs/decisions/008-snapshots-while-the-fold-goes-on.md). */

import { expect, test } from 'vitest';
import { decodeKnown, encodeKnown } from '../../../../machines/fleet/snapshot/worker-text.ts';
import { createFleet, type Fleet, foldEntry, viewWorker } from '../../../../machines/index.ts';
import { entryOf } from '../../../support/fold-lines.ts';

function fold(fleet: Fleet, tail: string, data: object = {}): void {
  const entry = entryOf(`worker.${tail}`, data);
  foldEntry(fleet, { seq: fleet.seq + 1, atMs: fleet.nowMs + 1, entry });
}
function stop(fleet: Fleet, ...workers: string[]): void {
  for (const worker of workers) fold(fleet, `${worker}.stop.attempted`, { attempt: 'a1' });
}
/** Each read of a packed worker unpacks it again. */
function isPacked({ workers }: Fleet, worker: string): boolean {
  const seen = workers.read(worker);
  return workers.read(worker) !== seen;
}

test('those that stopped first are packed, and an entry about one unpacks it for a while', () => {
  const fleet = createFleet('main', { restingMax: 2 });
  stop(fleet, 'w1', 'w2', 'w3', 'w4');
  expect(['w1', 'w2', 'w3', 'w4'].map((worker) => isPacked(fleet, worker))).toEqual([true, true, false, false]);
  fold(fleet, 'w1.heartbeat.sent');
  expect(['w1', 'w2', 'w3', 'w4'].map((worker) => isPacked(fleet, worker))).toEqual([false, true, true, false]);
});

test('reading it leaves it packed, and a change does not get lost', () => {
  const fleet = createFleet('main', { restingMax: 0 });
  stop(fleet, 'w1');
  const view = viewWorker(fleet, 'w1', fleet.nowMs);
  expect(view).toMatchObject({ state: 'stopped', lastDecision: { attempt: 'a1', worker: 'w1' } });
  expect([...fleet.workers.values()]).toHaveLength(1);
  expect(isPacked(fleet, 'w1')).toBe(true);
  (fleet.workers.get('w1') as { owner: string | null }).owner = 'r9';
  stop(fleet, 'w2');
  expect(isPacked(fleet, 'w1')).toBe(true);
  expect(fleet.workers.read('w1')?.owner).toBe('r9');
});

test('one that goes on is not packed any more', () => {
  const fleet = createFleet('main', { restingMax: 0 });
  stop(fleet, 'w1');
  fold(fleet, 'w1.tool.used', { tool: 'Edit' });
  expect(viewWorker(fleet, 'w1', fleet.nowMs)).toMatchObject({ state: 'working', toolCount: 1 });
  expect(isPacked(fleet, 'w1')).toBe(false);
});

test('known attempts keep all 53 bits of their hashes, and their places', () => {
  const known = [2 ** 53 - 1, 0, 0, 31, 1, 32, 4_503_599_627_370_497, 9_007_199_254_740_991];
  expect(decodeKnown(encodeKnown(known))).toEqual(known);
  const full = Array.from({ length: 512 }, (_, index) => index * 17_592_186_044_417);
  expect(decodeKnown(encodeKnown(full.map((it) => it % 2 ** 53)))).toEqual(full.map((it) => it % 2 ** 53));
});
