/** Selects the fleets that a process serves, by name, pattern and shard. Pure. */
import { hashOf } from '../../machines/values/digest.ts';
import { isId } from '../../machines/values/id.ts';

/** A pattern is an id in which `*` stands for any number of characters. */
const isPattern = (text: string): boolean => text.includes('*');

export const isIdOrPattern = (text: string): boolean => isId(isPattern(text) ? `x${text.replaceAll('*', '')}` : text);

/** Matches in linear time, unlike a regular expression with several `.*`: takes the first occurrence of each part. */
export function matchesPattern(pattern: string, id: string): boolean {
  const [start = '', ...parts] = pattern.split('*');
  const end = parts.pop();
  if (end === undefined) return id === pattern;
  if (!id.startsWith(start)) return false;
  let from = start.length;
  for (const part of parts) {
    const index = id.indexOf(part, from);
    if (index < 0) return false;
    from = index + part.length;
  }
  return id.endsWith(end) && id.length - end.length >= from;
}

export type FleetSelection = {
  /** Always served, in the given order. A missing log is created. */
  readonly names: readonly string[];
  /** Such as `team-*`. Matches fleets whose logs exist. */
  readonly patterns: readonly string[];
};

/** Shard `index`, from 1, of `count`. */
export type Shard = { readonly index: number; readonly count: number };

/** Every fleet has its own stream, fold and consumer. For the cost per process see docs/operations/capacity.md. */
const namesMax = 1_000;

/** Reads `a,b,team-*`. Returns undefined if the text is not such a list. */
export function readFleetSelection(text: string): FleetSelection | undefined {
  const given = [...new Set(text.split(',').map((part) => part.trim()))];
  if (given.length > namesMax || !given.every(isIdOrPattern)) return undefined;
  return { names: given.filter((name) => !isPattern(name)), patterns: given.filter(isPattern) };
}
export const fleetSelectionFault = `is not a list of fleets or patterns, such as a,b,team-* (${namesMax} at most)`;

/** Reads `2/8`. Returns undefined if the text is not a shard. */
export function readShard(text: string): Shard | undefined {
  const [, index = '', count = ''] = /^(\d{1,4})\/(\d{1,4})$/.exec(text) ?? [];
  const shard = { index: Number(index), count: Number(count) };
  return shard.index >= 1 && shard.index <= shard.count ? shard : undefined;
}
export const shardFault = 'is not K/N with K from 1 to N, such as 2/8';

/** Tells whether one of the patterns matches the fleet. */
export const matchesSelection = ({ patterns }: FleetSelection, fleet: string): boolean =>
  patterns.some((pattern) => matchesPattern(pattern, fleet));

/**
 * The shard of a fleet, counted from 1, by rendezvous hashing: the one with the highest hash of shard and fleet. A new
 * shard takes over some fleets; all others stay where they are.
 */
export function shardOf(fleet: string, count: number): number {
  let shard = 1;
  let highest = -1;
  for (let index = 1; index <= count; index += 1) {
    const weight = hashOf(`${index} ${fleet}`);
    if (weight > highest) [shard, highest] = [index, weight];
  }
  return shard;
}

/** Without shards, every fleet is served. */
export const isInShard = (shard: Shard | null, fleet: string): boolean =>
  shard === null || shardOf(fleet, shard.count) === shard.index;
