/**
 * A machine's chart, live: where actors stand, how many, and which way the last one went. The drawing is made by the
 * build (see chart/layout.ts); here it is shown, as a tree for who uses no mouse or no eyes.
 */
import type { JSX } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { Area as ChartArea, ChartBox, ChartDrawing, ChartEdge, ChartText } from '../chart/charts.ts';
import { edgeTaken, type Moved } from '../chart/taken.ts';
import { ChartTools } from './chart-tools.tsx';
import './chart.css';

export type ChartProps = {
  readonly machine: 'worker' | 'task';
  readonly layout: ChartDrawing;
  /** How many stand in each state, in the order of the drawing's states: of a worker its presences come last. */
  readonly counts?: readonly number[] | undefined;
  /** The states of one actor, by name. */
  readonly active?: string | readonly string[] | null | undefined;
  /** Its last move. An edge once taken stays marked until the next is. Give another actor's chart another `key`. */
  readonly moved?: Moved | null | undefined;
  /** Shade each state by its share of all. */
  readonly heat?: boolean | undefined;
  readonly picked?: string | readonly string[] | null | undefined;
  readonly onPick?: ((state: string) => void) | undefined;
};

type Stand = {
  readonly count: number | null;
  readonly share: number;
  readonly active: boolean;
  readonly picked: boolean;
};
const noStand: Stand = { count: null, share: 0, active: false, picked: false };
/** What a box and its children need of the whole. */
type Scene = ChartProps & {
  readonly stands: ReadonlyMap<string, Stand>;
  readonly focused: string;
  readonly look: (id: string | null) => void;
  readonly focus: (id: string) => void;
};

export function Chart(props: ChartProps): JSX.Element {
  const { layout, machine } = props;
  const svg = useRef<SVGSVGElement>(null);
  const [focused, setFocused] = useState<string | null>(null);
  const [lit, setLit] = useState<string | null>(null);
  const [zoom, setZoom] = useState<number | null>(null);
  const stands = useMemo(() => standsOf(props), [layout, props.counts, props.active, props.picked]);
  const taken = useLastTaken(layout, props.moved ?? null);
  const activeId = [...stands].find(([, it]) => it.active)?.[0] ?? null;
  useInView(svg, layout, activeId);
  const focus = (id: string) => {
    setFocused(id);
    itemOf(svg.current, id)?.focus();
  };
  const first = inOrder(layout, null)[0]?.id ?? '';
  const scene: Scene = { ...props, stands, focused: focused ?? activeId ?? first, look: setLit, focus };
  // Counts change ten times a second, and no edge with them.
  const edges = useMemo(
    () =>
      layout.edges.map((it) => (
        <Edge key={it.id} edge={it} layout={layout} isTaken={taken === it.id} isLit={lit === it.from} />
      )),
    [layout, taken, lit],
  );
  const roots = layout.boxes.filter((box) => box.parent === null);
  const size = zoom === null ? {} : { width: `${layout.width * zoom}px`, maxWidth: 'none', minWidth: '0' };
  return (
    <div class="chart" data-machine={machine}>
      <ChartTools svg={svg} layout={layout} machine={machine} zoom={zoom} onZoom={setZoom} />
      <div class="chart-room">
        <svg
          ref={svg}
          class="chart-drawing"
          // biome-ignore lint/a11y/noNoninteractiveElementToInteractiveRole: HTML has no tree; its keys are below
          role="tree"
          aria-label={`States of a ${machine}`}
          aria-orientation="vertical"
          viewBox={`0 0 ${layout.width} ${layout.height}`}
          style={{ '--chart-width': `${layout.width}px`, ...size }}
          onKeyDown={(event) => onKey(event, scene)}
        >
          {roots.map((box) => (
            <Box key={box.id} box={box} scene={scene} level={1} />
          ))}
          <Everywhere text={layout.everywhere} event={props.moved?.event} />
          {/* Beside the tree: a screen reader hears of them in each state's description. */}
          {/* biome-ignore lint/a11y/noAriaHiddenOnFocusable: nothing in it takes the focus */}
          <g class="chart-edges" aria-hidden="true">
            {edges}
          </g>
        </svg>
      </div>
    </div>
  );
}

function standsOf({ layout, counts, active, picked }: ChartProps): ReadonlyMap<string, Stand> {
  const states = statesOf(layout);
  const [actives, pickeds] = [active, picked].map((it) => (typeof it === 'string' ? [it] : (it ?? [])));
  const stands = states.map((box, at): readonly [string, Stand] => {
    const beside = states.map((it, index) => (it.parent === box.parent ? (counts?.[index] ?? 0) : 0));
    const all = beside.reduce((sum, count) => sum + count, 0);
    const count = counts?.[at] ?? null;
    const isIn = (names: readonly string[] | undefined) => names?.includes(box.name) ?? false;
    const share = all === 0 || count === null ? 0 : count / all;
    return [box.id, { count, share, active: isIn(actives), picked: isIn(pickeds) }];
  });
  return new Map(stands);
}

const statesOf = ({ boxes }: ChartDrawing): ChartBox[] =>
  boxes.filter((box) => !boxes.some(({ parent }) => parent === box.id));

function useLastTaken(layout: ChartDrawing, moved: Moved | null): string | null {
  const last = useRef<string | null>(null);
  const edge = moved === null ? null : edgeTaken(layout, moved);
  // What moves nobody leaves the last step marked.
  if (edge !== null && (edge.points.length > 0 || last.current === null)) last.current = edge.id;
  return last.current;
}

/** Scrolls the drawing, and never the page, to the state that became active. */
function useInView(svg: { readonly current: SVGSVGElement | null }, layout: ChartDrawing, id: string | null): void {
  useEffect(() => {
    const room = svg.current?.parentElement;
    const box = layout.boxes.find((it) => it.id === id);
    if (svg.current === null || room == null || box === undefined) return;
    const scale = svg.current.clientWidth / layout.width;
    const [left, top] = [box.x * scale, box.y * scale];
    const [right, bottom] = [left + box.width * scale, top + box.height * scale];
    if (left < room.scrollLeft || right > room.scrollLeft + room.clientWidth) room.scrollLeft = left - 16;
    if (top < room.scrollTop || bottom > room.scrollTop + room.clientHeight) room.scrollTop = top - 16;
  }, [svg, layout, id]);
}

/** The states of a region, or what holds others, or one state. */
function Box({ box, scene, level }: { box: ChartBox; scene: Scene; level: number }): JSX.Element {
  const children = scene.layout.boxes.filter(({ parent }) => parent === box.id);
  const inside = (depth: number) =>
    children.map((child) => <Box key={child.id} box={child} scene={scene} level={depth} />);
  if (box.kind !== 'region') return <State box={box} scene={scene} level={level} inside={inside(level + 1)} />;
  return (
    // biome-ignore lint/a11y/useSemanticElements: a tree's group; SVG has no fieldset
    // biome-ignore lint/a11y/noInteractiveElementToNoninteractiveRole: it only holds the items
    <g role="group" aria-label={box.name} class="chart-region">
      <Area name={box.name} area={box} />
      {inside(level)}
    </g>
  );
}

type StateProps = { box: ChartBox; scene: Scene; level: number; inside: JSX.Element[] };

function State({ box, scene, level, inside }: StateProps): JSX.Element {
  const stand = scene.stands.get(box.id) ?? noStand;
  return (
    <g
      class="chart-state"
      role="treeitem"
      data-id={box.id}
      data-state={box.name}
      data-active={stand.active || undefined}
      data-picked={stand.picked || undefined}
      data-heat={scene.heat || undefined}
      data-pickable={scene.onPick !== undefined || undefined}
      style={{ '--share': stand.share }}
      aria-level={level}
      aria-selected={stand.active}
      aria-label={labelOf(box, stand)}
      aria-description={waysOut(box, scene.layout)}
      tabindex={scene.focused === box.id ? 0 : -1}
      onClick={(event) => {
        event.stopPropagation();
        scene.onPick?.(box.name);
        scene.focus(box.id);
      }}
      onFocus={(event) => {
        event.stopPropagation();
        scene.look(box.id);
      }}
      onBlur={() => scene.look(null)}
      onMouseEnter={() => scene.look(box.id)}
      onMouseLeave={() => scene.look(null)}
    >
      <Face box={box} stand={stand} scene={scene} />
      {inside.length > 0 && (
        // biome-ignore lint/a11y/useSemanticElements: as above
        // biome-ignore lint/a11y/noInteractiveElementToNoninteractiveRole: as above
        <g role="group">{inside}</g>
      )}
    </g>
  );
}

const Area = ({ name, area: { x, y, width, height } }: { name: string; area: ChartArea }): JSX.Element => (
  // biome-ignore lint/a11y/noAriaHiddenOnFocusable: nothing in it takes the focus
  <g aria-hidden="true">
    <rect class="chart-border" x={x} y={y} width={width} height={height} rx="10" />
    <text class="chart-region-name" x={x + 16} y={y + 24}>
      {name}
    </text>
  </g>
);

function Face({ box, stand, scene }: { box: ChartBox; stand: Stand; scene: Scene }): JSX.Element {
  const { x, y, width, height } = box;
  const indent = stand.active ? 30 : 14;
  return (
    <>
      {box.initial && <path class="chart-initial" d={`M${x - 14},${y + 9} h9 m-4,-4 l4,4 l-4,4`} />}
      <rect class="chart-box" x={x} y={y} width={width} height={height} rx="8" />
      <path class="chart-stripe" d={`M${x + 3.5},${y + 8} v${height - 16}`} />
      {stand.active && <circle class="chart-live" cx={x + 19} cy={y + 18} r="5" />}
      <text class="chart-name" x={x + indent} y={y + 23}>
        {box.name}
      </text>{' '}
      {stand.count !== null && (
        <text class="chart-count" x={x + width - 12} y={y + 23}>
          {stand.count}
        </text>
      )}
      {scene.heat && (
        <rect class="chart-share" x={x + 8} y={y + 28} width={(width - 16) * stand.share} height="3" rx="1.5" />
      )}
    </>
  );
}

type EdgeProps = { edge: ChartEdge; layout: ChartDrawing; isTaken: boolean; isLit: boolean };

function Edge({ edge, layout, isTaken, isLit }: EdgeProps): JSX.Element {
  const { x, y, width, height } = edge.label;
  const state = layout.boxes.find(({ id }) => id === edge.from)?.name;
  return (
    <g
      class="chart-edge"
      data-edge={edge.id}
      data-of={state}
      data-taken={isTaken || undefined}
      data-lit={isLit || undefined}
      data-clock={edge.transitions.every(({ kind }) => kind === 'timer') || undefined}
    >
      {edge.points.length > 0 && (
        <>
          <path class="chart-line" d={lineOf(edge.points)} />
          <path class="chart-head" d={headOf(edge.points)} />
          <rect class="chart-label" x={x} y={y} width={width} height={height} rx="4" />
        </>
      )}
      <Words text={edge.label} edge={edge} />
    </g>
  );
}

function Words({ text: { x, y, lines }, edge }: { text: ChartText; edge: ChartEdge }): JSX.Element {
  const byClock = (line: string) => edge.transitions.some((it) => it.kind === 'timer' && line.startsWith(it.event));
  return (
    <>
      {lines.map((line, at) => (
        <text key={line} class="chart-words" data-clock={byClock(line) || undefined} x={x + 5} y={y + 12.5 + at * 14}>
          {line.replace(/^ +/, '\u00a0\u00a0')}
        </text>
      ))}
    </>
  );
}

/** What changes no state wherever it is heard. */
const Everywhere = ({ text, event }: { text: ChartText; event: string | undefined }) => (
  // biome-ignore lint/a11y/noAriaHiddenOnFocusable: nothing in it takes the focus
  <g class="chart-everywhere" aria-hidden="true">
    <Area name="in every state" area={text} />
    {text.lines.map((line, at) => (
      <text
        key={line}
        class="chart-words"
        data-heard={line === event || undefined}
        x={text.x + 16}
        y={text.y + 46 + at * 14}
      >
        {line}
      </text>
    ))}
  </g>
);

function labelOf(box: ChartBox, { count, active, picked }: Stand): string {
  const said = [count === null ? '' : `${count} here`, active ? 'active' : '', picked ? 'shown only' : ''];
  return [box.name, ...said].filter((part) => part !== '').join(', ');
}

const waysOut = ({ id }: ChartBox, { edges, boxes }: ChartDrawing): string =>
  edges
    .filter((edge) => edge.from === id && edge.points.length > 0)
    .map(({ to, transitions }) => {
      const words = transitions.map(({ event, guard }) => [event, guard].filter(Boolean).join(' if '));
      return `to ${boxes.find((box) => box.id === to)?.name} by ${words.join(', ')}`;
    })
    .join('; ');

const itemOf = (svg: SVGSVGElement | null, id: string): SVGGElement | null =>
  svg?.querySelector<SVGGElement>(`[data-id="${CSS.escape(id)}"]`) ?? null;

function onKey(event: KeyboardEvent, { layout, focused, focus, onPick }: Scene): void {
  const order = inOrder(layout, null);
  const at = order.findIndex(({ id }) => id === focused);
  const here = order[at];
  const besides = (step: number) => {
    const parents = [...new Set(order.map(({ parent }) => parent))];
    const beside = parents[parents.indexOf(here?.parent ?? null) + step];
    return order.find(({ parent }) => parent === beside);
  };
  const steps: Record<string, () => ChartBox | undefined> = {
    ArrowDown: () => order[at + 1],
    ArrowUp: () => order[at - 1],
    ArrowRight: () => order.find(({ parent }) => parent === focused) ?? besides(1),
    ArrowLeft: () => order.find(({ id }) => id === here?.parent) ?? besides(-1),
    Home: () => order[0],
    End: () => order.at(-1),
  };
  const isPick = event.key === 'Enter' || event.key === ' ';
  if (!isPick && !Object.hasOwn(steps, event.key)) return;
  event.preventDefault();
  if (isPick && here !== undefined) onPick?.(here.name);
  const next = isPick ? undefined : steps[event.key]?.();
  if (next !== undefined) focus(next.id);
}

/** The tree's items: regions only hold some. */
const inOrder = (layout: ChartDrawing, parent: string | null): ChartBox[] =>
  layout.boxes
    .filter((box) => box.parent === parent)
    .flatMap((box) => [...(box.kind === 'region' ? [] : [box]), ...inOrder(layout, box.id)]);

type Points = ChartEdge['points'];
const cornerMax = 6;

/** Right angles, a little rounded. */
function lineOf(points: Points): string {
  return points
    .map(([x, y], at) => {
      const before = points[at - 1];
      const after = points[at + 1];
      if (before === undefined) return `M${x},${y}`;
      if (after === undefined) return `L${x},${y}`;
      const [enter, leave] = [towards([x, y], before), towards([x, y], after)];
      return `L${enter.join()} Q${x},${y} ${leave.join()}`;
    })
    .join(' ');
}

/** A point on the way from one to another, at most half of it away. */
function towards([x, y]: Points[number], [toX, toY]: Points[number]): readonly [number, number] {
  const length = Math.hypot(toX - x, toY - y);
  const part = length === 0 ? 0 : Math.min(cornerMax, length / 2) / length;
  return [x + (toX - x) * part, y + (toY - y) * part];
}

function headOf(points: Points): string {
  const [end, before] = [points.at(-1), points.at(-2)];
  if (end === undefined || before === undefined) return '';
  const angle = Math.atan2(end[1] - before[1], end[0] - before[0]);
  const side = (turn: number) => `${end[0] - 9 * Math.cos(angle + turn)},${end[1] - 9 * Math.sin(angle + turn)}`;
  return `M${end.join()} L${side(0.42)} L${side(-0.42)} Z`;
}
