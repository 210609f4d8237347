/**
 * The page tells the truth about a day: sentences drawn from many moments of a recorded day agree with the facts in its
 * log. The rows reach the page as in the service, as changes, so that a row that is not sent again is found too.
 */
import { expect, test } from 'vitest';
import type { Fleet, FleetWatcher } from '../../../machines/index.ts';
import { createFleetStore } from '../../../src/inspector/client/data/fleet-store.ts';
import { allRows, rowsOf } from '../../../src/inspector/fleet-rows.ts';
import { createRandom } from '../../simulation/random.ts';
import { createFacts } from '../../support/day-facts.ts';
import { type Statement, statementsAt, statementsOfLog } from '../../support/day-statements.ts';
import { playDay } from '../../support/recorded-day.ts';

/** Entries between two moments. */
const everyEntries = 120;
const drawn = 200;

async function sentencesOf(seed: number): Promise<Statement[]> {
  const facts = createFacts();
  const store = createFleetStore();
  const names = { workers: new Set<string>(), tasks: new Set<string>(), queues: new Set<string>() };
  const found: Statement[] = [];
  let [isFirst, isDue] = [true, false];
  const show = (fleet: Fleet) => {
    const head = { seq: fleet.seq, nowMs: fleet.nowMs, headSeq: fleet.seq, fault: null, outage: null };
    if (isFirst) store.apply({ ...head, ...allRows(fleet), moves: { sinceMs: 0, minutes: [] } }, true);
    else store.apply({ ...head, ...rowsOf(fleet, names), entries: everyEntries }, false);
    isFirst = false;
    for (const changed of Object.values(names)) changed.clear();
  };
  const watcher: FleetWatcher = {
    worker: (id) => void names.workers.add(id),
    task: (id) => void names.tasks.add(id),
    queue: (id) => void names.queues.add(id),
  };
  playDay(seed, watcher, (fleet, entry) => {
    facts.add(entry);
    isDue ||= entry.seq % everyEntries === 0;
    // After other entries, the fold may have made a decision that is not in the log yet.
    if (!isDue || !/\.(tool\.used|task\.created|plan\.updated|usage\.reported)$/.test(entry.subject)) return;
    isDue = false;
    show(fleet);
    found.push(...statementsAt({ fleet, store, facts }));
  });
  return [...found, ...(await statementsOfLog({ facts }))];
}

/** Draws from each kind of sentence in turn, however rare it is. */
function draw(all: readonly Statement[], seed: number): Statement[] {
  const random = createRandom(seed);
  const kinds = kindsOf(all);
  return Array.from({ length: drawn }, (_, index) =>
    random.pick(all.filter(({ kind }) => kind === kinds[index % kinds.length])),
  );
}

const kindsOf = (statements: readonly Statement[]) => [...new Set(statements.map(({ kind }) => kind))].sort();

const untrue = (statements: readonly Statement[]) => [
  ...new Set(
    statements
      .filter(({ problem }) => problem !== null)
      .map(({ kind, text, problem }) => `${kind}: “${text}”, but: ${problem}`),
  ),
];

test.each([1, 2])('of day %i, no sentence of 200 drawn is untrue', async (seed) => {
  const all = await sentencesOf(seed);
  expect(untrue(draw(all, seed))).toEqual([]);
  expect(untrue(all)).toEqual([]);
  expect(kindsOf(all)).toEqual([
    'answer',
    'budget',
    'dry run',
    'entries',
    'entry',
    'history',
    'holder age',
    'inbox',
    'inbox note',
    'order',
    'pattern',
    'queue',
    'task age',
    'task holder',
    'task sentence',
    'wait age',
    'work between',
    'worker age',
    'worker holds',
    'worker sentence',
    'worker state',
    'worker used',
  ]);
});
