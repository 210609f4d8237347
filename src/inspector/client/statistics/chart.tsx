/** A bar chart over time, stacked if there are several series, in the colours of the verdicts. */
import { useRef } from 'preact/hooks';
import { createAxis, createValueAxis, ticksOf, type ValueUnit } from '../../axes.ts';
import type { FleetStatistics } from '../../messages.ts';
import type { TimeRange } from '../../statistics/spans.ts';
import { textOfRange } from '../entries/entries-filter.ts';
import { navigate, type Route } from '../route.ts';
import { zone } from '../ui/format.ts';
import { show } from './range-picker.tsx';

export type Series = {
  readonly name: string;
  /** A verdict kind or `plain`; determines the colour. */
  readonly kind: string;
  /** One value per bucket. */
  readonly values: readonly number[];
};
/** The index of the picked bucket, or null for the whole span. */
type Picking = { readonly picked: number | null; readonly pick: (index: number | null) => void };
/** `entries` is the search text that finds the counted entries. */
export type Counting = {
  readonly title: string;
  readonly unit: ValueUnit;
  readonly series: readonly Series[];
  readonly entries: string;
};
type ChartProps = Picking &
  Pick<Counting, 'unit' | 'series' | 'entries'> & {
    readonly statistics: FleetStatistics;
    readonly label: string;
  };

/** The time range of one or several buckets, clipped to the counted span. */
export function timeOf(
  { span, buckets, bucketMs, fromMs, toMs }: FleetStatistics,
  first: number,
  last = first,
): TimeRange {
  const [begin, end] = [buckets[first]?.atMs ?? fromMs, (buckets[last]?.atMs ?? toMs) + bucketMs];
  // A span that ends now extends to the end of its last bucket.
  return { fromMs: Math.max(fromMs, begin), toMs: span === 'custom' ? Math.min(toMs, end) : end };
}

/** The route change that shows the entries of a bucket, or of the whole span with null. */
export function toEntries(statistics: FleetStatistics, picked: number | null, words: string): Partial<Route> {
  const { fromMs, toMs } = timeOf(statistics, picked ?? 0, picked ?? statistics.buckets.length - 1);
  return { view: 'entries', q: textOfRange(fromMs, toMs, words), span: '' };
}

const size = { width: 300, height: 84 };

export function Chart({ statistics, series, unit, entries, label, picked, pick }: ChartProps) {
  const { buckets } = statistics;
  const pressedAt = useRef<number | null>(null);
  const step = size.width / buckets.length;
  const totals = buckets.map((_, index) => series.reduce((sum, { values }) => sum + (values[index] ?? 0), 0));
  const axis = createValueAxis(Math.max(0, ...totals), unit);
  const y = (value: number) => size.height * (1 - value / axis.top);
  const known = buckets.findIndex(({ atMs }) => atMs + statistics.bucketMs > (statistics.knownFromMs ?? 0));
  const unknownWidth = Math.max(0, known) * step;
  const indexAt = ({ currentTarget, clientX }: PointerEvent) => {
    const { left, width } = (currentTarget as Element).getBoundingClientRect();
    return Math.min(buckets.length - 1, Math.max(0, Math.floor(((clientX - left) / width) * buckets.length)));
  };
  const release = (event: PointerEvent) => {
    const [from, to] = [pressedAt.current, indexAt(event)];
    pressedAt.current = null;
    if (event.button !== 0 || from === null) return;
    // A drag shows the selected range; a click shows the entries of a bucket.
    if (from !== to) show(timeOf(statistics, Math.min(from, to), Math.max(from, to)));
    else navigate(toEntries(statistics, to, entries));
  };
  return (
    <div class="plot muted">
      <div class="scale" aria-hidden="true">
        {axis.ticks.map(({ value, text }) => (
          <span key={value} style={{ top: `${(100 * y(value)) / size.height}%` }}>
            {text}
          </span>
        ))}
      </div>
      <svg
        class="bars"
        role="img"
        aria-label={label}
        viewBox={`0 0 ${size.width} ${size.height}`}
        preserveAspectRatio="none"
        onPointerDown={(event) => {
          pressedAt.current = indexAt(event);
        }}
        onPointerMove={(event) => pick(indexAt(event))}
        onPointerLeave={() => {
          pressedAt.current = null;
          pick(null);
        }}
        onPointerUp={release}
      >
        {unknownWidth > 0 && <rect fill="var(--soft)" x="0" y="0" width={unknownWidth} height={size.height} />}
        {picked !== null && <rect fill="var(--line)" x={picked * step} y="0" width={step} height={size.height} />}
        {axis.ticks.map(({ value }) => (
          <line key={value} x1="0" x2={size.width} y1={y(value)} y2={y(value)} />
        ))}
        {series.map(({ kind, values }, index) => (
          <path key={kind} class="bar" data-verdict-kind={kind} d={barsPath(values, below(series, index), y, step)} />
        ))}
      </svg>
      <TimeAxis {...statistics} />
    </div>
  );
}

const below = (series: readonly Series[], level: number) => (index: number) =>
  series.slice(0, level).reduce((sum, { values }) => sum + (values[index] ?? 0), 0);

function barsPath(
  values: readonly number[],
  base: (index: number) => number,
  y: (value: number) => number,
  step: number,
): string {
  const gap = Math.min(1, step * 0.2);
  return values
    .map((value, index) => {
      if (value === 0) return '';
      const bottom = y(base(index));
      // Keep small values visible.
      const height = Math.max(1.5, bottom - y(base(index) + value));
      return `M${(index * step + gap / 2).toFixed(1)},${bottom.toFixed(1)}v${(-height).toFixed(1)}h${(step - gap).toFixed(1)}v${height.toFixed(1)}z`;
    })
    .join('');
}

/** Wide enough for four labels, whatever the actual width. */
const axisWidth = 340;

/** Rendered as HTML, because text in the SVG would be stretched. */
function TimeAxis({ buckets, bucketMs }: FleetStatistics) {
  const [first, last] = [buckets[0]?.atMs ?? 0, buckets.at(-1)?.atMs ?? 0];
  const axis = createAxis([], first, last + bucketMs, axisWidth);
  return (
    <>
      <span class="zone" aria-hidden="true">
        {zone(last)}
      </span>
      <p class="ticks" aria-hidden="true">
        {ticksOf(axis).map(({ ms, text }) => {
          const x = axis.x(ms);
          // Labels at the edges would overflow.
          return x < 20 || x > axisWidth - 20 ? null : (
            <span key={ms} style={{ left: `${(100 * x) / axisWidth}%` }}>
              {text}
            </span>
          );
        })}
      </p>
    </>
  );
}
