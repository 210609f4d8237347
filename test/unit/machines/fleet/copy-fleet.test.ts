/** A copy of a fleet is independent: folding an entry into one of the two does not change the other. */

import { expect, test } from 'vitest';
import { copyFleet, createFleet, type Fleet, foldEntry, viewFleet } from '../../../../machines/index.ts';
import { entryOf } from '../../../support/fold-lines.ts';

function fold(fleet: Fleet, lines: readonly (readonly [tail: string, data: object])[]): Fleet {
  for (const [tail, data] of lines) {
    const entry = entryOf(tail, data);
    const seq = fleet.seq + 1;
    foldEntry(fleet, { seq, atMs: Date.parse('2026-03-02T12:00:00.000Z') + seq, entry });
  }
  return fleet;
}

const before = [
  ['own.fleet.main.replica.joined', { replica: 'r1' }],
  ['worker.w1.task.claimed', { task: 'T-1' }],
  ['task.T-2.hook.registered', { hook: 'H', type: 'remote', name: 'slow' }],
  ['task.T-2.iteration.started', { iteration: 1, maxIterations: 3 }],
] as const;
const after = [
  ['worker.w1.task.failed', { task: 'T-1' }],
  ['worker.w1.stop.attempted', { attempt: 'a' }],
  ['task.T-2.iteration.validated', { iteration: 1 }],
  ['task.T-3.task.created', { after: ['T-1'] }],
  ['worker.w2.limit.reached', { scope: 's' }],
  ['queue.q.depth.reported', { pending: 3 }],
  ['own.fleet.main.replica.joined', { replica: 'r2' }],
] as const;
/** Returns the whole state of a fleet. Actors are replaced by their views and known attempts. */
function contentOf(fleet: Fleet) {
  const { workers, tasks, deadlines, forgetting, outcomes, rules, rulesKnown: _, ...rest } = fleet;
  const { workerStepper: __, taskStepper: ___, ...indexes } = rest;
  const known = [...workers].map(([name, it]) => [name, it.known, it.wakeMs, it.owner]);
  const evaluations = [...tasks].map(([name, it]) => [name, it.snapshot.context.evaluations]);
  return structuredClone({
    ...indexes,
    rules: rules.version,
    known,
    evaluations,
    deadlines: [deadlines.size, forgetting.size],
    view: viewFleet(fleet),
  });
}

test.each([
  { changed: 'copy', kept: 'original' },
  { changed: 'original', kept: 'copy' },
] as const)('folding into the $changed does not change the $kept', ({ changed }) => {
  const original = fold(createFleet('main'), before);
  const copy = copyFleet(original);
  const [one, other] = changed === 'copy' ? [copy, original] : [original, copy];
  const was = contentOf(other);
  fold(one, after);
  expect(contentOf(other)).toEqual(was);
  expect(contentOf(one).escalated.size).toBe(1);
  fold(other, after);
  expect(contentOf(other)).toEqual(contentOf(one));
});
