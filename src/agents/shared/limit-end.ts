/**
 * When a usage limit ends, where an agent says so in its words. Agents change their words, so what is not surely a time is
 * none: then the limit holds until the agent works again.
 */
import type { EntryDraft } from './entry-drafts.ts';

/** A limit that an agent has reported with these words, now. */
export function draftLimit(words: string | undefined, nowMs = Date.now()): EntryDraft {
  const until = limitEndIn(words ?? '', nowMs);
  return { type: 'limit.reached', data: until === null ? {} : { until } };
}

/** Longer limits than a month's are not known of any provider: such a time is a misreading. */
const limitMsMax = 31 * 24 * 60 * 60 * 1_000;
/** Longer than any error of an agent; what comes behind is not read. */
const wordsLengthMax = 4_000;

/** ISO 8601; null: the words do not say, or name no time in the month that comes. */
export function limitEndIn(words: string, nowMs: number): string | null {
  const text = words.slice(0, wordsLengthMax);
  const endMs = epochIn(text) ?? waitIn(text, nowMs) ?? clockTimeIn(text, nowMs);
  return toEnd(endMs, nowMs);
}

/** `endMs` as a limit's end, if it can be one. */
export const toEnd = (endMs: number | null, nowMs: number): string | null =>
  endMs !== null && endMs > nowMs && endMs - nowMs <= limitMsMax ? new Date(endMs).toISOString() : null;

/** `Claude AI usage limit reached|1767225600`: seconds since the epoch. */
function epochIn(text: string): number | null {
  const seconds = /\blimit reached\|(\d{10})\b/i.exec(text)?.[1];
  return seconds === undefined ? null : Number(seconds) * 1_000;
}

const part = String.raw`\d{1,6}(?:\.\d{1,9})?\s?(?:days?|d|hours?|hrs?|h|milliseconds?|ms|minutes?|mins?|m|seconds?|secs?|s)`;
/** `try again in 3 days 4 hours 5 minutes`, `reset after 2h34m12s`, `retry in 35.1s`. */
const wait = new RegExp(
  String.raw`\b(?:try again|retry|resets?|available again) (?:in|after):? ((?:${part}(?:,? (?:and )?)?){1,5})(?![a-z\d])`,
  'i',
);
/** `RetryInfo` of Google's APIs, as agents print it. */
const retryDelay = /"retryDelay":\s?"(\d{1,7}(?:\.\d{1,9})?s)"/;

function waitIn(text: string, nowMs: number): number | null {
  const found = retryDelay.exec(text)?.[1] ?? wait.exec(text)?.[1];
  if (found === undefined) return null;
  const parts = [...found.matchAll(/(\d+(?:\.\d+)?)\s?([a-z]+)/gi)];
  return nowMs + Math.ceil(parts.reduce((sum, [, count, unit = '']) => sum + Number(count) * unitMs(unit), 0));
}

function unitMs(unit: string): number {
  const name = unit.toLowerCase();
  if (name === 'ms' || name.startsWith('milli')) return 1;
  return { d: 86_400_000, h: 3_600_000, m: 60_000, s: 1_000 }[name[0] as 'd' | 'h' | 'm' | 's'];
}

/**
 * `resets 3am (Europe/Berlin)`, `resets Oct 9, 5:30pm (UTC)`: the next time at which it is that late there. Without the zone
 * nobody knows whose clock it is.
 */
const clockTime =
  /\bresets (?:at )?(?:([A-Z][a-z]{2}) (\d{1,2}),? (?:at )?)?(\d{1,2})(?::(\d{2}))? ?([ap])m \(([A-Za-z0-9_+/-]{1,64})\)/;
const months = 'Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec'.split(' ');

function clockTimeIn(text: string, nowMs: number): number | null {
  const [, month, day, hour = '', minute = '0', half, zone = ''] = clockTime.exec(text) ?? [];
  const hours = (Number(hour) % 12) + (half === 'p' ? 12 : 0);
  if (hour === '' || Number(hour) > 12 || Number(minute) > 59) return null;
  const offsetMs = offsetOf(zone, nowMs);
  if (offsetMs === null) return null;
  const local = new Date(nowMs + offsetMs);
  const monthIndex = month === undefined ? local.getUTCMonth() : months.indexOf(month);
  if (monthIndex < 0) return null;
  const at = (year: number, date: number) => {
    const localMs = Date.UTC(year, monthIndex, date, hours, Number(minute));
    // The clocks there may change until then.
    return localMs - (offsetOf(zone, localMs - offsetMs) ?? offsetMs);
  };
  const year = local.getUTCFullYear();
  if (day !== undefined) return at(year, Number(day)) > nowMs ? at(year, Number(day)) : at(year + 1, Number(day));
  const today = at(year, local.getUTCDate());
  return today > nowMs ? today : at(year, local.getUTCDate() + 1);
}

/** Returns how far the clocks of a time zone are ahead of UTC; null if there is no such zone. */
function offsetOf(timeZone: string, atMs: number): number | null {
  try {
    const names = ['year', 'month', 'day', 'hour', 'minute', 'second'] as const;
    const format = new Intl.DateTimeFormat('en-US', {
      ...{ timeZone, hourCycle: 'h23', year: 'numeric', month: 'numeric', day: 'numeric' },
      ...{ hour: 'numeric', minute: 'numeric', second: 'numeric' },
    });
    const parts = new Map(format.formatToParts(atMs).map(({ type, value }) => [type, Number(value)]));
    const [year = 0, month = 1, date = 1, hour = 0, minute = 0, second = 0] = names.map((name) => parts.get(name));
    return Date.UTC(year, month - 1, date, hour, minute, second) - Math.floor(atMs / 1_000) * 1_000;
  } catch {
    return null;
  }
}
