/**
 * Objects that every entry reads and writes share their hidden classes. A literal with a spread first and a new property
 * after it gives each object its own (Node 20), and folding a stop took seven times as long: nothing else showed it.
 */

import { setFlagsFromString } from 'node:v8';
import { expect, test } from 'vitest';
import { createFleet, type Fleet, foldEntry } from '../../../../machines/index.ts';
import { entryOf } from '../../../support/fold-lines.ts';
import { restoreText, snapshotText } from '../../../support/snapshot-text.ts';

setFlagsFromString('--allow-natives-syntax');
const haveOneClass = new Function('a', 'b', 'return %HaveSameMap(a, b)') as (a: object, b: object) => boolean;

function fold(fleet: Fleet, tail: string, data: object = {}) {
  const entry = entryOf(tail, data);
  return foldEntry(fleet, { seq: fleet.seq + 1, atMs: 1_700_000_000_000 + fleet.seq, entry });
}

test('of all workers: record, context, last move and decision', () => {
  const fleet = createFleet('main');
  fold(fleet, 'own.fleet.main.policy.set', { policies: { default: { retries: null, checks: [{ plan: {} }] } } });
  // The first objects that a literal makes are alike in any case.
  const workers = Array.from({ length: 100 }, (_, index) => `w${index}`);
  const decisions: object[] = [];
  for (const [index, worker] of workers.entries()) {
    if (index % 3 === 0) fold(fleet, `worker.${worker}.worker.registered`, { agent: 'claude', cwd: '/tmp' });
    if (index % 2 === 0) fold(fleet, `worker.${worker}.tool.used`, { tool: 'Edit', files: [`${worker}.ts`] });
    for (const outcome of fold(fleet, `worker.${worker}.stop.attempted`, { attempt: 'a1' }).outcomes)
      if (outcome.kind === 'decided') decisions.push(outcome.decision);
  }
  // Half of them come from a snapshot.
  for (const [id, record] of restoreText(snapshotText(fleet)).workers)
    if (workers.indexOf(id) % 2 === 0) fleet.workers.set(id, record);
  const records = workers.map(
    (worker) => fleet.workers.get(worker) as NonNullable<ReturnType<Fleet['workers']['get']>>,
  );
  const countClasses = (objects: readonly (object | null)[]) => {
    const classes: object[] = [];
    for (const it of objects as object[]) if (!classes.some((known) => haveOneClass(known, it))) classes.push(it);
    return classes.length;
  };
  const counts = [
    records,
    records.map((record) => record.snapshot.context.worker),
    records.map((record) => record.lastMove),
    decisions,
  ];
  // So many are cached at one place.
  for (const objects of counts) expect(countClasses(objects)).toBeLessThanOrEqual(4);
  expect(decisions).toHaveLength(100);
});
