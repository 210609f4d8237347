/**
 * Objects that every entry reads and writes must share their hidden classes. A literal that starts with a spread and
 * adds a property gives each object its own class (Node 20), and folding a stop took seven times as long. No other test
 * noticed.
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

test('all workers share the classes of record, context, last move and decision', () => {
  const fleet = createFleet('main');
  fold(fleet, 'own.fleet.main.policy.set', { policies: { default: { retries: null, checks: [{ plan: {} }] } } });
  // The first objects of a literal share a class in any case.
  const workers = Array.from({ length: 100 }, (_, index) => `w${index}`);
  const decisions: object[] = [];
  for (const [index, worker] of workers.entries()) {
    if (index % 3 === 0) fold(fleet, `worker.${worker}.worker.registered`, { agent: 'claude', cwd: '/tmp' });
    if (index % 2 === 0) fold(fleet, `worker.${worker}.tool.used`, { tool: 'Edit', files: [`${worker}.ts`] });
    for (const outcome of fold(fleet, `worker.${worker}.stop.attempted`, { attempt: 'a1' }).outcomes)
      if (outcome.kind === 'decided') decisions.push(outcome.decision);
  }
  // Half of the workers come from a snapshot.
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
  // An inline cache holds this number of classes.
  for (const objects of counts) expect(countClasses(objects)).toBeLessThanOrEqual(4);
  expect(decisions).toHaveLength(100);
});
