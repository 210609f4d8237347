/** Bars over time, stacked where there are several series. The colours are those of the verdicts. */
import type { CheckStatistics, FleetStatistics } from '../../statistics/messages.ts';
import { createAxis, ticksOf } from '../../time-axis.ts';
import { navigate } from '../route.ts';
import { count, millis } from '../ui/format.ts';
import { Name } from '../ui/text.tsx';

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
        onPointerUp={(event) => event.button === 0 && showEntries(statistics, indexAt(event))}
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

/** The entries of a bucket, in the list of all. */
export function showEntries({ buckets, bucketMs }: FleetStatistics, index: number): void {
  const fromMs = buckets[index]?.atMs;
  if (fromMs === undefined) return;
  const [from, to] = [fromMs, fromMs + bucketMs].map((ms) => new Date(ms).toISOString());
  navigate({ view: 'entries', q: `from:${from} to:${to}`, span: '' });
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

/** The checks of the span: how often each passes, how long it takes, whether it can be trusted, what it blocked. */
export function CheckTable({ checks }: { checks: readonly CheckStatistics[] }) {
  if (checks.length === 0) return <p class="muted">No check was run, and none blocked a stop.</p>;
  return (
    <div class="check-table">
      <h3>Checks</h3>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls on narrow screens */}
      <section class="scroller" tabIndex={0} aria-label="Checks">
        <table>
          <thead>
            <tr>
              <th scope="col">Check</th>
              <th scope="col">Runs</th>
              <th scope="col">Passed</th>
              <th scope="col" title="It did not answer in time, or could not be run">
                Errors
              </th>
              <th scope="col" title="95 % took no longer">
                p95
              </th>
              <th scope="col" title="The result changed although the worker did nothing in between">
                Flaky
              </th>
              <th scope="col">Blocked stops</th>
            </tr>
          </thead>
          <tbody>
            {checks.map((it) => (
              <Row key={it.check} {...it} />
            ))}
          </tbody>
        </table>
      </section>
    </div>
  );
}

const Row = ({ check, runs, passed, failed, errors, p95Ms, differing, compared, blocks }: CheckStatistics) => (
  <tr data-check={check}>
    <th scope="row">
      <Name value={check} />
    </th>
    <td>{runs === 0 ? '–' : count(runs)}</td>
    <td>{part(passed, passed + failed)}</td>
    <td>{errors === 0 ? '–' : count(errors)}</td>
    <td>{p95Ms === null ? '–' : millis(p95Ms)}</td>
    <td data-flaky={differing > 0 || undefined}>
      {compared === 0 ? <span class="muted">not known</span> : `${part(differing, compared)} of ${count(compared)}`}
    </td>
    <td>{blocks === 0 ? '–' : count(blocks)}</td>
  </tr>
);

/** Writes a part of all in percent, but never 0 % or 100 % unless that is exact. */
function part(some: number, all: number): string {
  if (all === 0) return '–';
  const percent = (100 * some) / all;
  if (some > 0 && percent < 1) return '<1 %';
  if (some < all && percent > 99) return '>99 %';
  return `${Math.round(percent)} %`;
}
