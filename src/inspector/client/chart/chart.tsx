/**
 * A machine's statechart with the actors in each state and the latest transition. The build lays it out
 * (inspector/chart/layout.ts); it is rendered as a tree for keyboards and screen readers.
 */
import { type JSX, render } from 'preact';
import { useMemo, useRef, useState } from 'preact/hooks';
import type { ChartBox, ChartDrawing, ChartEdge } from '../../chart/drawing.ts';
import { edgeTaken, reasonTaken, type TakenTransition } from '../../chart/taken.ts';
import { placeTimes } from '../../chart/times.ts';
import { readableScale, scales } from '../../chart/view.ts';
import { ChartToolbar, zoomStep } from './chart-toolbar.tsx';
import { type ChartScene, itemOf, onTreeKey, statusesOf, treeOrder } from './scene.ts';
import { ChartBoxView, ChartEdgeView, EverywhereArea, Times } from './shapes.tsx';
import { type ChartView, useView } from './use-view.ts';
import './chart.css';

/** Whether charts with an outline show all labels instead. */
let showsLabels = false;

export type ChartProps = {
  /** Its name in labels and file names. */
  readonly machine: string;
  readonly drawing: ChartDrawing;
  /** A smaller chart without labels, shown first. */
  readonly outline?: ChartDrawing | undefined;
  /** Number of actors in each state, in the drawing's order; for workers, followed by the presences. */
  readonly counts?: readonly number[] | undefined;
  /** The states of one actor, by name or id. */
  readonly active?: string | readonly string[] | null | undefined;
  /** The latest transition. Its edge stays marked until another is taken. Use a different `key` for each actor. */
  readonly transition?: TakenTransition | null | undefined;
  /** The latest transition in another region. */
  readonly beside?: TakenTransition | null | undefined;
  /** Ids of the edges taken last, if known. */
  readonly taken?: readonly string[] | undefined;
  /** How often each edge was taken recently, by id. Determines its width. */
  readonly flows?: ReadonlyMap<string, number> | undefined;
  /** The view (zoom and position) is remembered under this name. */
  readonly viewKey?: string | undefined;
  /** Shade each state by its share of all actors. */
  readonly heat?: boolean | undefined;
  readonly picked?: string | readonly string[] | null | undefined;
  readonly onPick?: ((state: string) => void) | undefined;
};

export function Chart(props: ChartProps): JSX.Element {
  const { outline, machine } = props;
  const [hasLabels, setHasLabels] = useState(showsLabels);
  const isBare = outline !== undefined && !hasLabels;
  const showLabels = (shown: boolean) => {
    showsLabels = shown;
    setHasLabels(shown);
  };
  const drawing = isBare ? outline : props.drawing;
  const svg = useRef<SVGSVGElement>(null);
  const { scene, highlighted, active, moveTo } = useScene({ ...props, drawing }, svg);
  const key = `${machine}/${props.viewKey ?? ''}/${isBare}`;
  const view = useView(svg, drawing, active, key, outline === undefined || isBare ? scales.min : readableScale);
  moveTo.current = view.show;
  const { x, y, scale } = view.view;
  const lit = highlighted ?? active?.id ?? null;
  const { taken, latest } = useTakenEdges(drawing, props);
  const flowing = isBare ? [...(props.flows?.keys() ?? [])].sort().join('\n') : '';
  const places = useMemo(
    () => (flowing === '' ? null : placeTimes(drawing, new Set(flowing.split('\n')))),
    [drawing, flowing],
  );
  const edges = useEdges(drawing, taken, lit, props.flows);
  const onKeyDown = (event: KeyboardEvent) => {
    if (!onZoomKey(event, view)) onTreeKey(event, scene);
  };
  return (
    <div class="chart" data-machine={machine}>
      <ChartToolbar
        machine={machine}
        view={view}
        taken={taken}
        drawing={props.drawing}
        active={scene.statuses}
        labels={outline === undefined ? null : { shown: hasLabels, show: showLabels }}
        withSvg={(use) =>
          withDetails({ ...props, outline: undefined, transition: null, beside: null, taken }, svg.current, use)
        }
      />
      <div class="chart-room">
        <svg
          ref={svg}
          class="chart-drawing"
          // biome-ignore lint/a11y/noNoninteractiveElementToInteractiveRole: HTML has no tree; its keys are in scene.ts
          role="tree"
          aria-label={`States of a ${machine}`}
          aria-orientation="vertical"
          viewBox={`${x} ${y} ${view.room.width / scale} ${view.room.height / scale}`}
          data-small={scale < readableScale || undefined}
          data-bare={isBare || undefined}
          data-lit={lit ?? undefined}
          style={{ '--scale': scale }}
          onKeyDown={onKeyDown}
        >
          {drawing.boxes
            .filter((box) => box.parent === null)
            .map((box) => (
              <ChartBoxView key={box.id} box={box} scene={scene} level={1} />
            ))}
          {!isBare && drawing.everywhere.lines.length > 0 && (
            <EverywhereArea text={drawing.everywhere} event={props.transition?.event} />
          )}
          {/* Hidden: screen readers get the edges in the description of each state. */}
          {/* biome-ignore lint/a11y/noAriaHiddenOnFocusable: nothing in it takes the focus */}
          <g class="chart-edges" aria-hidden="true">
            {edges}
            {/* On top of all edges, which would otherwise cross the numbers. */}
            {drawing.edges.map(({ id, label }) => {
              const flow = props.flows?.get(id) ?? 0;
              return flow === 0 ? null : <Times key={id} label={label} at={places?.get(id) ?? null} flow={flow} />;
            })}
          </g>
        </svg>
      </div>
      {isBare && <TakenLast boxes={drawing.boxes} latest={latest} />}
    </div>
  );
}

type Taken = { readonly edge: ChartEdge; readonly transition: TakenTransition };

/** Describes the edges taken last, because an outline has no labels. */
function TakenLast({ boxes, latest }: { boxes: readonly ChartBox[]; latest: readonly Taken[] }) {
  const nameOf = (state: string) => boxes.find(({ id }) => id === state)?.name;
  return (
    <p class="chart-caption muted">
      {latest.map(({ edge, transition }, index) => (
        <span key={edge.id}>
          {index === 0 ? 'Taken last: ' : '; '}
          <b>{`${nameOf(edge.from)} → ${nameOf(edge.to ?? edge.from)}`}</b> <span>{reasonTaken(edge, transition)}</span>
        </span>
      ))}
    </p>
  );
}

/** Renders the chart with all labels for a download, whatever is shown. */
async function withDetails(
  props: ChartProps,
  shown: SVGSVGElement | null,
  use: (svg: SVGSVGElement) => void | Promise<void>,
): Promise<void> {
  const host = document.createElement('div');
  host.className = 'chart-export';
  shown?.closest('.chart')?.append(host);
  render(<Chart {...props} />, host);
  try {
    const svg = host.querySelector<SVGSVGElement>('.chart-drawing');
    if (svg !== null) await use(svg);
  } finally {
    render(null, host);
    host.remove();
  }
}

function useScene(props: ChartProps, svg: { readonly current: SVGSVGElement | null }) {
  const { drawing, counts, active: activeNames, picked } = props;
  const [focused, setFocused] = useState<string | null>(null);
  const [highlighted, setHighlighted] = useState<string | null>(null);
  const statuses = useMemo(() => statusesOf(props), [drawing, counts, activeNames, picked]);
  const activeId = [...statuses].find(([, status]) => status.active)?.[0] ?? null;
  const active = drawing.boxes.find(({ id }) => id === activeId);
  /** Assigned by the caller once the view is known. */
  const moveTo = useRef<(box: ChartBox) => void>(() => {});
  const scene: ChartScene = {
    drawing,
    statuses,
    heat: props.heat,
    onPick: props.onPick,
    focused: focused ?? activeId ?? treeOrder(drawing)[0]?.id ?? '',
    highlight: setHighlighted,
    focus(id) {
      setFocused(id);
      itemOf(svg.current, id)?.focus();
      const box = drawing.boxes.find((box) => box.id === id);
      if (box !== undefined) moveTo.current(box);
    },
  };
  return { scene, highlighted, active, moveTo };
}

/** Memoized: counts may change ten times a second, but edges do not depend on them. */
const useEdges = (
  drawing: ChartDrawing,
  taken: readonly string[],
  lit: string | null,
  flows: ReadonlyMap<string, number> | undefined,
): JSX.Element[] =>
  useMemo(
    () =>
      // Important edges are drawn last, on top of the others.
      drawing.edges
        .toSorted((one, other) => rank(one, taken, lit, flows) - rank(other, taken, lit, flows))
        .map((edge) => (
          <ChartEdgeView
            key={edge.id}
            edge={edge}
            drawing={drawing}
            isTaken={taken.includes(edge.id)}
            isHighlighted={isOf(lit, edge)}
            flow={flows?.get(edge.id) ?? 0}
          />
        )),
    [drawing, taken, lit, flows],
  );

const isOf = (state: string | null, { from, to }: ChartEdge): boolean =>
  state !== null && (state === from || state === to);
const rank = (
  edge: ChartEdge,
  taken: readonly string[],
  lit: string | null,
  flows: ReadonlyMap<string, number> | undefined,
): number => (taken.includes(edge.id) ? 3 : flows?.has(edge.id) ? 2 : isOf(lit, edge) ? 1 : 0);

function useTakenEdges(drawing: ChartDrawing, { transition, beside, taken }: ChartProps) {
  const edges = [useTakenEdge(drawing, transition ?? null), useTakenEdge(drawing, beside ?? null)];
  const latest = edges.filter((edge) => edge !== null);
  const text = (latest.length > 0 ? latest.map(({ edge }) => edge.id) : (taken ?? [])).join('\n');
  return { latest, taken: useMemo(() => (text === '' ? [] : text.split('\n')), [text]) };
}

/** The edge taken last. A transition that does not change the state leaves it marked. */
function useTakenEdge(drawing: ChartDrawing, transition: TakenTransition | null): Taken | null {
  const last = useRef<Taken | null>(null);
  const edge = transition === null ? null : edgeTaken(drawing, transition);
  if (transition !== null && edge !== null && (edge.points.length > 0 || last.current === null))
    last.current = { edge, transition };
  return last.current;
}

/** Handles `+`, `-` and `0`. @returns whether it was one of these keys */
function onZoomKey(event: KeyboardEvent, { zoom, fit }: ChartView): boolean {
  const run = { '+': () => zoom(zoomStep), '-': () => zoom(1 / zoomStep), '0': fit }[event.key];
  if (run === undefined || event.ctrlKey || event.metaKey) return false;
  event.preventDefault();
  run();
  return true;
}
