/** The outline of a log: counts of folded entries, and merging of buckets. */
import { expect, test } from 'vitest';
import { createFleet, type FoldOutcome } from '../../../../machines/index.ts';
import { createOutline } from '../../../../src/inspector/history/outline.ts';
import type { Step } from '../../../../src/inspector/history/past.ts';

const fleet = createFleet('main');
const decided = (answer: object) => ({ kind: 'decided', decision: answer, openedMs: 0 }) as unknown as FoldOutcome;
const block = decided({ decision: 'block', action: 'continue', cause: 'incomplete' });
const escalate = decided({ decision: 'allow', action: 'escalate', cause: 'stuck' });
const again = decided({ decision: 'allow', action: 'escalate', cause: 'escalated' });

function step(seq: number, outcomes: readonly FoldOutcome[] = [], atMs = seq * 10): Step {
  const message = {
    seq,
    atMs,
    subject: 'stopgate.main.worker.w1.tool.used',
    data: new Uint8Array(),
    header: () => undefined,
  };
  return { message, outcomes, fleet, silentFromMs: atMs - 10 };
}

test('counts stops by outcome, and each entry once', () => {
  const outline = createOutline();
  for (const entry of [step(1, [again]), step(2, [block]), step(3, [escalate]), step(2, [block])]) outline.add(entry);
  const [bucket, ...others] = outline.read(1, 4, 4);
  expect(others).toEqual([]);
  expect(bucket).toMatchObject({ fromSeq: 1, toSeq: 3, count: 3, fromMs: 10, toMs: 30 });
  expect(bucket).toMatchObject({ complete: 0, 'let-go': 0, blocked: 1, escalated: 1, unjudged: 0 });
});

test("counts an escalation without a stop, but not the person's actions on it", () => {
  const began: FoldOutcome = { kind: 'escalated', entity: 'worker', id: 'w1' };
  const outline = createOutline();
  for (const each of [step(1, [began]), step(2)]) outline.add(each);
  expect(outline.read(1, 2, 2).map((bucket) => bucket.escalated)).toEqual([1]);
});

test('keeps the longest silence and its position', () => {
  const outline = createOutline();
  for (const entry of [step(1), { ...step(2, [], 5_000), silentFromMs: 10 }, step(3, [], 5_010)]) outline.add(entry);
  expect(outline.read(1, 4, 4)[0]).toMatchObject({ silentFromMs: 10, silentToMs: 5_000 });
});

test('reports unfolded entries, in whatever order others were folded', () => {
  const outline = createOutline();
  for (const seq of [1, 2, 3, 7, 8, 5]) outline.add(step(seq));
  expect([outline.firstMissing(1, 10), outline.firstMissing(7, 8), outline.covered(1, 10)]).toEqual([4, null, 6]);
  for (const seq of [4, 6]) outline.add(step(seq));
  expect([outline.firstMissing(1, 10), outline.covered(2, 6)]).toEqual([9, 5]);
});

test('buckets grow with the log and merge without losing counts', () => {
  const outline = createOutline(1, 8);
  for (let seq = 1; seq <= 100; seq += 1) outline.add(step(seq, seq % 10 === 0 ? [block] : []));
  expect(outline.width).toBe(16);
  const buckets = outline.read(1, 100, 1);
  expect(buckets).toHaveLength(7);
  expect(buckets.reduce((sum, bucket) => sum + bucket.count, 0)).toBe(100);
  expect(buckets.reduce((sum, bucket) => sum + bucket.blocked, 0)).toBe(10);
  expect(outline.read(33, 64, 32)).toMatchObject([{ fromSeq: 33, toSeq: 64, count: 32 }]);
});
