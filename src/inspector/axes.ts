/** The time axis of the log, which maps between pixels, times and entries, and the value axis of a chart. Pure. */
import type { OutlineBucket } from './messages.ts';

/** A log entry and the time it was stored. */
export type Anchor = { readonly seq: number; readonly ms: number };
export type Axis = {
  readonly width: number;
  readonly fromMs: number;
  readonly toMs: number;
  /** Pixels from the left. */
  x(ms: number): number;
  xOf(seq: number): number;
  /** The newest entry at this position. */
  seqAt(x: number): number;
};
/** The longest period without an entry in a part of the log that ends with entry `toSeq`. */
type Silence = Pick<OutlineBucket, 'silentFromMs' | 'silentToMs' | 'toSeq'>;
export type Gap = { readonly fromMs: number; readonly toMs: number; readonly seq: number };

/** @param anchors in log order, at least two */
export function createAxis(anchors: readonly Anchor[], fromMs: number, toMs: number, width: number): Axis {
  const span = Math.max(1, toMs - fromMs);
  const x = (ms: number) => ((ms - fromMs) / span) * width;
  return {
    width,
    fromMs,
    toMs,
    x,
    xOf: (seq) => x(timeOf(anchors, seq)),
    seqAt: (px) => Math.floor(interpolate(anchors, fromMs + (px / width) * span, 'ms', 'seq')),
  };
}

/** Returns the time of an entry, interpolated between anchors. */
export const timeOf = (anchors: readonly Anchor[], seq: number): number => interpolate(anchors, seq, 'seq', 'ms');

function interpolate(anchors: readonly Anchor[], value: number, by: keyof Anchor, to: keyof Anchor): number {
  const after = anchors.findIndex((anchor) => anchor[by] > value);
  const right = anchors[after];
  const left = after < 0 ? anchors.at(-1) : anchors[after - 1];
  if (left === undefined) return right?.[to] ?? 0;
  if (right === undefined) return left[to];
  return left[to] + ((value - left[by]) / (right[by] - left[by])) * (right[to] - left[to]);
}

/** Anchors at both ends of every bucket and of the log. */
export function anchorsOf(buckets: readonly OutlineBucket[], first: Anchor, last: Anchor): Anchor[] {
  const inner = buckets.flatMap((bucket) => [
    { seq: bucket.fromSeq, ms: bucket.fromMs },
    { seq: bucket.toSeq, ms: bucket.toMs },
  ]);
  return [first, ...inner.filter((anchor) => anchor.seq > first.seq && anchor.seq < last.seq), last];
}

/** Returns the silence since the newest entry, or null if the buckets do not include that entry yet. */
export function silenceUntil(nowMs: number, buckets: readonly OutlineBucket[], newestSeq: number): Silence | null {
  const last = buckets.at(-1);
  if (last === undefined || last.toSeq < newestSeq) return null;
  return { silentFromMs: last.toMs, silentToMs: nowMs, toSeq: last.toSeq + 1 };
}

/** Finds the gaps of at least `leastMs` without an entry. Only the longest gap within a bucket is known. */
export function gapsIn(buckets: readonly Silence[], leastMs: number): Gap[] {
  return buckets
    .filter((bucket) => bucket.silentToMs - bucket.silentFromMs >= leastMs)
    .map((bucket) => ({ fromMs: bucket.silentFromMs, toMs: bucket.silentToMs, seq: bucket.toSeq }));
}

const [second, minute, hour, day] = [1_000, 60_000, 3_600_000, 86_400_000];
const times = (unit: number, counts: readonly number[]): readonly number[] => counts.map((count) => count * unit);
/** Round steps of time, for both kinds of axis: a quarter of an hour is round, 20 seconds are not. */
const roundSteps = [
  times(1, [1, 2, 5, 10, 20, 50, 100, 200, 500]),
  times(second, [1, 2, 5, 10, 15, 30]),
  times(minute, [1, 2, 5, 10, 15, 30]),
  times(hour, [1, 2]),
].flat();
/** Beyond two hours, the time axis follows the day, and durations count hours in decimal steps. */
const stepsOfLog = [...roundSteps, ...times(hour, [3, 6, 12]), ...times(day, [1, 2, 7, 28, 91, 364])];
const stepsOfDurations = [...roundSteps, ...times(hour, [5, 10, 20])];
const labelWidth = 84;
/** The first Monday after the epoch. */
const firstMonday = 4 * day;

/** Returns the labels of the time axis, at round times in the reader's time zone. Weeks begin on Mondays. */
export function ticksOf({ fromMs, toMs, width }: Axis): { readonly ms: number; readonly text: string }[] {
  const most = Math.max(1, Math.floor(width / labelWidth));
  const step = stepsOfLog.find((width) => (toMs - fromMs) / width <= most) ?? (stepsOfLog.at(-1) as number);
  const offset = clockOffset(fromMs) + (step >= 7 * day ? firstMonday : 0);
  const ticks: { ms: number; text: string }[] = [];
  for (let tickMs = Math.ceil((fromMs - offset) / step) * step + offset; tickMs <= toMs + hour; tickMs += step) {
    const ms = step > hour ? tickMs + clockChange(fromMs, tickMs) : tickMs;
    if (ms >= fromMs && ms <= toMs) ticks.push({ ms, text: tickText(ms, step) });
  }
  return ticks;
}

/** Milliseconds to add to the reader's local time to get UTC. Changes with daylight saving time. */
const clockOffset = (ms: number): number => new Date(ms).getTimezoneOffset() * minute;

/**
 * Correction for a tick at `atMs` if daylight saving time changed since `fromMs`, so that the tick keeps its local
 * time. Returns 0 if that local time does not exist.
 */
function clockChange(fromMs: number, atMs: number): number {
  const change = clockOffset(atMs) - clockOffset(fromMs);
  return clockOffset(atMs + change) - clockOffset(fromMs) === change ? change : 0;
}

const pad = (number: number, width = 2) => String(number).padStart(width, '0');

function tickText(ms: number, step: number): string {
  const local = new Date(ms);
  const date = `${pad(local.getMonth() + 1)}-${pad(local.getDate())}`;
  if (step >= day) return date;
  const time = `${pad(local.getHours())}:${pad(local.getMinutes())}`;
  if (local.getHours() === 0 && local.getMinutes() === 0 && local.getSeconds() === 0 && step >= minute) return date;
  if (step >= minute) return time;
  const seconds = `${time}:${pad(local.getSeconds())}`;
  return step >= second ? seconds : `${seconds.slice(3)}.${pad(local.getMilliseconds(), 3)}`;
}

/** The unit of a value axis. `ms` is a duration. */
export type ValueUnit = 'count' | 'ms' | 'usd';
export type ValueAxis = {
  /** The value at the top of the chart: the last tick. */
  readonly top: number;
  readonly ticks: readonly { readonly value: number; readonly text: string }[];
};

/** More labels would overlap beside a low chart. */
const stepsMax = 3;

/** @param highest the highest value. If 0, the axis has a single step. */
export function createValueAxis(highest: number, unit: ValueUnit): ValueAxis {
  const step = stepOf(Math.max(highest, 0), unit);
  const steps = Math.max(1, Math.ceil(highest / step - 1e-9));
  const write = writerOf(step, unit);
  const ticks = Array.from({ length: steps + 1 }, (_, index) => ({ value: index * step, text: write(index * step) }));
  return { top: steps * step, ticks };
}

function stepOf(highest: number, unit: ValueUnit): number {
  if (highest === 0) return unit === 'ms' ? second : 1;
  const least = highest / stepsMax;
  if (unit === 'ms') return stepsOfDurations.find((ms) => ms >= least) ?? roundUp(least / hour) * hour;
  // Counts have no fractions.
  return Math.max(unit === 'count' ? 1 : 0, roundUp(least));
}

/** Rounds up to 1, 2 or 5 times a power of ten. */
function roundUp(value: number): number {
  const power = 10 ** Math.floor(Math.log10(value));
  return power * ([1, 2, 5].find((factor) => factor * power >= value * (1 - 1e-9)) ?? 10);
}

function writerOf(step: number, unit: ValueUnit): (value: number) => string {
  if (unit === 'ms') {
    const [ms, name] = unitOfTime(step);
    return (value) => (value === 0 ? '0' : `${value / ms} ${name}`);
  }
  if (unit === 'usd') {
    const digits = step >= 1 ? 0 : Math.max(2, -Math.floor(Math.log10(step) + 1e-9));
    return (value) => (value === 0 ? '$0' : `$${short(value, digits)}`);
  }
  return (value) => short(value, 0);
}

const unitOfTime = (ms: number): readonly [ms: number, name: string] =>
  ms < second ? [1, 'ms'] : ms < minute ? [second, 's'] : ms < hour ? [minute, 'min'] : [hour, 'h'];

const short = (value: number, digits: number): string =>
  value >= 1e6 ? `${round(value / 1e6)}M` : value >= 1e4 ? `${round(value / 1e3)}k` : value.toFixed(digits);

const round = (value: number): number => Math.round(value * 10) / 10;

/** Returns a formatter that writes all durations in the unit of the longest one, and the unit's name. */
export function createDurationWriter(all: readonly number[]): { readonly unit: string; write(ms: number): string } {
  const longest = Math.max(0, ...all);
  // Below ten minutes, seconds are easier to read than fractions of minutes.
  const [ms, unit] = longest >= 10 * minute ? unitOfTime(longest) : longest < second ? [1, 'ms'] : [second, 's'];
  return { unit, write: (value) => (value / ms).toFixed(longest / ms < 100 ? 1 : 0) };
}
