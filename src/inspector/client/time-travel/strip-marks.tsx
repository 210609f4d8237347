/** Marks on the time axis: escalations, stops, entries, silences, and the entries of one actor. */

import type { Axis, Gap } from '../../axes.ts';
import type { OutlineBucket, TimelineEntry } from '../../messages.ts';
import { type VerdictKind, verdictKindOf } from '../../vocabulary.ts';
import { duration } from '../ui/format.ts';

/** Pixels from the top. Allowed stops are drawn above their line, blocked ones below. */
export const rows = { escalated: 12, stops: 33, entries: 67, lane: 84, end: 94 } as const;
const stopHeight = 15;
const entriesHeight = 14;
const barMin = 1.5;

const [above, below] = [['complete', 'let-go', 'unjudged'], ['blocked']] as const satisfies VerdictKind[][];

type Marks = { readonly axis: Axis; readonly buckets: readonly OutlineBucket[] };

/** Maximum width. A wider bucket was mostly silent. */
const barMax = 12;

/** Position of a bucket's bar. If most of its time was silent, the bar is drawn on the longer side of the silence. */
const barOf = (axis: Axis, { fromMs, toMs, silentFromMs, silentToMs }: OutlineBucket) => {
  const [before, after] = [silentFromMs - fromMs, toMs - silentToMs];
  const isSilent = before >= 0 && silentToMs - silentFromMs > before + after;
  const [from, to] = !isSilent ? [fromMs, toMs] : before > after ? [fromMs, silentFromMs] : [silentToMs, toMs];
  return { x: axis.x(from), width: Math.min(barMax, Math.max(barMin, axis.x(to) - axis.x(from))) };
};
/** Logarithmic scale, so that both a few and thousands are visible. */
const heightOf = (count: number, most: number, full: number) =>
  count === 0 ? 0 : Math.max(2, (Math.log1p(count) / Math.log1p(most)) * full);

export function EntryBars({ axis, buckets }: Marks) {
  const perPixel = buckets.map((bucket) => bucket.count / barOf(axis, bucket).width);
  const most = Math.max(1, ...perPixel);
  return (
    <g class="bars" fill="var(--state-idle)" fill-opacity={0.55}>
      {buckets.map((bucket, index) => {
        const height = heightOf(perPixel[index] ?? 0, most, entriesHeight);
        return <rect key={bucket.fromSeq} {...barOf(axis, bucket)} y={rows.entries - height} height={height} />;
      })}
    </g>
  );
}

export function StopBars({ axis, buckets }: Marks) {
  const sum = (bucket: OutlineBucket, kinds: readonly VerdictKind[]) =>
    kinds.reduce((all, kind) => all + bucket[kind], 0);
  const stopped = buckets.filter((bucket) => sum(bucket, [...above, ...below]) > 0);
  const most = Math.max(1, ...stopped.map((bucket) => Math.max(sum(bucket, above), sum(bucket, below))));
  const stack = (bucket: OutlineBucket, kinds: readonly VerdictKind[], direction: -1 | 1) => {
    const all = sum(bucket, kinds);
    const full = heightOf(all, most, stopHeight);
    let y = rows.stops;
    return kinds.map((kind) => {
      const height = all === 0 ? 0 : (bucket[kind] / all) * full;
      if (height === 0) return null;
      const top = direction < 0 ? y - height : y;
      y += direction * height;
      return <rect key={kind} {...barOf(axis, bucket)} y={top} height={height} data-verdict-kind={kind} />;
    });
  };
  return (
    <g class="stops">
      <line x1={0} x2={axis.width} y1={rows.stops} y2={rows.stops} />
      {stopped.map((bucket) => (
        <g key={bucket.fromSeq}>
          {stack(bucket, above, -1)}
          {stack(bucket, below, 1)}
        </g>
      ))}
    </g>
  );
}

const apart = 7;

/** Escalations as triangles. Overlapping triangles are merged. */
export function EscalationMarks({ axis, buckets }: Marks) {
  const places: number[] = [];
  for (const bucket of buckets) {
    const x = axis.x(bucket.toMs);
    if (bucket.escalated > 0 && x - (places.at(-1) ?? -apart) >= apart) places.push(x);
  }
  return (
    <g class="escalations" data-verdict-kind="escalated">
      {places.map((x) => (
        <path key={x} d={`M${x - 4} ${rows.escalated}h8l-4 -8z`} />
      ))}
    </g>
  );
}

const labelMin = 90;

export const Gaps = ({ axis, gaps, height }: { axis: Axis; gaps: readonly Gap[]; height: number }) => (
  <g class="gaps" fill="url(#silent)" text-anchor="middle">
    {gaps.map(({ fromMs, toMs, seq }) => {
      const [x, end] = [Math.max(0, axis.x(fromMs)), Math.min(axis.width, axis.x(toMs))];
      if (end - x < 3) return null;
      return (
        <g key={seq}>
          <rect x={x} width={end - x} y={0} height={height}>
            <title>no entries for {duration(toMs - fromMs)}</title>
          </rect>
          {end - x >= labelMin && (
            <text x={(x + end) / 2} y={rows.entries - 3}>
              {duration(toMs - fromMs)} silent
            </text>
          )}
        </g>
      );
    })}
  </g>
);

export const LaneMarks = ({ axis, entries }: { axis: Axis; entries: readonly TimelineEntry[] }) => (
  <g class="lane">
    <line x1={0} x2={axis.width} y1={rows.lane} y2={rows.lane} />
    {entries.map(({ seq, atMs, type, data }) => {
      const x = axis.x(atMs);
      if (x < 0 || x > axis.width) return null;
      if (type !== 'decision') return <rect key={seq} x={x - 0.5} width={1} y={rows.lane - 4} height={8} />;
      const kind = verdictKindOf(data as Parameters<typeof verdictKindOf>[0]);
      return kind === 'escalated' ? (
        <path key={seq} data-verdict-kind={kind} d={`M${x - 5} ${rows.lane + 5}h10l-5 -10z`} />
      ) : (
        <circle key={seq} data-verdict-kind={kind} cx={x} cy={rows.lane} r={4} />
      );
    })}
  </g>
);
