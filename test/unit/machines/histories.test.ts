/**
 * The histories: logs that a real service has written, one for each feature, fold to what they folded to when they were
 * recorded (protocol.md §15). `npm run fold:histories` lists them; CONTRIBUTING.md, "Record a history", says how to add
 * one.
 */
import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { createLogLines, type LogEntry } from '../../../machines/entries/log-line.ts';
import {
  createFleet,
  createReplay,
  type Decision,
  entrySchemas,
  type Fleet,
  foldEntry,
  viewFleet,
} from '../../../machines/index.ts';
import {
  expectationFile,
  foldHistory,
  historyNames,
  inOrderOf,
  judgementOf,
  readHistory,
  storedDecisions,
} from '../../support/histories.ts';
import { sample } from '../../support/random.ts';
import { restoreText, snapshotText } from '../../support/snapshot-text.ts';

const entriesOf = (lines: readonly string[]) => {
  const read = createLogLines();
  return lines
    .map((line) => read.readLine(line))
    .filter((entry): entry is LogEntry => entry !== null && typeof entry !== 'string');
};
const foldInto = (fleet: Fleet, entries: readonly LogEntry[]) => {
  for (const { stored } of entries) foldEntry(fleet, stored);
  return fleet;
};

describe.each(historyNames())('%s', (name) => {
  const lines = readHistory(name);

  test('folds to its expectation', () => {
    const found = foldHistory(lines);
    const compare = `"npm run fold:histories -- --show ${name}" prints what it folds to here; compare it with test/logs/histories/${name}.txt (CONTRIBUTING.md, "Change the rules")`;
    expect(existsSync(expectationFile(name)), `it has no expectation: ${compare}`).toBe(true);
    expect(found, compare).toBe(readFileSync(expectationFile(name), 'utf8'));
  });

  test('gives the decisions that the service gave when it was recorded', () => {
    const replay = createReplay();
    for (const line of lines) replay.fold(line);
    const decided = replay.take().filter((line): line is Decision => 'verdicts' in line);
    expect(decided.map(judgementOf)).toEqual(inOrderOf(decided, storedDecisions(lines)).map(judgementOf));
  });

  test('ends in the same state, byte for byte, when the fold continues from a snapshot in its middle, or elsewhere', () => {
    const entries = entriesOf(lines);
    const stateOf = (fleet: Fleet) => ({ snapshot: snapshotText(fleet), view: JSON.stringify(viewFleet(fleet)) });
    const last = stateOf(foldInto(createFleet('main'), entries));
    const middle = Math.floor(entries.length / 2);
    for (const index of new Set([middle, ...sample(entries.keys(), 12, name)])) {
      const { snapshot, view } = stateOf(foldInto(createFleet('main'), entries.slice(0, index + 1)));
      const restored = restoreText(snapshot);
      expect(JSON.stringify(viewFleet(restored))).toBe(view);
      expect(stateOf(foldInto(restored, entries.slice(index + 1)))).toEqual(last);
    }
  });

  test('is short, and of one fleet', () => {
    expect(lines.length).toBeGreaterThanOrEqual(10);
    expect(lines.length).toBeLessThanOrEqual(60);
    expect(new Set(entriesOf(lines).map(({ fleet }) => fleet))).toEqual(new Set(['main']));
  });
});

test('each entry of the protocol occurs in one of them', () => {
  const known = Object.entries(entrySchemas).flatMap(([area, schemas]) =>
    Object.keys(schemas).map((type) => `${area} ${type}`),
  );
  const recorded = new Set(
    historyNames()
      .flatMap((name) => entriesOf(readHistory(name)))
      .map(({ stored: { entry } }) => `${entry.area} ${entry.type}`),
  );
  expect(known.filter((name) => !recorded.has(name))).toEqual([]);
});
