/** Bars over time, stacked where there are several series. The colours are those of the verdicts. */
import type { FleetStatistics } from '../../messages.ts';
import { createAxis, ticksOf } from '../../time-axis.ts';

export type Series = {
  readonly name: string;
  /** The colour: a kind of verdict, or `plain`. */
  readonly kind: string;
  /** One for each bucket. */
  readonly values: readonly number[];
};
/** The index of a bucket; null: the whole span. */
export type Picking = { readonly picked: number | null; readonly pick: (index: number | null) => void };
type BarsProps = Picking & {
  readonly statistics: FleetStatistics;
  readonly series: readonly Series[];
  readonly label: string;
};

const size = { width: 320, height: 72 };

export function Bars({ statistics, series, label, picked, pick }: BarsProps) {
  const { buckets } = statistics;
  const step = size.width / buckets.length;
  const totals = buckets.map((_, index) => series.reduce((sum, { values }) => sum + (values[index] ?? 0), 0));
  const highest = Math.max(1, ...totals);
  const known = buckets.findIndex(({ atMs }) => atMs + statistics.bucketMs > (statistics.knownFromMs ?? 0));
  const unknownWidth = Math.max(0, known) * step;
  const indexAt = ({ currentTarget, clientX }: PointerEvent) => {
    const { left, width } = (currentTarget as Element).getBoundingClientRect();
    return Math.min(buckets.length - 1, Math.max(0, Math.floor(((clientX - left) / width) * buckets.length)));
  };
  return (
    <>
      <svg
        class="bars"
        role="img"
        aria-label={label}
        viewBox={`0 0 ${size.width} ${size.height}`}
        onPointerMove={(event) => pick(indexAt(event))}
        onPointerLeave={() => pick(null)}
      >
        {unknownWidth > 0 && <rect class="unknown" x="0" y="0" width={unknownWidth} height={size.height} />}
        {picked !== null && <rect class="cursor" x={picked * step} y="0" width={step} height={size.height} />}
        {series.map(({ kind, values }, at) => (
          <path
            key={kind}
            class="bar"
            data-verdict-kind={kind}
            d={barsPath(values, below(series, at), highest, step)}
          />
        ))}
        <line class="axis" x1="0" x2={size.width} y1={size.height} y2={size.height} />
      </svg>
      <TimeAxis {...statistics} />
    </>
  );
}

const below = (series: readonly Series[], at: number) => (index: number) =>
  series.slice(0, at).reduce((sum, { values }) => sum + (values[index] ?? 0), 0);

function barsPath(values: readonly number[], base: (index: number) => number, highest: number, step: number): string {
  const gap = Math.min(1, step * 0.2);
  return values
    .map((value, index) => {
      if (value === 0) return '';
      const scale = (size.height - 4) / highest;
      // What happened at all is seen.
      const height = Math.max(1.5, value * scale);
      const bottom = size.height - base(index) * scale;
      return `M${(index * step + gap / 2).toFixed(1)},${bottom.toFixed(1)}v${(-height).toFixed(1)}h${(step - gap).toFixed(1)}v${height.toFixed(1)}z`;
    })
    .join('');
}

const days = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat'];

/** As wide as four labels, whatever the room. */
const axisWidth = 400;

/** Text of the page, not of the drawing, which is as large as there is room. */
function TimeAxis({ buckets, bucketMs, span }: FleetStatistics) {
  const [first, last] = [buckets[0]?.atMs ?? 0, buckets.at(-1)?.atMs ?? 0];
  const axis = createAxis([], first, last + bucketMs, axisWidth);
  return (
    <p class="ticks" aria-hidden="true">
      {ticksOf(axis).map(({ ms, text }) => {
        const x = axis.x(ms);
        if (x < 24 || x > axisWidth - 24) return null;
        const at = new Date(ms);
        return (
          <span key={ms} style={{ left: `${(100 * x) / axisWidth}%` }}>
            {span === 'week' ? `${days[at.getDay()]} ${at.getDate()}` : text}
          </span>
        );
      })}
    </p>
  );
}
