/**
 * Recognises usage limits in agents' messages and reads when they end. Messages change between versions; if no end time
 * is recognised, the limit holds until the agent works again.
 */
import type { EntryDraft } from './entry-drafts.ts';

/** The entry for a limit that the agent reports now, with this message. */
export function draftLimit(words: string | undefined, nowMs = Date.now()): EntryDraft {
  const until = limitEndIn(words ?? '', nowMs);
  return { type: 'limit.reached', data: until === null ? {} : { until } };
}

/** True if a message reports a usage limit. An unrecognised limit counts as an ordinary failure. */
export const mentionsLimit = (words: string): boolean =>
  limitWords.test(words.slice(0, wordsLengthMax).replaceAll(sizeLimit, ''));
/** Size limits, which waiting does not lift: `context length limit exceeded`, `prompt is too long: token limit`. */
const sizeLimit =
  /\b(?:context(?:[ _-](?:length|window|size))?|prompt(?: is too long\W{0,3})?|(?:max_?)?(?:output|input)[ _-]tokens?|(?:file |line )?(?:length|size))[ _-]?(?:token[ _-]?)?limit(?:s|ed)?\b(?: (?:reached|exceeded)\b)?/gi;
const limitWords = new RegExp(
  [
    // `weekly limit`, `rate_limit_error`, `usageLimitExceeded`
    String.raw`\b(?:usage|rate|session|weekly|daily|monthly|5-hour|request|token|spend|credit)[ _-]?limit(?:s|ed)?(?:[ _-]?(?:error|reached|exceeded))?\b`,
    String.raw`\blimit (?:reached|exceeded)\b`,
    // `You've hit your limit`, `You've hit your Opus limit`
    String.raw`\b(?:hit|reached|exceeded) your (?!\S*(?:turn|step|context|token))(?:[\w.'-]+ ){0,3}limit\b`,
    String.raw`\bout of (?:[a-z]+ )?(?:usage|credits|messages)\b`,
    String.raw`\b(?:insufficient_)?quota\b`,
    String.raw`\bexhausted your capacity\b`,
    String.raw`\b(?:too many requests|resource[ _]exhausted)\b`,
    String.raw`(?:^|[^\d.:])429(?![\d.:])`,
  ].join('|'),
  'i',
);

/** No provider has a longer limit, so a later time is a misreading. */
export const limitMsMax = 31 * 24 * 60 * 60 * 1_000;
/** Only this much of a message is read. No agent's error is longer. */
const wordsLengthMax = 4_000;

/** The end as ISO 8601. Null if the message names no time within the next 31 days. */
export function limitEndIn(words: string, nowMs: number): string | null {
  const text = words.slice(0, wordsLengthMax);
  for (const read of [epochIn, fieldIn, instantIn, waitIn, clockTimeIn]) {
    const end = toLimitEnd(read(text, nowMs), nowMs);
    if (end !== null) return end;
  }
  return null;
}

/** `endMs` as ISO 8601. Null if it is not within the next 31 days. */
export const toLimitEnd = (endMs: number | null, nowMs: number): string | null =>
  endMs !== null && endMs > nowMs && endMs - nowMs <= limitMsMax ? new Date(endMs).toISOString() : null;

/** `Claude AI usage limit reached|1767225600`: seconds since the epoch. */
function epochIn(text: string): number | null {
  const seconds = /\blimit reached\|(\d{10})\b/i.exec(text)?.[1];
  return seconds === undefined ? null : Number(seconds) * 1_000;
}

/** Seconds from now: `"resets_in_seconds": 3600`, `Retry-After: 120`. */
const secondsField =
  /["']?\b(resets?[_-]?in[_-]?seconds|retry[_-]?after(?:[_-]?seconds)?)["']?\s*[:=]\s*["']?(\d{1,7}(?:\.\d{1,9})?)["']?(?![\w:/-])/i;
const millisecondsField = /["']?\b(?:retry[_-]?after[_-]?ms|resets?[_-]?in[_-]?ms)["']?\s*[:=]\s*["']?(\d{1,10})\b/i;
/** Seconds since the epoch: `"resets_at": 1767225600`. */
const instantField = /["']?\b(?:resets?[_-]?at|reset[_-]?time)["']?\s*[:=]\s*["']?(\d{10})(\d{3})?\b/i;
/** `Retry-After: Wed, 21 Oct 2026 07:28:00 GMT`. */
const dateField =
  /\bretry-after["']?\s*[:=]\s*["']?((?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT)/i;

function fieldIn(text: string, nowMs: number): number | null {
  const milliseconds = millisecondsField.exec(text)?.[1];
  if (milliseconds !== undefined) return nowMs + Number(milliseconds);
  const seconds = secondsField.exec(text)?.[2];
  if (seconds !== undefined) return nowMs + Math.ceil(Number(seconds) * 1_000);
  const instant = instantField.exec(text);
  if (instant !== null) return Number(`${instant[1]}${instant[2] ?? '000'}`);
  const date = dateField.exec(text)?.[1];
  return date === undefined ? null : Date.parse(date);
}

/** Words that introduce the end of a limit. */
const ends = String.raw`\b(?:try again|retry|resets?|reset|resetting|available again|available|renews?|refresh(?:es)?|until)`;
/** ISO 8601 with its zone: `resets at 2026-10-09T17:30:00Z`, `until 2026-10-09 17:30+02:00`. */
const instant = new RegExp(
  String.raw`${ends}[^\n]{0,20}?\b(\d{4}-\d{2}-\d{2})[T ](\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?) ?(Z|UTC|[+-]\d{2}:?\d{2})`,
  'i',
);

function instantIn(text: string): number | null {
  const [, date, time = '', zone = ''] = instant.exec(text) ?? [];
  if (date === undefined) return null;
  const offset = /^(?:Z|UTC)$/i.test(zone) ? 'Z' : zone.replace(/^([+-]\d{2}):?(\d{2})$/, '$1:$2');
  const endMs = Date.parse(`${date}T${time}${offset}`);
  return Number.isNaN(endMs) ? null : endMs;
}

const part = String.raw`\d{1,6}(?:\.\d{1,9})?\s?(?:days?|d|hours?|hrs?|h|milliseconds?|ms|minutes?|mins?|m|seconds?|secs?|s)`;
/** `try again in 3 days 4 hours 5 minutes`, `reset after 2h34m12s`, `retry in 35.1s`, `resets in about 5 minutes`. */
const wait = new RegExp(
  String.raw`\b(?:try again|retry|retrying|resets?|available again|available|come back) (?:in|after):? (?:about |approximately |around |roughly |~ ?)?((?:${part}(?:,? (?:and )?)?){1,5})(?![a-z\d])`,
  'i',
);
/** `RetryInfo` of Google's APIs, as agents print it. */
const retryDelay = /"retryDelay":\s?"(\d{1,7}(?:\.\d{1,9})?s)"/;

function waitIn(text: string, nowMs: number): number | null {
  const found = retryDelay.exec(text)?.[1] ?? wait.exec(text)?.[1];
  if (found === undefined) return null;
  const parts = [...found.matchAll(/(\d+(?:\.\d+)?)\s?([a-z]+)/gi)].filter(([, , unit]) => unit !== 'and');
  return nowMs + Math.ceil(parts.reduce((sum, [, count, unit = '']) => sum + Number(count) * unitMs(unit), 0));
}

function unitMs(unit: string): number {
  const name = unit.toLowerCase();
  if (name === 'ms' || name.startsWith('milli')) return 1;
  return { d: 86_400_000, h: 3_600_000, m: 60_000, s: 1_000 }[name[0] as 'd' | 'h' | 'm' | 's'];
}

/**
 * A time of day, optionally with a day: `resets 3am (Europe/Berlin)`, `will reset at 15:00 (UTC)`,
 * `Resets Dec 2, 10:59am (UTC)`, `resets Monday at 9am (UTC)`, `try again tomorrow at 9:00 UTC`. The zone is required,
 * because the agent's own zone is unknown.
 */
const day = String.raw`(?:(today|tomorrow)|(?:on )?(?:next )?(mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?|(?:on )?(?:([a-z]{3,9})\.? (\d{1,2})|(\d{1,2})\.? ([a-z]{3,9}))(?:st|nd|rd|th)?(?:,? (\d{4}))?)`;
const time = String.raw`(\d{1,2})(?::(\d{2})(?::\d{2})?)? ?(?:([ap])\.?m\.?)?`;
const zone = String.raw`(?:\(([A-Za-z0-9_+/-]{1,64})\)|\b(UTC|GMT|Z)\b)`;
const clockTime = new RegExp(`${ends}:? (?:at )?(?:${day}(?:,| at)* ?(?:at )?)?${time} ?${zone}`, 'i');
const months = 'jan feb mar apr may jun jul aug sep oct nov dec'.split(' ');
const weekdays = 'sun mon tue wed thu fri sat'.split(' ');

function clockTimeIn(text: string, nowMs: number): number | null {
  const found = clockTime.exec(text);
  if (found === null) return null;
  const [, relative, weekday, monthBefore, dayBehind, dayBefore, monthBehind, year, hour, minute, half, named, utc] =
    found;
  const hours = hoursOf(Number(hour), minute, half?.toLowerCase());
  const timeZone = named ?? (utc === undefined ? '' : 'UTC');
  const offsetMs = offsetOf(timeZone, nowMs);
  if (hours === null || Number(minute ?? 0) > 59 || offsetMs === null) return null;
  const local = new Date(nowMs + offsetMs);
  const at = (inYear: number, month: number, date: number) => {
    const localMs = Date.UTC(inYear, month, date, hours, Number(minute ?? 0));
    // The offset may differ at that time (daylight saving).
    return localMs - (offsetOf(timeZone, localMs - offsetMs) ?? offsetMs);
  };
  const [thisYear, thisMonth, today] = [local.getUTCFullYear(), local.getUTCMonth(), local.getUTCDate()];
  const monthName = monthBefore ?? monthBehind;
  if (monthName !== undefined) {
    const month = months.indexOf(monthName.slice(0, 3).toLowerCase());
    const date = Number(dayBehind ?? dayBefore);
    if (month < 0 || date < 1 || date > 31) return null;
    if (year !== undefined) return at(Number(year), month, date);
    return at(thisYear, month, date) > nowMs ? at(thisYear, month, date) : at(thisYear + 1, month, date);
  }
  if (relative !== undefined) return at(thisYear, thisMonth, today + (relative.toLowerCase() === 'tomorrow' ? 1 : 0));
  const days =
    weekday === undefined ? 0 : (weekdays.indexOf(weekday.slice(0, 3).toLowerCase()) - local.getUTCDay() + 7) % 7;
  const next = at(thisYear, thisMonth, today + days);
  return next > nowMs ? next : at(thisYear, thisMonth, today + days + (weekday === undefined ? 1 : 7));
}

/** Without `am` or `pm` the minutes are required: a bare number might mean anything. */
function hoursOf(hour: number, minute: string | undefined, half: string | undefined): number | null {
  if (half === undefined) return minute === undefined || hour > 23 ? null : hour;
  return hour < 1 || hour > 12 ? null : (hour % 12) + (half === 'p' ? 12 : 0);
}

/** Returns the offset of a time zone from UTC in milliseconds, positive in the east. Null for an unknown zone. */
function offsetOf(timeZone: string, atMs: number): number | null {
  if (timeZone === '') return null;
  try {
    const names = ['year', 'month', 'day', 'hour', 'minute', 'second'] as const;
    const format = new Intl.DateTimeFormat('en-US', {
      timeZone,
      hourCycle: 'h23',
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
      second: 'numeric',
    });
    const parts = new Map(format.formatToParts(atMs).map(({ type, value }) => [type, Number(value)]));
    const [year = 0, month = 1, date = 1, hour = 0, minute = 0, second = 0] = names.map((name) => parts.get(name));
    return Date.UTC(year, month - 1, date, hour, minute, second) - Math.floor(atMs / 1_000) * 1_000;
  } catch {
    return null;
  }
}
