/** The shapes of a chart: boxes (states as tree items, regions as groups), edges and labels. */
import type { JSX } from 'preact';
import type { Area, ChartBox, ChartDrawing, ChartEdge, ChartText } from '../../chart/drawing.ts';
import { type ChartScene, noStatus, type StateStatus, treeOrder } from './scene.ts';

type BoxProps = { readonly box: ChartBox; readonly scene: ChartScene; readonly level: number };

/** A region, or a state with its children. */
export function ChartBoxView({ box, scene, level }: BoxProps): JSX.Element {
  const children = scene.drawing.boxes.filter(({ parent }) => parent === box.id);
  const inside = (depth: number) =>
    children.map((child) => <ChartBoxView key={child.id} box={child} scene={scene} level={depth} />);
  if (box.kind !== 'region') return <StateItem box={box} scene={scene} level={level} inside={inside(level + 1)} />;
  return (
    // biome-ignore lint/a11y/useSemanticElements: a tree's group; SVG has no fieldset
    // biome-ignore lint/a11y/noInteractiveElementToNoninteractiveRole: it only groups the items
    <g role="group" aria-label={box.name} class="chart-region">
      <NamedArea name={box.name} area={box} />
      {inside(level)}
    </g>
  );
}

function StateItem({ box, scene, level, inside }: BoxProps & { readonly inside: JSX.Element[] }): JSX.Element {
  const status = scene.statuses.get(box.id) ?? noStatus;
  return (
    <g
      class="chart-state"
      role="treeitem"
      data-id={box.id}
      data-state={box.name}
      data-active={status.active || undefined}
      data-picked={status.picked || undefined}
      data-heat={scene.heat || undefined}
      data-pickable={scene.onPick !== undefined || undefined}
      style={{ '--share': status.share }}
      aria-level={level}
      aria-selected={status.active}
      aria-label={labelOf(box, status, treeOrder(scene.drawing, box.id))}
      aria-description={transitionsFrom(box, scene.drawing)}
      tabindex={scene.focused === box.id ? 0 : -1}
      onClick={(event) => {
        event.stopPropagation();
        scene.onPick?.(box.name);
        scene.focus(box.id);
      }}
      onFocus={(event) => {
        event.stopPropagation();
        scene.highlight(box.id);
      }}
      onBlur={() => scene.highlight(null)}
      onMouseEnter={() => scene.highlight(box.id)}
      onMouseLeave={() => scene.highlight(null)}
    >
      <StateFace box={box} status={status} heat={scene.heat} />
      {inside.length > 0 && (
        // biome-ignore lint/a11y/useSemanticElements: as above
        // biome-ignore lint/a11y/noInteractiveElementToNoninteractiveRole: as above
        <g role="group">{inside}</g>
      )}
    </g>
  );
}

type FaceProps = { readonly box: ChartBox; readonly status: StateStatus; readonly heat: boolean | undefined };

function StateFace({ box, status, heat }: FaceProps): JSX.Element {
  const { x, y, width, height } = box;
  const indent = status.active ? 30 : 14;
  return (
    <>
      {box.initial && <path class="chart-initial" d={`M${x - 14},${y + 9} h9 m-4,-4 l4,4 l-4,4`} />}
      <rect class="chart-box" x={x} y={y} width={width} height={height} rx="8" />
      <path class="chart-stripe" d={`M${x + 3.5},${y + 8} v${height - 16}`} />
      {status.active && <circle class="chart-live" cx={x + 19} cy={y + 18} r="5" />}
      <text class="chart-name" x={x + indent} y={y + 23}>
        {box.name}
      </text>{' '}
      {status.count !== null && (
        <text class="chart-count" x={x + width - 12} y={y + 23}>
          {status.count}
        </text>
      )}
      {heat && (
        <rect
          class="chart-share"
          x={x + 8}
          y={y + height - 7}
          width={(width - 16) * status.share}
          height="3"
          rx="1.5"
        />
      )}
    </>
  );
}

/** A frame with a title. */
const NamedArea = ({ name, area: { x, y, width, height } }: { name: string; area: Area }): JSX.Element => (
  // biome-ignore lint/a11y/noAriaHiddenOnFocusable: nothing in it takes the focus
  <g aria-hidden="true">
    <rect class="chart-border" x={x} y={y} width={width} height={height} rx="10" />
    <text class="chart-region-name" x={x + 16} y={y + 24}>
      {name}
    </text>
  </g>
);

/** The label of a state for screen readers, including the names of its children. */
function labelOf(box: ChartBox, { count, active, picked }: StateStatus, inside: readonly ChartBox[]): string {
  const notes = [count === null ? '' : `${count} here`, active ? 'active' : '', picked ? 'filtered' : ''];
  return [[box, ...inside].map(({ name }) => name).join(' '), ...notes].filter((part) => part !== '').join(', ');
}

/** `to blocked on stop.attempted if capped; to …` */
const transitionsFrom = ({ id }: ChartBox, { edges, boxes }: ChartDrawing): string =>
  edges
    .filter((edge) => edge.from === id && edge.points.length > 0)
    .map(({ to, transitions }) => {
      const events = transitions.map(({ event, guard }) => [event, guard].filter(Boolean).join(' if '));
      return `to ${boxes.find((box) => box.id === to)?.name} on ${events.join(', ')}`;
    })
    .join('; ');

type Points = ChartEdge['points'];
const cornerRadiusMax = 6;

/** The path of an edge, with slightly rounded corners. */
function linePath(points: Points): string {
  return points
    .map(([x, y], index) => {
      const before = points[index - 1];
      const after = points[index + 1];
      if (before === undefined) return `M${x},${y}`;
      if (after === undefined) return `L${x},${y}`;
      const [enter, leave] = [towards([x, y], before), towards([x, y], after)];
      return `L${enter.join()} Q${x},${y} ${leave.join()}`;
    })
    .join(' ');
}

/** Returns a point on the way from one point to another, at most halfway. */
function towards([x, y]: Points[number], [toX, toY]: Points[number]): readonly [number, number] {
  const length = Math.hypot(toX - x, toY - y);
  const part = length === 0 ? 0 : Math.min(cornerRadiusMax, length / 2) / length;
  return [x + (toX - x) * part, y + (toY - y) * part];
}

/** The arrow head at the end of an edge. */
function headPath(points: Points): string {
  const [end, before] = [points.at(-1), points.at(-2)];
  if (end === undefined || before === undefined) return '';
  const angle = Math.atan2(end[1] - before[1], end[0] - before[0]);
  const side = (turn: number) => `${end[0] - 9 * Math.cos(angle + turn)},${end[1] - 9 * Math.sin(angle + turn)}`;
  return `M${end.join()} L${side(0.42)} L${side(-0.42)} Z`;
}

type EdgeProps = {
  readonly edge: ChartEdge;
  readonly drawing: ChartDrawing;
  readonly isTaken: boolean;
  readonly isHighlighted: boolean;
  /** How often it was taken recently. */
  readonly flow: number;
};

export function ChartEdgeView({ edge, drawing, isTaken, isHighlighted, flow }: EdgeProps): JSX.Element {
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
      {/* Scales around its middle, or from its start if it is in a state's box. */}
      <g
        class="chart-words"
        style={{ transformOrigin: `${edge.points.length > 0 ? x + width / 2 : x + 5}px ${y + height / 2}px` }}
      >
        {edge.points.length > 0 && <rect class="chart-label" x={x} y={y} width={width} height={height} rx="4" />}
        <EdgeLabel edge={edge} />
      </g>
    </g>
  );
}

/** Logarithmic: the width grows by the same amount for each factor of ten. */
const flowWidth = (flow: number): number => Math.min(11, 1.5 + 2.6 * Math.log10(1 + flow));

function EdgeLabel({ edge: { label, transitions } }: { edge: ChartEdge }): JSX.Element {
  const isTimer = (line: string) =>
    transitions.some((transition) => transition.kind === 'timer' && line.startsWith(transition.event));
  return (
    <>
      {label.lines.map((line, index) => (
        <text
          key={index}
          class="chart-text"
          data-timer={isTimer(line) || undefined}
          x={label.x + 5}
          y={label.y + 13.5 + index * 15}
        >
          {line.replace(/^ +/, '\u00a0\u00a0')}
        </text>
      ))}
    </>
  );
}

/** `at` is the position if the edge has no visible label. Null places the number beside the label. */
type TimesProps = { readonly label: ChartText; readonly at: readonly [number, number] | null; readonly flow: number };

/** Shows how often an edge was taken. */
export const Times = ({ label: { x, y, width }, at, flow }: TimesProps): JSX.Element => (
  <text
    class="chart-times"
    text-anchor={at === null ? 'start' : 'middle'}
    x={at?.[0] ?? x + width + 4}
    y={at === null ? y + 13.5 : at[1] + 4}
  >
    {`×${flow}`}
  </text>
);

/** The events that every state handles without changing the state. `event` is the latest one. */
export const EverywhereArea = ({ text, event }: { text: ChartText; event: string | undefined }) => (
  // biome-ignore lint/a11y/noAriaHiddenOnFocusable: nothing in it takes the focus
  <g class="chart-everywhere" aria-hidden="true">
    <NamedArea name="in every state" area={text} />
    {text.lines.map((line, index) => (
      <text
        key={index}
        class="chart-text"
        data-latest={line === event || undefined}
        x={text.x + 16}
        y={text.y + 46 + index * 15}
      >
        {line}
      </text>
    ))}
  </g>
);
