/** Which fleets a process serves: names, patterns for those that exist already, and its shard of both. Pure. */
import { hashOf } from '../../machines/values/digest.ts';
import { isId } from '../../machines/values/id.ts';

/** Patterns of ids: an id in which `*` stands for any characters, none included. Pure. */
const isPattern = (text: string): boolean => text.includes('*');

export const isIdOrPattern = (text: string): boolean => isId(isPattern(text) ? `x${text.replaceAll('*', '')}` : text);

/** Matches in linear time, unlike a regular expression with several `.*`: each part is found where it comes first. */
export function matchesPattern(pattern: string, id: string): boolean {
  const [start = '', ...parts] = pattern.split('*');
  const end = parts.pop();
  if (end === undefined) return id === pattern;
  if (!id.startsWith(start)) return false;
  let from = start.length;
  for (const part of parts) {
    const at = id.indexOf(part, from);
    if (at < 0) return false;
    from = at + part.length;
  }
  return id.endsWith(end) && id.length - end.length >= from;
}

export type FleetSelection = {
  /** The fleets that are always served, in the order in which they were given. A missing log is created. */
  readonly names: readonly string[];
  /** `team-*`: the fleets whose logs exist. */
  readonly patterns: readonly string[];
};

/** Shard `index`, from 1, of `count`. */
export type Shard = { readonly index: number; readonly count: number };

/** Each has its stream, its fold and its consumer: what one process holds is measured in docs/operations/capacity.md. */
const namesMax = 1_000;

/** `a,b,team-*`. Undefined: it is no such list. */
export function readFleetSelection(text: string): FleetSelection | undefined {
  const given = [...new Set(text.split(',').map((part) => part.trim()))];
  if (given.length > namesMax || !given.every(isIdOrPattern)) return undefined;
  return { names: given.filter((each) => !isPattern(each)), patterns: given.filter(isPattern) };
}
export const fleetSelectionFault = `is not a list of fleets or patterns, such as a,b,team-* (${namesMax} at most)`;

/** `2/8`. Undefined: it is none. */
export function readShard(text: string): Shard | undefined {
  const [, index = '', count = ''] = /^(\d{1,4})\/(\d{1,4})$/.exec(text) ?? [];
  const shard = { index: Number(index), count: Number(count) };
  return shard.index >= 1 && shard.index <= shard.count ? shard : undefined;
}
export const shardFault = 'is not K/N with K from 1 to N, such as 2/8';

/** Tells whether one of the patterns means this fleet. */
export const matchesSelection = ({ patterns }: FleetSelection, fleet: string): boolean =>
  patterns.some((pattern) => matchesPattern(pattern, fleet));

/**
 * The shard of a fleet, from 1: the one whose hash with the fleet's name is highest (rendezvous hashing). Where a shard
 * is added, only the fleets that it gets move.
 */
export function shardOf(fleet: string, count: number): number {
  let [shard, highest] = [1, -1];
  for (let index = 1; index <= count; index += 1) {
    const weight = hashOf(`${index} ${fleet}`);
    if (weight > highest) [shard, highest] = [index, weight];
  }
  return shard;
}

/** Tells whether a fleet is in this shard. Without shards every fleet is. */
export const isInShard = (shard: Shard | null, fleet: string): boolean =>
  shard === null || shardOf(fleet, shard.count) === shard.index;
