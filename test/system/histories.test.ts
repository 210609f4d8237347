/**
 * The shipped service still writes what the histories have of it (test/logs/histories): a scenario that is played again
 * gives the same entries and decisions, whenever that is.
 */
import { expect, test } from 'vitest';
import type { Decision } from '../../machines/index.ts';
import { play, scenarios } from '../logs/record/play.ts';
import { historyNames, readHistory, storedDecisions } from '../support/histories.ts';

test('each history can be recorded again, and each scenario has its history', () => {
  expect(Object.keys(scenarios).sort()).toEqual(historyNames().sort());
});

test.concurrent.each(['kinds-of-checks', 'two-held-tasks', 'hooks-of-tasks', 'takeover'])('%s', async (name) => {
  const lines = (await play(name)).trimEnd().split('\n');
  const recorded = readHistory(name);
  expect(subjectsOf(lines)).toEqual(subjectsOf(recorded));
  expect(judgements(lines)).toEqual(judgements(recorded));
});

/** Sorted: a decision is stored a moment after it was given. */
const subjectsOf = (lines: readonly string[]) =>
  lines.map((line) => (JSON.parse(line) as { subject: string }).subject).sort();

const judgements = (lines: readonly string[]) => storedDecisions(lines).map(describe);

const describe = ({ worker, attempt, decision, action, cause, reason, state, retry, tasks, verdicts }: Decision) => ({
  ...{ worker, attempt, decision, action, cause, reason, state, retry, tasks },
  verdicts: verdicts.map(({ guard, verdict }) => `${guard} ${verdict}`),
});
