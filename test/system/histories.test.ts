/**
 * The shipped service still writes what the histories have of it (test/logs/histories): a scenario that is played again
 * gives the same entries and decisions. One is enough, with two replicas of which one is killed: what the histories
 * fold to is in test/unit/machines/histories.test.ts, and that other logs fold as they were decided is in
 * kill/log.test.ts.
 */
import { expect, test } from 'vitest';
import type { Decision } from '../../machines/index.ts';
import { play, scenarios } from '../logs/record/play.ts';
import { historyNames, readHistory, storedDecisions } from '../support/histories.ts';

test('each history has a scenario, and each scenario a history', () => {
  expect(Object.keys(scenarios).sort()).toEqual(historyNames().sort());
});

test('a takeover is recorded again with the same entries and decisions', async () => {
  const lines = (await play('takeover')).trimEnd().split('\n');
  const recorded = readHistory('takeover');
  expect(subjectsOf(lines)).toEqual(subjectsOf(recorded));
  expect(judgements(lines)).toEqual(judgements(recorded));
});

/** Sorted, because a decision is stored a moment after its answer. */
const subjectsOf = (lines: readonly string[]) =>
  lines.map((line) => (JSON.parse(line) as { subject: string }).subject).sort();

const judgements = (lines: readonly string[]) => storedDecisions(lines).map(describe);

const describe = ({ worker, attempt, decision, action, cause, reason, state, retry, tasks, verdicts }: Decision) => ({
  worker,
  attempt,
  decision,
  action,
  cause,
  reason,
  state,
  retry,
  tasks,
  verdicts: verdicts.map(({ guard, verdict }) => `${guard} ${verdict}`),
});
