/** A repeated request for the next task gets the same task for two minutes after its release. */
import { expect, test } from 'vitest';
import { claimedBy, createFleet, type Fleet, foldEntry } from '../../../../machines/index.ts';
import { entryOf } from '../../../support/fold-lines.ts';
import { restoreText, snapshotText } from '../../../support/snapshot-text.ts';

type Line = readonly [atMs: number, tail: string, data?: object];
const claimed: Line = [0, 'worker.w1.task.claimed', { task: 'T-1', request: 'r1' }];

function fold(...lines: readonly Line[]): Fleet {
  const fleet = createFleet('main');
  for (const [atMs, tail, data] of lines) foldEntry(fleet, { seq: fleet.seq + 1, atMs, entry: entryOf(tail, data) });
  return fleet;
}

test.each<[how: string, line: Line]>([
  ['completed', [1_000, 'worker.w1.task.completed', { task: 'T-1' }]],
  ['failed', [1_000, 'worker.w1.task.failed', { task: 'T-1' }]],
  ['released', [1_000, 'worker.w1.task.released', { task: 'T-1' }]],
  ['cancelled', [1_000, 'task.T-1.task.cancelled']],
  ['judged', [1_000, 'worker.w1.stop.attempted', { attempt: 'a1' }]],
  ['left by an ended session', [1_000, 'worker.w1.session.ended']],
])('a task that was %s', (_how, line) => {
  const fleet = fold(claimed, line);
  for (const each of [fleet, restoreText(snapshotText(fleet))]) {
    expect(claimedBy(each, 'w1', 'r1', 120_999)).toBe('T-1');
    expect(claimedBy(each, 'w1', 'r1', 121_000)).toBeNull();
    expect(claimedBy(each, 'w2', 'r1', 1_000)).toBeNull();
  }
});

test('the last task of a request counts, and old claims are dropped', () => {
  const fleet = fold(
    claimed,
    [1_000, 'worker.w1.task.released', { task: 'T-1' }],
    [200_000, 'worker.w1.task.claimed', { task: 'T-2', request: 'r1' }],
    [201_000, 'worker.w1.task.released', { task: 'T-2' }],
    [202_000, 'worker.w1.task.claimed', { task: 'T-3' }],
    [203_000, 'worker.w1.task.released', { task: 'T-3' }],
    [400_000, 'worker.w1.task.claimed', { task: 'T-4', request: 'r4' }],
  );
  expect([...fleet.pastClaims]).toEqual([['w1:r1', { task: 'T-2', atMs: 201_000 }]]);
  foldEntry(fleet, { seq: 9, atMs: 401_000, entry: entryOf('worker.w1.task.released', { task: 'T-4' }) });
  expect([...fleet.pastClaims.keys()]).toEqual(['w1:r4']);
});
