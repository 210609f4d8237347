/**
 * Two axes: the time axis of the log maps between a place on the screen, a time and an entry; the axis of values stands
 * beside a chart. Pure.
 */
import type { OutlineBucket } from './messages.ts';

/** An entry, and when it was stored. */
export type Anchor = { readonly seq: number; readonly ms: number };
export type Axis = {
  readonly width: number;
  readonly fromMs: number;
  readonly toMs: number;
  /** Pixels from the left. */
  x(ms: number): number;
  xOf(seq: number): number;
  /** The entry that was the newest at this place. */
  seqAt(x: number): number;
};
/** The longest time without an entry in a part of the log that ends with entry `toSeq`. */
type Silence = Pick<OutlineBucket, 'silentFromMs' | 'silentToMs' | 'toSeq'>;
export type Gap = { readonly fromMs: number; readonly toMs: number; readonly seq: number };

/** @param anchors in the log's order, two at least */
export function createAxis(anchors: readonly Anchor[], fromMs: number, toMs: number, width: number): Axis {
  const span = Math.max(1, toMs - fromMs);
  const x = (ms: number) => ((ms - fromMs) / span) * width;
  return {
    width,
    fromMs,
    toMs,
    x,
    xOf: (seq) => x(timeOf(anchors, seq)),
    seqAt: (at) => Math.floor(interpolate(anchors, fromMs + (at / width) * span, 'ms', 'seq')),
  };
}

/** Returns the time of an entry, a guess between two anchors. */
export const timeOf = (anchors: readonly Anchor[], seq: number): number => interpolate(anchors, seq, 'seq', 'ms');

function interpolate(anchors: readonly Anchor[], value: number, by: keyof Anchor, to: keyof Anchor): number {
  const after = anchors.findIndex((it) => it[by] > value);
  const right = anchors[after];
  const left = after < 0 ? anchors.at(-1) : anchors[after - 1];
  if (left === undefined) return right?.[to] ?? 0;
  if (right === undefined) return left[to];
  return left[to] + ((value - left[by]) / (right[by] - left[by])) * (right[to] - left[to]);
}

/** The ends of all buckets, between the ends of the log. */
export function anchorsOf(buckets: readonly OutlineBucket[], first: Anchor, last: Anchor): Anchor[] {
  const inner = buckets.flatMap((it) => [
    { seq: it.fromSeq, ms: it.fromMs },
    { seq: it.toSeq, ms: it.toMs },
  ]);
  return [first, ...inner.filter((it) => it.seq > first.seq && it.seq < last.seq), last];
}

/** Returns the silence since the newest entry. Null: what is read does not reach it. */
export function silenceUntil(nowMs: number, buckets: readonly OutlineBucket[], newestSeq: number): Silence | null {
  const last = buckets.at(-1);
  if (last === undefined || last.toSeq < newestSeq) return null;
  return { silentFromMs: last.toMs, silentToMs: nowMs, toSeq: last.toSeq + 1 };
}

/** Finds the gaps in which nothing was stored for `leastMs` at least. Within a bucket only the longest is known. */
export function gapsIn(buckets: readonly Silence[], leastMs: number): Gap[] {
  return buckets
    .filter((it) => it.silentToMs - it.silentFromMs >= leastMs)
    .map((it) => ({ fromMs: it.silentFromMs, toMs: it.silentToMs, seq: it.toSeq }));
}

const [second, minute, hour, day] = [1_000, 60_000, 3_600_000, 86_400_000];
const steps = [
  1,
  10,
  100,
  second,
  2 * second,
  5 * second,
  10 * second,
  30 * second,
  minute,
  2 * minute,
  5 * minute,
  10 * minute,
  15 * minute,
  30 * minute,
  hour,
  2 * hour,
  3 * hour,
  6 * hour,
  12 * hour,
  day,
  2 * day,
  7 * day,
  28 * day,
  91 * day,
  364 * day,
];
const labelWidth = 84;
/** The first Monday of 1970. */
const firstMonday = 4 * day;

/** Returns the times to write under the axis, at whole steps of the reader's own clock. Weeks begin on Mondays. */
export function ticksOf({ fromMs, toMs, width }: Axis): { readonly ms: number; readonly text: string }[] {
  const most = Math.max(1, Math.floor(width / labelWidth));
  const step = steps.find((it) => (toMs - fromMs) / it <= most) ?? (steps.at(-1) as number);
  const offset = clockOffset(fromMs) + (step >= 7 * day ? firstMonday : 0);
  const ticks: { ms: number; text: string }[] = [];
  for (let at = Math.ceil((fromMs - offset) / step) * step + offset; at <= toMs + hour; at += step) {
    const ms = step > hour ? at + clockChange(fromMs, at) : at;
    if (ms >= fromMs && ms <= toMs) ticks.push({ ms, text: tickText(ms, step) });
  }
  return ticks;
}

/** Returns what to add to the reader's own clock, which summer time changes, for UTC. */
const clockOffset = (ms: number): number => new Date(ms).getTimezoneOffset() * minute;

/**
 * Returns how much later the clock shows the time that it would show at `atMs` without a change to or from summer time;
 * 0 where that time is left out.
 */
function clockChange(fromMs: number, atMs: number): number {
  const change = clockOffset(atMs) - clockOffset(fromMs);
  return clockOffset(atMs + change) - clockOffset(fromMs) === change ? change : 0;
}

const pad = (number: number, width = 2) => String(number).padStart(width, '0');

function tickText(ms: number, step: number): string {
  const at = new Date(ms);
  const date = `${pad(at.getMonth() + 1)}-${pad(at.getDate())}`;
  if (step >= day) return date;
  const time = `${pad(at.getHours())}:${pad(at.getMinutes())}`;
  if (at.getHours() === 0 && at.getMinutes() === 0 && at.getSeconds() === 0 && step >= minute) return date;
  if (step >= minute) return time;
  const seconds = `${time}:${pad(at.getSeconds())}`;
  return step >= second ? seconds : `${seconds.slice(3)}.${pad(at.getMilliseconds(), 3)}`;
}

// The axis of values: round numbers from 0 up, few of them, all in one unit.

/** `ms`: a duration. */
export type ValueUnit = 'count' | 'ms' | 'usd';
export type ValueAxis = {
  /** The height of the chart: the last of the ticks. */
  readonly top: number;
  readonly ticks: readonly { readonly value: number; readonly text: string }[];
};

/** The steps of a clock: tens of seconds are not round, quarters of an hour are. */
const timeSteps = [
  1,
  2,
  5,
  10,
  20,
  50,
  100,
  200,
  500,
  second,
  2 * second,
  5 * second,
  10 * second,
  15 * second,
  30 * second,
  minute,
  2 * minute,
  5 * minute,
  10 * minute,
  15 * minute,
  30 * minute,
  hour,
  2 * hour,
  5 * hour,
  10 * hour,
  20 * hour,
];
/** More labels than that stand in each other's way beside a low chart. */
const stepsMax = 3;

/** @param highest the highest value; 0: there is none, and the axis ends at 1 */
export function createValueAxis(highest: number, unit: ValueUnit): ValueAxis {
  const step = stepOf(Math.max(highest, 0), unit);
  const steps = Math.max(1, Math.ceil(highest / step - 1e-9));
  const write = writerOf(step, unit);
  const ticks = Array.from({ length: steps + 1 }, (_, at) => ({ value: at * step, text: write(at * step) }));
  return { top: steps * step, ticks };
}

function stepOf(highest: number, unit: ValueUnit): number {
  if (highest === 0) return unit === 'ms' ? second : 1;
  const least = highest / stepsMax;
  if (unit === 'ms') return timeSteps.find((it) => it >= least) ?? roundUp(least / hour) * hour;
  // There are no halves of what is counted.
  return Math.max(unit === 'count' ? 1 : 0, roundUp(least));
}

/** Returns 1, 2 or 5 times a power of ten. */
function roundUp(value: number): number {
  const power = 10 ** Math.floor(Math.log10(value));
  return power * ([1, 2, 5].find((it) => it * power >= value * (1 - 1e-9)) ?? 10);
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

/** Returns a function that writes durations in one unit, that of the longest, and the unit's name. */
export function createDurationWriter(all: readonly number[]): { readonly unit: string; write(ms: number): string } {
  const longest = Math.max(0, ...all);
  // Up to ten minutes, seconds say more than parts of minutes.
  const [ms, unit] = longest >= 10 * minute ? unitOfTime(longest) : longest < second ? [1, 'ms'] : [second, 's'];
  return { unit, write: (value) => (value / ms).toFixed(longest / ms < 100 ? 1 : 0) };
}
