/** The edges of a chart and their labels; and the events that are handled in every state. */
import type { JSX } from 'preact';
import type { ChartDrawing, ChartEdge, ChartText } from '../../chart/drawing.ts';
import { NamedArea } from './chart-state.tsx';
import { headPath, linePath } from './edge-path.ts';

type EdgeProps = {
  readonly edge: ChartEdge;
  readonly drawing: ChartDrawing;
  readonly isTaken: boolean;
  readonly isHighlighted: boolean;
  /** How often it was taken lately. */
  readonly flow: number;
  /** Without its label. */
  readonly isBare: boolean;
};

export function ChartEdgeView({ edge, drawing, isTaken, isHighlighted, flow, isBare }: EdgeProps): JSX.Element {
  const { x, y, width, height } = edge.label;
  return (
    <g
      class="chart-edge"
      data-edge={edge.id}
      data-of={drawing.boxes.find(({ id }) => id === edge.from)?.name}
      data-taken={isTaken || undefined}
      data-highlighted={isHighlighted || undefined}
      data-flow={flow || undefined}
      style={flow > 0 ? { '--flow': flowWidth(flow) } : undefined}
      data-timer={edge.transitions.every(({ kind }) => kind === 'timer') || undefined}
    >
      {edge.points.length > 0 && (
        <>
          <path class="chart-line" d={linePath(edge.points)} />
          <path class="chart-head" d={headPath(edge.points)} />
        </>
      )}
      {/* It grows about its middle, or from its start where it stands in a state's box. */}
      <g
        class="chart-words"
        style={{ transformOrigin: `${edge.points.length > 0 ? x + width / 2 : x + 5}px ${y + height / 2}px` }}
      >
        {edge.points.length > 0 && <rect class="chart-label" x={x} y={y} width={width} height={height} rx="4" />}
        <EdgeLabel edge={edge} />
      </g>
      {flow > 0 && <Times {...edge.label} flow={flow} isBare={isBare} />}
    </g>
  );
}

/** Ten times as often is about as much wider again. */
const flowWidth = (flow: number): number => Math.min(11, 1.5 + 2.6 * Math.log10(1 + flow));

function EdgeLabel({ edge: { label, transitions } }: { edge: ChartEdge }): JSX.Element {
  const isTimer = (line: string) => transitions.some((it) => it.kind === 'timer' && line.startsWith(it.event));
  return (
    <>
      {label.lines.map((line, at) => (
        <text
          key={at}
          class="chart-text"
          data-timer={isTimer(line) || undefined}
          x={label.x + 5}
          y={label.y + 13.5 + at * 15}
        >
          {line.replace(/^ +/, '\u00a0\u00a0')}
        </text>
      ))}
    </>
  );
}

type TimesProps = ChartText & { readonly flow: number; readonly isBare: boolean };

/** Beside the label, or in its place. */
const Times = ({ x, y, width, height, flow, isBare }: TimesProps): JSX.Element => (
  <text
    class="chart-times"
    text-anchor={isBare ? 'middle' : 'start'}
    x={isBare ? x + width / 2 : x + width + 4}
    y={isBare ? y + height / 2 + 4 : y + 13.5}
  >
    {`×${flow}`}
  </text>
);

/** Events that every state handles without changing the state. `event`: the latest one. */
export const EverywhereArea = ({ text, event }: { text: ChartText; event: string | undefined }) => (
  // biome-ignore lint/a11y/noAriaHiddenOnFocusable: nothing in it takes the focus
  <g class="chart-everywhere" aria-hidden="true">
    <NamedArea name="in every state" area={text} />
    {text.lines.map((line, at) => (
      <text
        key={at}
        class="chart-text"
        data-latest={line === event || undefined}
        x={text.x + 16}
        y={text.y + 46 + at * 15}
      >
        {line}
      </text>
    ))}
  </g>
);
