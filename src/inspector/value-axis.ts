/** The axis of values beside a chart: round numbers from 0 up, few of them, all in one unit. Pure. */

/** `ms`: a duration. */
export type ValueUnit = 'count' | 'ms' | 'usd';
export type ValueAxis = {
  /** The height of the chart: the last of the ticks. */
  readonly top: number;
  readonly ticks: readonly { readonly value: number; readonly text: string }[];
};

const [second, minute, hour] = [1_000, 60_000, 3_600_000];
/** The steps of a clock: tens of seconds are not round, quarters of an hour are. */
const timeSteps = [
  ...[1, 2, 5, 10, 20, 50, 100, 200, 500, second, 2 * second, 5 * second, 10 * second, 15 * second, 30 * second],
  ...[minute, 2 * minute, 5 * minute, 10 * minute, 15 * minute, 30 * minute],
  ...[hour, 2 * hour, 5 * hour, 10 * hour, 20 * hour],
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
