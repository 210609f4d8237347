/** Names, patterns and shards select the fleets that a process serves. */
import { describe, expect, test } from 'vitest';
import {
  isInShard,
  matchesSelection,
  readFleetSelection,
  readShard,
  shardOf,
} from '../../../src/config/fleet-selection.ts';

describe('a selection', () => {
  test('separates names from patterns, without duplicates', () => {
    expect(readFleetSelection('a, team-*,b,a')).toEqual({ names: ['a', 'b'], patterns: ['team-*'] });
  });

  test.each(['', 'a,', 'a b', 'a.*', '>', 'x'.repeat(129)])('%j is refused', (text) => {
    expect(readFleetSelection(text)).toBeUndefined();
  });

  test.each([
    ['team-*', 'team-a', true],
    ['team-*', 'my-team-a', false],
    ['*', 'anything', true],
    ['*-eu', 'web-eu', true],
    ['a*z', 'az', true],
    ['a*z', 'azb', false],
  ])('%s means %s: %s', (pattern, fleet, expected) => {
    expect(matchesSelection({ names: [], patterns: [pattern] }, fleet)).toBe(expected);
  });
});

describe('a shard', () => {
  const fleets = Array.from({ length: 1_000 }, (_, index) => `team-${index}`);

  test.each(['0/8', '9/8', '2', '2/', '-1/8', '1.5/8', 'a/b'])('%j is refused', (text) => {
    expect(readShard(text)).toBeUndefined();
  });

  test('serves its share of the fleets, and each fleet is in one shard', () => {
    const shards = Array.from({ length: 8 }, (_, index) => ({ index: index + 1, count: 8 }));
    for (const fleet of fleets) expect(shards.filter((shard) => isInShard(shard, fleet))).toHaveLength(1);
    for (const shard of shards) {
      const part = fleets.filter((fleet) => isInShard(shard, fleet)).length;
      expect(part).toBeGreaterThan(90);
      expect(part).toBeLessThan(160);
    }
    expect(isInShard(null, 'any')).toBe(true);
  });

  test('that is added takes fleets from all shards, and no other fleet moves', () => {
    const moved = fleets.filter((fleet) => shardOf(fleet, 8) !== shardOf(fleet, 9));
    expect(new Set(moved.map((fleet) => shardOf(fleet, 9)))).toEqual(new Set([9]));
    expect(new Set(moved.map((fleet) => shardOf(fleet, 8))).size).toBe(8);
  });
});
