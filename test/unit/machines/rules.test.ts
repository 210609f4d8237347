/**
 * The rules' version (protocol.md §15): from its entry on another one holds; what stood before is folded by its own.
 */

import { expect, test } from 'vitest';
import { createFleet, createReplay, type Fleet, foldEntry, rulesOfMembers } from '../../../machines/index.ts';
import { entryOf } from '../../support/fold-lines.ts';
import { bothVersions, version2 } from '../../support/second-rules.ts';
import { restoreText, snapshotText } from '../../support/snapshot-text.ts';

type Line = readonly [tail: string, data?: object];
const startMs = Date.parse('2026-03-02T12:00:00.000Z');

/** @returns the causes of what was decided */
function fold(fleet: Fleet, lines: readonly Line[]): string[] {
  return lines.flatMap(([tail, data = {}]) => {
    const entry = entryOf(tail, data);
    const seq = fleet.seq + 1;
    return foldEntry(fleet, { seq, atMs: startMs + seq, entry }).outcomes.flatMap((outcome) =>
      outcome.kind === 'decided' ? [outcome.decision.cause] : [],
    );
  });
}

const setRules = (version: number): Line => ['own.fleet.main.rules.set', { version }];
const attempt = (worker: string): readonly Line[] => [
  [`worker.${worker}.budget.exhausted`],
  [`worker.${worker}.stop.attempted`],
];

test('another version applies from its entry on', () => {
  const fleet = createFleet('main', { rules: bothVersions });
  expect(fold(fleet, attempt('w1'))).toEqual(['bypassed']);
  expect(fold(fleet, [setRules(2), ...attempt('w2')])).toEqual(['no-policy']);
  expect(fold(fleet, [setRules(1), ...attempt('w3')])).toEqual(['no-policy']);
});

test('a snapshot says which version is in force', () => {
  const fleet = createFleet('main', { rules: bothVersions });
  fold(fleet, [setRules(2), ...attempt('w1')]);
  const text = snapshotText(fleet);
  const restored = restoreText(text, 'main', bothVersions);
  expect(fold(restored, attempt('w2'))).toEqual(['no-policy']);
  expect(restoreText(text).unknownRules).toBe(2);
  expect(restoreText(snapshotText(createFleet('main')), 'main', [version2]).unknownRules).toBe(1);
});

test('nothing is folded after an unknown version', () => {
  const fleet = createFleet('main');
  fold(fleet, attempt('w1'));
  const { seq } = fleet;
  expect(fold(fleet, [setRules(2), ...attempt('w2')])).toEqual([]);
  expect([fleet.unknownRules, fleet.workers.has('w2')]).toEqual([2, false]);
  expect(fleet.seq).toBe(seq + 1);
});

test('a replay says which version a log needs', () => {
  const replay = createReplay();
  const line = (tail: string, data: object) =>
    JSON.stringify({ at: '2026-03-02T12:00:00.000Z', subject: `stopgate.main.${tail}`, data });
  replay.fold(line('worker.w1.heartbeat.sent', {}));
  expect(replay.fault()).toBeNull();
  replay.fold(line('own.fleet.main.rules.set', { version: 3 }));
  expect(replay.fault()).toBe(
    'this log needs version 3 of the rules, and this release knows version 1; install the release that wrote it, or a later one',
  );
});

test("the members' common version is the lowest of their newest versions", () => {
  const fleet = createFleet('main');
  const join = (replica: string, rules?: number[]): Line => ['own.fleet.main.replica.joined', { replica, rules }];
  expect(rulesOfMembers(fleet)).toBe(1);
  fold(fleet, [join('r1', [1, 3]), join('r2', [1, 2])]);
  expect(rulesOfMembers(fleet)).toBe(2);
  fold(fleet, [join('old')]);
  expect(rulesOfMembers(fleet)).toBe(1);
  fold(fleet, [
    ['own.fleet.main.replica.left', { replica: 'old' }],
    ['own.fleet.main.replica.left', { replica: 'r2' }],
  ]);
  expect(rulesOfMembers(fleet)).toBe(3);
});
