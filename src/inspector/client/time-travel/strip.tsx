/** The log along a time axis, with its events and the entry shown. */
import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { type Axis, anchorsOf, createAxis, gapsIn, silenceUntil, ticksOf, timeOf } from '../../axes.ts';
import { nowMs } from '../data/connection.ts';
import { lane, newestSeq, outline, shownRange } from '../data/outline.ts';
import { logRange, moment, shownMs } from '../data/past.ts';
import { route, selected } from '../route.ts';
import { count, dateTime, duration, plural } from '../ui/format.ts';
import { Name } from '../ui/text.tsx';
import { EntryBars, EscalationMarks, Gaps, LaneMarks, rows, StopBars } from './strip-marks.tsx';
import { useStripPointer } from './strip-pointer.ts';

type Props = { readonly at: number; readonly goTo: (seq: number) => void; readonly children: ComponentChildren };

/** The shortest silence drawn as a gap. */
const gapMinMs = 2_000;
const gapMinShare = 0.04;
const tickHeight = 18;

export function Strip({ at, goTo, children }: Props) {
  const element = useRef<HTMLDivElement>(null);
  const width = useWidth(element);
  const axis = axisFor(width);
  const { brush, hoverX, handlers } = useStripPointer(element, axis, goTo);
  const topic = selected.value;
  const end = topic === null ? rows.entries + 4 : rows.end;
  return (
    <div class="time-axis-row">
      <ul class="time-axis-labels muted" aria-hidden="true" style={{ height: `${end}px` }}>
        <Label y={rows.escalated - 5}>escalated</Label>
        <Label y={rows.stops - 7}>allowed</Label>
        <Label y={rows.stops + 8}>blocked</Label>
        <Label y={rows.entries - 6}>entries</Label>
        {topic !== null && (
          <Label y={rows.lane}>
            <Name value={topic.id} />
          </Label>
        )}
      </ul>
      <div class="time-axis" ref={element} {...handlers}>
        {children}
        {axis === null ? (
          <p class="muted">Reading the log…</p>
        ) : (
          <Drawing axis={axis} at={at} end={end} brush={brush} hoverX={hoverX} />
        )}
      </div>
      <Readout axis={axis} hoverX={hoverX} />
    </div>
  );
}

const Label = ({ y, children }: { y: number; children: ComponentChildren }) => (
  <li style={{ top: `${y - 8}px` }}>{children}</li>
);

function useWidth(element: { readonly current: HTMLElement | null }): number {
  const [width, setWidth] = useState(0);
  useLayoutEffect(() => {
    if (element.current === null) return;
    const watch = new ResizeObserver(([entry]) => setWidth(entry?.contentRect.width ?? 0));
    watch.observe(element.current);
    return () => watch.disconnect();
  }, []);
  return width;
}

function axisFor(width: number): Axis | null {
  const [range, read] = [logRange.value, outline.value];
  if (range === null || read === null || width === 0) return null;
  const { fromSeq, toSeq, isOpen } = shownRange.value;
  const newest = newestSeq.value;
  const last = read.buckets.at(-1);
  const lastMs = last !== undefined && last.toSeq >= newest ? last.toMs : Math.max(range.lastMs, last?.toMs ?? 0);
  const first = { seq: range.firstSeq, ms: range.firstMs };
  const anchors = anchorsOf(read.buckets, first, { seq: Math.max(newest, range.firstSeq + 1), ms: lastMs });
  const toMs = isOpen ? Math.max(nowMs.value, lastMs) : timeOf(anchors, toSeq);
  return createAxis(anchors, timeOf(anchors, fromSeq), toMs, width);
}

type DrawingProps = {
  readonly axis: Axis;
  readonly at: number;
  /** Pixels from the top to below the last mark. */
  readonly end: number;
} & Pick<ReturnType<typeof useStripPointer>, 'brush' | 'hoverX'>;

function Drawing({ axis, at, end, brush, hoverX }: DrawingProps) {
  const { buckets = [], shownFrom = 1 } = outline.value ?? {};
  const { isOpen } = shownRange.value;
  const sinceNewest = isOpen ? silenceUntil(axis.toMs, buckets, newestSeq.value) : null;
  const silences = sinceNewest === null ? buckets : [...buckets, sinceNewest];
  const gaps = gapsIn(silences, Math.max(gapMinMs, gapMinShare * (axis.toMs - axis.fromMs)));
  const atX = moment.value?.seq === at ? axis.x(shownMs.value) : axis.xOf(at);
  const { paused } = route.value;
  const nowX = axis.x(nowMs.value);
  // The label "paused here" is 70 px wide.
  const isNowCovered = paused !== null && paused !== at && nowX - axis.xOf(paused) < 80;
  return (
    <svg width={axis.width} height={end + tickHeight} role="img" aria-label={summary()}>
      <Patterns />
      <Unread axis={axis} shownFrom={shownFrom} height={end} />
      <Gaps axis={axis} gaps={gaps} height={end} />
      <EntryBars axis={axis} buckets={buckets} />
      <StopBars axis={axis} buckets={buckets} />
      <EscalationMarks axis={axis} buckets={buckets} />
      {selected.value !== null && <LaneMarks axis={axis} entries={lane.value} />}
      <Ticks axis={axis} y={end} />
      {paused !== null && paused !== at && (
        <Line x={axis.xOf(paused)} end={end} kind="paused" text="paused here" axis={axis} />
      )}
      {isOpen && <Line x={nowX} end={end} kind="now" text={isNowCovered ? '' : 'now'} axis={axis} />}
      {hoverX !== null && <line class="hover" x1={hoverX} x2={hoverX} y1={0} y2={end} />}
      {brush !== null && (
        <rect
          fill="var(--accent)"
          opacity={0.25}
          x={Math.min(brush.from, brush.to)}
          width={Math.abs(brush.to - brush.from)}
          y={0}
          height={end}
        />
      )}
      <Line x={atX} end={end} kind="at" text="" axis={axis} />
    </svg>
  );
}

const Patterns = () => (
  <defs>
    <pattern id="silent" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
      <path d="M0 0v6" stroke="var(--muted)" opacity={0.35} />
    </pattern>
    <pattern id="unread" width="4" height="4" patternUnits="userSpaceOnUse">
      <circle cx="1" cy="1" r="0.8" fill="var(--muted)" opacity={0.6} />
    </pattern>
  </defs>
);

/** Hatches parts of the log that cannot be shown or are not folded yet. */
function Unread({ axis, shownFrom, height }: { axis: Axis; shownFrom: number; height: number }) {
  const { buckets = [] } = outline.value ?? {};
  const starts = [...buckets.map((bucket) => bucket.fromSeq), shownRange.value.toSeq + 1];
  let seq = shownRange.value.fromSeq;
  const holes: { from: number; to: number }[] = [];
  for (const [index, start] of starts.entries()) {
    if (start > seq + 1) holes.push({ from: seq, to: start });
    seq = Math.max(seq, buckets[index]?.toSeq ?? seq);
  }
  return (
    <g class="unread" fill="url(#unread)">
      {holes.map(({ from, to }) => {
        const [x, end] = [Math.max(0, axis.xOf(from)), Math.min(axis.width, axis.xOf(to))];
        if (end - x < 2) return null;
        return (
          <rect key={from} x={x} width={end - x} y={0} height={height}>
            <title>{to <= shownFrom ? 'removed from the log' : 'not read yet'}</title>
          </rect>
        );
      })}
    </g>
  );
}

type LineProps = { x: number; end: number; kind: 'at' | 'now' | 'paused'; text: string; axis: Axis };

function Line({ x, end, kind, text, axis }: LineProps) {
  if (x < -1 || x > axis.width + 1) return null;
  const place = Math.min(axis.width - 1, Math.max(1, x));
  const isLeft = place > axis.width - 80;
  return (
    <g class={`line-${kind}`}>
      <line x1={place} x2={place} y1={0} y2={end} stroke-width={kind === 'at' ? 2 : 1} />
      {kind === 'at' && <path d={`M${place - 6} 0h12l-6 8z`} />}
      {text !== '' && (
        <text x={place + (isLeft ? -4 : 4)} y={rows.escalated - 1} text-anchor={isLeft ? 'end' : 'start'}>
          {text}
        </text>
      )}
    </g>
  );
}

const Ticks = ({ axis, y }: { axis: Axis; y: number }) => (
  <g class="ticks" text-anchor="middle">
    <line x1={0} x2={axis.width} y1={y} y2={y} />
    {ticksOf(axis).map(({ ms, text }) => {
      const x = axis.x(ms);
      const isInside = x > 20 && x < axis.width - 20;
      return (
        <g key={ms}>
          <line x1={x} x2={x} y1={y} y2={y + 4} />
          {isInside && (
            <text x={x} y={y + 15}>
              {text}
            </text>
          )}
        </g>
      );
    })}
  </g>
);

/** Shows the position of the pointer, or how much has been read. Always takes the same space. */
const Readout = ({ axis, hoverX }: { axis: Axis | null; hoverX: number | null }) => (
  <p class="time-axis-readout muted" aria-hidden="true">
    {axis !== null && hoverX !== null && hoverX >= 0 && hoverX <= axis.width
      ? `${dateTime(axis.fromMs + (hoverX / axis.width) * (axis.toMs - axis.fromMs))} · entry ${count(axis.seqAt(hoverX))}`
      : [axis === null ? '' : `${duration(axis.toMs - axis.fromMs)} shown`, readSoFar()].filter(Boolean).join(' · ')}
  </p>
);

function readSoFar(): string {
  const { covered = 0, shownFrom = 1, lastSeq = 0 } = outline.value ?? {};
  const share = Math.floor((100 * covered) / Math.max(1, lastSeq - shownFrom + 1));
  // Do not mention the few newest entries.
  return outline.value === null || share >= 99 ? '' : `${share} % of the log read so far; a jump may take a while`;
}

function summary(): string {
  const { buckets = [] } = outline.value ?? {};
  const sum = (kind: 'complete' | 'let-go' | 'blocked' | 'escalated' | 'unjudged') =>
    buckets.reduce((all, bucket) => all + bucket[kind], 0);
  const { fromSeq, toSeq } = shownRange.value;
  const stops = [`${count(sum('complete') + sum('let-go'))} allowed`, `${count(sum('blocked'))} blocked`];
  const others = [plural(sum('escalated'), 'escalation'), `${count(sum('unjudged'))} not judged`];
  return `Entries ${count(fromSeq)} to ${count(toSeq)} over time: stops ${[...stops, ...others].join(', ')}`;
}
