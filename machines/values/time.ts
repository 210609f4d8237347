/**
 * Converts times on the wire, which are ISO 8601 in UTC (docs/protocol.md §1), to and from milliseconds since 1970.
 * Implemented here because `machines/` may not use `Date`: a fold must have no access to a clock.
 */

const shape = /^(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)?(?:Z|\+00:00)$/;
const dayMs = 86_400_000;

/** Returns milliseconds, cutting off finer fractions, or null if the text is not a valid time. */
export function parseIsoTime(text: string): number | null {
  const match = shape.exec(text);
  if (match === null) return null;
  const [year, month, day, hour, minute, second] = match.slice(1, 7).map((part) => Number(part ?? '0')) as Six;
  if (month < 1 || month > 12 || day < 1 || day > daysIn(year, month)) return null;
  if (hour > 23 || minute > 59 || second > 59) return null;
  const fraction = Number((match[7] ?? '').padEnd(3, '0').slice(0, 3));
  return daysSinceEpoch(year, month, day) * dayMs + hour * 3_600_000 + minute * 60_000 + second * 1_000 + fraction;
}

/** Formats as `2026-03-02T12:00:00.000Z`. `atMs` must be whole milliseconds, not before year 0. */
export function formatIsoTime(atMs: number): string {
  const days = Math.floor(atMs / dayMs);
  const inDay = atMs - days * dayMs;
  const [year, month, day] = civilDate(days);
  const date = `${pad(year, 4)}-${pad(month, 2)}-${pad(day, 2)}`;
  const minutes = `${pad(Math.floor(inDay / 3_600_000), 2)}:${pad(Math.floor(inDay / 60_000) % 60, 2)}`;
  return `${date}T${minutes}:${pad(Math.floor(inDay / 1_000) % 60, 2)}.${pad(inDay % 1_000, 3)}Z`;
}

type Six = [number, number, number, number, number, number];
const pad = (value: number, width: number) => String(value).padStart(width, '0');
const isLeap = (year: number) => (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0;
const monthDays = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
const daysIn = (year: number, month: number) => (month === 2 && isLeap(year) ? 29 : (monthDays[month - 1] ?? 0));

// Days from a civil date and back, in eras of 400 years. Years begin on the first of March, so that a leap day is last.
function daysSinceEpoch(year: number, month: number, day: number): number {
  const shifted = month <= 2 ? year - 1 : year;
  const era = Math.floor(shifted / 400);
  const yearOfEra = shifted - era * 400;
  const dayOfYear = Math.floor((153 * (month + (month > 2 ? -3 : 9)) + 2) / 5) + day - 1;
  return (
    era * 146_097 + yearOfEra * 365 + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100) + dayOfYear - 719_468
  );
}

function civilDate(days: number): [number, number, number] {
  const shifted = days + 719_468;
  const era = Math.floor(shifted / 146_097);
  const dayOfEra = shifted - era * 146_097;
  const yearOfEra = Math.floor(
    (dayOfEra - Math.floor(dayOfEra / 1_460) + Math.floor(dayOfEra / 36_524) - Math.floor(dayOfEra / 146_096)) / 365,
  );
  const dayOfYear = dayOfEra - (365 * yearOfEra + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100));
  const shiftedMonth = Math.floor((5 * dayOfYear + 2) / 153);
  const month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9;
  const year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0);
  return [year, month, dayOfYear - Math.floor((153 * shiftedMonth + 2) / 5) + 1];
}

// Durations in configurations: `250ms`, `50s`, `10m`, `2h`, `7d`, or a number of milliseconds (docs/protocol.md §1).

const unitMs = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** 100 years. Added to any time of the log, the result still fits in a date. */
export const durationMsMax = 36_525 * unitMs.d;

export const durationPattern = /^\d{1,12}(\.\d{1,3})?(ms|s|m|h|d)$/;

/** Parses the written form to whole milliseconds; null if the text is not a duration. */
export function parseDuration(text: string): number | null {
  if (!durationPattern.test(text)) return null;
  const unit = /[a-z]+$/.exec(text)?.[0] as keyof typeof unitMs;
  return Math.round(Number.parseFloat(text) * unitMs[unit]);
}

/** Formats a duration for people, with at most two units: `1h 5m`, `1m 30s`, `250ms`, `0s`. */
export function formatDuration(ms: number): string {
  if (ms < 1_000) return ms === 0 ? '0s' : `${ms}ms`;
  const seconds = Math.round(ms / 1_000);
  const hours = Math.floor(seconds / 3_600);
  const minutes = Math.floor((seconds % 3_600) / 60);
  const rest = seconds % 60;
  if (hours > 0) return minutes > 0 ? `${hours}h ${minutes}m` : `${hours}h`;
  if (minutes > 0) return rest > 0 ? `${minutes}m ${rest}s` : `${minutes}m`;
  return `${rest}s`;
}
