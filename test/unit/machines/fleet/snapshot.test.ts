/**
 * A fold that goes on from a snapshot gives the state that one from the beginning gives, byte for byte (protocol.md §15),
 * over random logs and over every case of the conformance suite.
 */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  advanceClock,
  createFleet,
  type Fleet,
  foldEntry,
  type Outcome,
  type StoredEntry,
  type TaskRecord,
  takeSnapshot,
  type WorkerRecord,
} from '../../../../machines/index.ts';
import { conformanceLogs } from '../../../support/conformance-logs.ts';
import { sample, takesAll } from '../../../support/random.ts';
import { randomLog } from '../../../support/random-log.ts';
import { restoreText, snapshotText } from '../../../support/snapshot-text.ts';

const fold = (fleet: Fleet, log: readonly StoredEntry[]): readonly Outcome[] =>
  log.flatMap((entry) => foldEntry(fleet, entry));

const foldNew = (log: readonly StoredEntry[]): Fleet => {
  const fleet = createFleet('main');
  fold(fleet, log);
  return fleet;
};

/** All that it holds; of an actor its value and context, without the machine. */
function contentOf({ workerStepper: _, taskStepper: __, ...fleet }: Fleet) {
  const bare = ({ snapshot: { value, context }, ...rest }: WorkerRecord | TaskRecord) => ({ value, context, ...rest });
  return {
    ...fleet,
    workers: [...fleet.workers].map(([id, it]) => [id, bare(it)]),
    tasks: [...fleet.tasks].map(([id, it]) => [id, bare(it)]),
    deadlines: fleet.deadlines.toArray(),
    forgetting: fleet.forgetting.toArray(),
  };
}

/** Folds `log` in two parts, with a snapshot between them, and after that whatever its timers do. */
function expectSameFrom(log: readonly StoredEntry[], at: number): void {
  const straight = foldNew(log.slice(0, at));
  const text = snapshotText(straight);
  const restored = restoreText(text);
  expect(snapshotText(restored)).toBe(text);
  expect(contentOf(restoreText(text))).toEqual(contentOf(straight));
  expect(fold(restored, log.slice(at))).toEqual(fold(straight, log.slice(at)));
  expect(snapshotText(restored)).toBe(snapshotText(straight));
  const endMs = straight.nowMs + 30 * 24 * 3_600_000;
  expect(advanceClock(restored, endMs)).toEqual(advanceClock(straight, endMs));
  expect(snapshotText(restored)).toBe(snapshotText(straight));
}

describe('a fold from a snapshot ends as one from the beginning', () => {
  test('over random logs, from any point', () => {
    fc.assert(
      fc.property(randomLog(120), fc.nat(), (log, chosen) => {
        expectSameFrom(log, chosen % (log.length + 1));
      }),
      { numRuns: takesAll ? 500 : 50 },
    );
  });

  test('over the conformance cases, from each point or a sample of them', () => {
    for (const { log } of conformanceLogs()) {
      for (const at of sample(log.keys(), 8, 'points')) expectSameFrom(log, at);
    }
  });
});

test('what is folded while a snapshot is being written is not in it', () => {
  fc.assert(
    fc.property(randomLog(80), randomLog(80), fc.nat(30), (before, after, every) => {
      const fleet = foldNew(before);
      const expected = snapshotText(fleet);
      const later = after.map((it) => ({ ...it, seq: it.seq + before.length, atMs: it.atMs + 600_000 }));
      const snapshot = takeSnapshot(fleet);
      let text = '';
      let count = 0;
      for (const line of snapshot.lines) {
        text += line;
        count += 1;
        if (count % (every + 1) === 0) fold(fleet, later.splice(0, 3));
      }
      snapshot.close();
      expect(text).toBe(expected);
      fold(fleet, later.splice(0));
    }),
    { numRuns: takesAll ? 300 : 30 },
  );
});

test('only what is asked for is decoded', () => {
  const log = fc.sample(randomLog(60), { numRuns: 1, seed: 7 })[0] as readonly StoredEntry[];
  const text = snapshotText(foldNew(log));
  const broken = text.replaceAll(/^(workers w[12]) .*$/gm, '$1 {');
  const fleet = restoreText(broken);
  expect(fleet.workers.get('w3')?.snapshot.context.worker.worker).toBe('w3');
  expect([...fleet.workers.keys()].sort()).toEqual(['w1', 'w2', 'w3']);
  expect(() => fleet.workers.get('w1')).toThrow(SyntaxError);
});

test('lines that are none of a snapshot are refused', () => {
  expect(() => restoreText('steppers - 1\n')).toThrow("'steppers' is no part of a snapshot");
});
