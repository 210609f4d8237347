/** Checkpoints: few, spread evenly over the log, and independent of the fold that left them. */
import { expect, test } from 'vitest';
import { createFleet } from '../../../../machines/index.ts';
import { foldMessage } from '../../../../src/host/fold/fold-message.ts';
import { createCheckpoints } from '../../../../src/inspector/history/checkpoints.ts';

const lastSeq = 1_000_000;
type Checkpoints = ReturnType<typeof createCheckpoints>;
const sizeOf = (checkpoints: Checkpoints) => checkpoints.seqsUpTo(Number.POSITIVE_INFINITY).length;
const nearestTo = (checkpoints: Checkpoints, seq: number) => checkpoints.at(checkpoints.seqsUpTo(seq).at(-1) ?? 0);

/** As a fold from the beginning offers them. */
function foldAll(checkpoints: Checkpoints, toSeq = lastSeq): void {
  const fleet = createFleet('main');
  for (let seq = 1; seq <= toSeq; seq += 1) {
    fleet.seq = seq;
    checkpoints.offer(seq, toSeq, fleet);
  }
}

test('of a small fleet no entry of a million is further than 8,192 from one', () => {
  const checkpoints = createCheckpoints();
  foldAll(checkpoints);
  expect(sizeOf(checkpoints)).toBe(122);
  for (let seq = 20_000; seq <= lastSeq; seq += 1_000) {
    const nearest = nearestTo(checkpoints, seq);
    expect(nearest?.seq).toBeLessThanOrEqual(seq);
    expect(seq - (nearest?.seq ?? 0)).toBeLessThan(8_192);
  }
});

test('the more actors there are to pack, the further they stand apart', () => {
  const checkpoints = createCheckpoints();
  const fleet = createFleet('main');
  for (let worker = 1; worker <= 10_000; worker += 1) {
    const subject = `stopgate.main.worker.w${worker}.heartbeat.sent`;
    foldMessage(fleet, { seq: worker, atMs: worker, subject, data: new Uint8Array(), header: () => undefined });
  }
  for (let seq = 8_192; seq <= 65_536; seq += 8_192) checkpoints.offer(seq, lastSeq, fleet);
  expect(checkpoints.seqsUpTo(lastSeq)).toEqual([16_384, 32_768, 49_152, 65_536]);
});

test('holds the fleet of its entry, whatever is folded on from it', () => {
  const checkpoints = createCheckpoints();
  foldAll(checkpoints, 20_000);
  const first = nearestTo(checkpoints, 10_000);
  if (first === null) throw new Error('none');
  expect(first.fleet.seq).toBe(first.seq);
  first.fleet.seq = 9_999;
  first.fleet.replicas.set('r1', 1);
  expect(nearestTo(checkpoints, 10_000)?.fleet).toMatchObject({ seq: first.seq, replicas: new Map() });
  expect(nearestTo(checkpoints, 100)).toBeNull();
});

test.each([
  ['countMax', { countMax: 10, bytesMax: 1_000_000 }, 10],
  ['bytesMax', { countMax: 64, bytesMax: 1 }, 1],
])('past %s they are thinned out evenly', (_, limits, size) => {
  const checkpoints = createCheckpoints(limits);
  // Offered as if the log were short, so that many more are due than there is room for.
  const fleet = createFleet('main');
  for (let seq = 4_096; seq <= 40 * 4_096; seq += 4_096) {
    fleet.seq = seq;
    checkpoints.offer(seq, 8_192, fleet);
  }
  expect(sizeOf(checkpoints)).toBe(size);
  expect(nearestTo(checkpoints, 40 * 4_096)?.seq).toBe(40 * 4_096);
  if (size === 1) return;
  const seqs = new Set(Array.from({ length: 40 }, (_it, at) => nearestTo(checkpoints, (at + 1) * 4_096)?.seq ?? 0));
  const sorted = [...seqs].sort((a, b) => a - b);
  const gaps = sorted.slice(1).map((seq, at) => seq - (sorted[at] ?? 0));
  expect(Math.max(...gaps)).toBeLessThanOrEqual(8 * 4_096);
});

test('an entry that another request has passed before is kept once', () => {
  const checkpoints = createCheckpoints();
  foldAll(checkpoints, 20_000);
  const size = sizeOf(checkpoints);
  foldAll(checkpoints, 20_000);
  expect(sizeOf(checkpoints)).toBe(size);
});
