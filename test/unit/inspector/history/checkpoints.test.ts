/** Checkpoints: few, spread evenly over the log, and independent of the fold that left them. */
import { expect, test } from 'vitest';
import { createFleet } from '../../../../machines/index.ts';
import { createCheckpoints } from '../../../../src/inspector/history/checkpoints.ts';

const lastSeq = 1_000_000;

/** As a fold from the beginning offers them. */
function foldAll(checkpoints: ReturnType<typeof createCheckpoints>, toSeq = lastSeq): void {
  const fleet = createFleet('main');
  for (let seq = 1; seq <= toSeq; seq += 1) {
    fleet.seq = seq;
    checkpoints.offer(seq, toSeq, fleet);
  }
}

test('in a million entries none is further than 40,000 from one', () => {
  const checkpoints = createCheckpoints();
  foldAll(checkpoints);
  expect(checkpoints.size).toBe(64);
  for (let seq = 50_000; seq <= lastSeq; seq += 1_000) {
    const nearest = checkpoints.nearest(seq);
    expect(nearest?.seq).toBeLessThanOrEqual(seq);
    expect(seq - (nearest?.seq ?? 0)).toBeLessThan(40_000);
  }
});

test('holds the fleet of its entry, whatever is folded on from it', () => {
  const checkpoints = createCheckpoints();
  foldAll(checkpoints, 20_000);
  const first = checkpoints.nearest(10_000);
  if (first === null) throw new Error('none');
  expect(first.fleet.seq).toBe(first.seq);
  first.fleet.seq = 9_999;
  first.fleet.replicas.set('r1', 1);
  expect(checkpoints.nearest(10_000)?.fleet).toMatchObject({ seq: first.seq, replicas: new Map() });
  expect(checkpoints.nearest(100)).toBeNull();
});

test('when memory is short there are no more of them', () => {
  const checkpoints = createCheckpoints(() => false);
  foldAll(checkpoints);
  expect(checkpoints.size).toBe(1);
});

test('an entry that another request has passed before is kept once', () => {
  const checkpoints = createCheckpoints();
  foldAll(checkpoints, 20_000);
  const { size } = checkpoints;
  foldAll(checkpoints, 20_000);
  expect(checkpoints.size).toBe(size);
});
