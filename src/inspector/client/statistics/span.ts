/** The time that the history shows: the last hour, day or week, or a custom range. Pure. */
import { rangeMsMax, type Span, spanNames, type TimeRange } from '../../statistics/spans.ts';
import { parseTarget } from '../time-travel/travel-target.ts';

export const spanTitles: Readonly<Record<Span, string>> = {
  hour: 'Last hour',
  day: 'Last 24 hours',
  week: 'Last 7 days',
};

export const dayMs = 86_400_000;

/** The UTC day that `nowMs` is in, as `stopgate spend` and budgets of a day count it. */
export function dayOf(nowMs: number): TimeRange {
  const fromMs = nowMs - (nowMs % dayMs);
  return { fromMs, toMs: fromMs + dayMs };
}

/** Parses the span in the address. Anything invalid means the last hour. */
export function readSpan(text: string): Span | TimeRange {
  const [fromMs = Number.NaN, toMs = Number.NaN] = text.split('/').map((time) => Date.parse(time));
  if (fromMs < toMs) return { fromMs, toMs };
  return spanNames.find((name) => name === text) ?? 'hour';
}

/** The span for the address; '' for the last hour. */
export const writeSpan = (span: Span | TimeRange): string =>
  typeof span !== 'string'
    ? [span.fromMs, span.toMs].map((ms) => new Date(ms).toISOString().replace('.000Z', 'Z')).join('/')
    : span === 'hour'
      ? ''
      : span;

/** The span as query parameters. */
export const querySpan = (span: Span | TimeRange): string =>
  typeof span === 'string' ? `span=${span}` : `from=${span.fromMs}&to=${span.toMs}`;

/** Parses a typed range. Returns an error message if it is invalid. `timeOf` returns the time of an entry. */
export async function parseRange(
  typed: { readonly from: string; readonly to: string },
  nowMs: number,
  timeOf: (seq: number) => Promise<number>,
): Promise<TimeRange | string> {
  const read = async (text: string): Promise<number | string> => {
    if (/^(now)?$/.test(text.trim().toLowerCase())) return nowMs;
    const place = parseTarget(text, nowMs);
    if (place === null)
      return `“${text.trim().slice(0, 40)}” is not a time. Try 02:13, yesterday 14:00, 2026-11-23 02:13, 20m ago or #4711.`;
    return 'ms' in place ? place.ms : timeOf(place.seq);
  };
  const [fromMs, toMs] = [
    typed.from.trim() === '' ? 'Enter a start time.' : await read(typed.from),
    await read(typed.to),
  ];
  if (typeof fromMs === 'string') return fromMs;
  if (typeof toMs === 'string') return toMs;
  if (fromMs >= toMs) return 'The end must be after the beginning.';
  return toMs - fromMs > rangeMsMax ? 'The range is longer than 31 days. Choose a shorter one.' : { fromMs, toMs };
}
