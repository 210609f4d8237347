/**
 * The search text of the entries view. Words such as `type:…` filter by that field; all others are searched as text.
 */
import { parseTarget } from '../time-travel/travel-target.ts';

const names = ['type', 'worker', 'task', 'check', 'outcome', 'guard', 'from', 'to'] as const;
type Name = (typeof names)[number];
/** Times in milliseconds since 1970. */
export type Filter = Readonly<Record<Exclude<Name, 'from' | 'to'> | 'text', string | null>> & {
  readonly from: number | null;
  readonly to: number | null;
};

const nameOf = (word: string): Name | undefined => names.find((name) => word.startsWith(`${name}:`));
const split = (text: string): string[] => text.split(/\s+/).filter((word) => word !== '');

/** @param nowMs by the log's clock */
export function readFilter(q: string, nowMs: number): Filter {
  const words = split(q);
  const given = (name: Name): string | null =>
    words.findLast((word) => nameOf(word) === name)?.slice(name.length + 1) || null;
  const text = words.filter((word) => nameOf(word) === undefined).join(' ');
  const timeOf = (name: 'from' | 'to') => {
    const place = parseTarget(given(name) ?? '', nowMs);
    return place !== null && 'ms' in place ? place.ms : null;
  };
  return {
    type: given('type'),
    worker: given('worker'),
    task: given('task'),
    check: given('check'),
    outcome: given('outcome'),
    guard: given('guard'),
    text: text === '' ? null : text,
    from: timeOf('from'),
    to: timeOf('to'),
  };
}

/** Replaces a filter in the search text. An empty value removes it. */
export const withWord = (q: string, name: Name, value: string): string =>
  [...split(q).filter((word) => nameOf(word) !== name), ...(value === '' ? [] : [`${name}:${value}`])].join(' ');

/** The search text for entries stored from `fromMs` to `toMs` (exclusive). */
export function textOfRange(fromMs: number, toMs: number, words: string): string {
  const [from, to] = [fromMs, toMs].map((ms) => new Date(ms).toISOString().replace('.000Z', 'Z'));
  return [words, `from:${from}`, `to:${to}`].filter((word) => word !== '').join(' ');
}

/** The filter as query parameters. */
export const toQuery = (filter: Filter): string =>
  Object.entries(filter)
    .map(([name, value]) => (value === null ? '' : `&${name}=${encodeURIComponent(value)}`))
    .join('');
