/** Formats durations, times and numbers for people. */

/** `2h 5m`, `4m 10s`, `12s`: at most two units. */
export function duration(ms: number): string {
  const sign = ms < 0 ? '-' : '';
  const seconds = Math.floor(Math.abs(ms) / 1_000);
  if (seconds < 60) return `${sign}${seconds}s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${sign}${minutes}m${seconds % 60 === 0 ? '' : ` ${seconds % 60}s`}`;
  const hours = Math.floor(minutes / 60);
  if (hours < 48) return `${sign}${hours}h${minutes % 60 === 0 ? '' : ` ${minutes % 60}m`}`;
  return `${sign}${Math.floor(hours / 24)}d${hours % 24 === 0 ? '' : ` ${hours % 24}h`}`;
}

/** `2h`, `4m`, `12s`: one unit, for table columns. */
export const age = (ms: number): string => duration(ms).split(' ')[0] ?? '';

export const ago = (thenMs: number, nowMs: number): string =>
  nowMs - thenMs < 1_000 ? 'just now' : `${duration(nowMs - thenMs)} ago`;

export const millis = (ms: number): string =>
  ms < 10 ? `${ms.toFixed(1)} ms` : ms < 1_000 ? `${Math.round(ms)} ms` : `${(ms / 1_000).toFixed(1)} s`;

export const count = (number: number): string => number.toLocaleString('en');

/** `940`, `1.7k`, `12k`, `3.4M`. */
export const compact = (number: number): string =>
  number < 1_000
    ? String(Math.round(number))
    : number < 999_500
      ? `${(number / 1_000).toFixed(number < 9_950 ? 1 : 0)}k`
      : `${(number / 1e6).toFixed(number < 9.95e6 ? 1 : 0)}M`;

/** `940 B`, `1.7 KiB`, `34 MiB`. */
export function bytes(number: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  const power = number < 1 ? 0 : Math.min(units.length - 1, Math.floor(Math.log2(number) / 10));
  const value = number / 1_024 ** power;
  return `${power === 0 || value >= 9.95 ? Math.round(value) : value.toFixed(1)} ${units[power]}`;
}

const cents = { minimumFractionDigits: 2, maximumFractionDigits: 2 };

/** `$1.25`, or with more digits below one cent: `$0.0004`. */
export const dollars = (usd: number): string =>
  usd === 0 || usd >= 0.01 ? `$${usd.toLocaleString('en', cents)}` : usd < 0.0001 ? '<$0.0001' : `$${usd.toFixed(4)}`;

/** Formats usage as dollars if they are known, otherwise as tokens. */
export const cost = ({ usd, tokens }: { readonly usd: number; readonly tokens: number }): string =>
  usd > 0 ? dollars(usd) : `${compact(tokens)} tokens`;

/** What an agent reported of its usage. Most agents report tokens without dollars. Null if nothing was reported. */
export function usedText({ usd, tokens }: { readonly usd: number; readonly tokens: number }): string | null {
  if (usd === 0 && tokens === 0) return null;
  const parts = [...(usd > 0 ? [dollars(usd)] : []), ...(tokens > 0 ? [plural(tokens, 'token')] : [])];
  return parts.join(', ');
}

/**
 * Leaves out of a sentence about a worker or task what stands beside it: its name.
 * "Worker w1 fell silent while it held T-1" is "Fell silent while it held T-1" beside w1.
 */
export const withoutName = (sentence: string, id: string): string => {
  const suffix = ` while it held ${id}`;
  if (sentence.endsWith(suffix)) return sentence.slice(0, -suffix.length);
  const prefix = `Worker ${id} `;
  if (!sentence.startsWith(prefix)) return sentence;
  const rest = sentence.slice(prefix.length);
  return rest.charAt(0).toUpperCase() + rest.slice(1);
};

export const plural = (number: number, one: string, many = `${one}s`): string =>
  `${count(number)} ${number === 1 ? one : many}`;

const pad = (number: number) => String(number).padStart(2, '0');

/** In the reader's own time zone. */
export function time(ms: number): string {
  const local = new Date(ms);
  return `${pad(local.getHours())}:${pad(local.getMinutes())}:${pad(local.getSeconds())}`;
}

export function date(ms: number): string {
  const local = new Date(ms);
  return `${local.getFullYear()}-${pad(local.getMonth() + 1)}-${pad(local.getDate())}`;
}

/** Without the time zone, in the format that can be typed. */
export const localTime = (ms: number): string => `${date(ms)} ${time(ms)}`;

export const dateTime = (ms: number): string => `${localTime(ms)} ${zone(ms)}`;

const instant = /\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?Z/g;

/** Converts the times in a text of the service to the reader's time zone, which is named. */
export const inLocalTime = (text: string): string => text.replace(instant, (iso) => dateTime(Date.parse(iso)));

/** The reader's time zone at that time: `UTC`, `UTC+1`, `UTC+5:30`. */
export function zone(ms: number): string {
  const minutes = -new Date(ms).getTimezoneOffset();
  const [hours, rest] = [Math.floor(Math.abs(minutes) / 60), Math.abs(minutes) % 60];
  return minutes === 0 ? 'UTC' : `UTC${minutes < 0 ? '-' : '+'}${hours}${rest === 0 ? '' : `:${pad(rest)}`}`;
}
