/**
 * A machine's statechart, live: where actors are, how many, and the latest transition. The build lays it out (see
 * inspector/chart/layout.ts); here it is rendered as a tree that works with keyboard and screen reader.
 */
import type { JSX } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { ChartDrawing } from '../../chart/drawing.ts';
import { edgeTaken, type TakenTransition } from '../../chart/taken-edge.ts';
import { ChartEdgeView, EverywhereArea } from './chart-edge.tsx';
import { onTreeKey } from './chart-keys.ts';
import { ChartBoxView } from './chart-state.tsx';
import { ChartToolbar } from './chart-toolbar.tsx';
import { type ChartScene, itemOf, statusesOf, treeOrder } from './scene.ts';
import './chart.css';

export type ChartProps = {
  readonly machine: 'worker' | 'task';
  readonly drawing: ChartDrawing;
  /** How many actors are in each state, in the order of the drawing's states; for workers, the presences follow. */
  readonly counts?: readonly number[] | undefined;
  /** The states of one actor, by name. */
  readonly active?: string | readonly string[] | null | undefined;
  /** The latest. Its edge stays marked until another is taken. Give another actor's chart another `key`. */
  readonly transition?: TakenTransition | null | undefined;
  /** Shade each state by its share of all actors. */
  readonly heat?: boolean | undefined;
  readonly picked?: string | readonly string[] | null | undefined;
  readonly onPick?: ((state: string) => void) | undefined;
};

export function Chart(props: ChartProps): JSX.Element {
  const { drawing, machine } = props;
  const svg = useRef<SVGSVGElement>(null);
  const [zoom, setZoom] = useState<number | null>(null);
  const { scene, highlighted } = useScene(props, svg);
  const edges = useEdges(drawing, useTakenEdge(drawing, props.transition ?? null), highlighted);
  const size = zoom === null ? {} : { width: `${drawing.width * zoom}px`, maxWidth: 'none', minWidth: '0' };
  return (
    <div class="chart" data-machine={machine}>
      <ChartToolbar svg={svg} drawing={drawing} machine={machine} zoom={zoom} onZoom={setZoom} />
      <div class="chart-room">
        <svg
          ref={svg}
          class="chart-drawing"
          // biome-ignore lint/a11y/noNoninteractiveElementToInteractiveRole: HTML has no tree; its keys are in chart-keys.ts
          role="tree"
          aria-label={`States of a ${machine}`}
          aria-orientation="vertical"
          viewBox={`0 0 ${drawing.width} ${drawing.height}`}
          style={{ '--chart-width': `${drawing.width}px`, ...size }}
          onKeyDown={(event) => onTreeKey(event, scene)}
        >
          {drawing.boxes
            .filter((box) => box.parent === null)
            .map((box) => (
              <ChartBoxView key={box.id} box={box} scene={scene} level={1} />
            ))}
          <EverywhereArea text={drawing.everywhere} event={props.transition?.event} />
          {/* Outside the tree: screen readers get the edges in the description of each state. */}
          {/* biome-ignore lint/a11y/noAriaHiddenOnFocusable: nothing in it takes the focus */}
          <g class="chart-edges" aria-hidden="true">
            {edges}
          </g>
        </svg>
      </div>
    </div>
  );
}

function useScene(props: ChartProps, svg: { readonly current: SVGSVGElement | null }) {
  const { drawing, counts, active, picked } = props;
  const [focused, setFocused] = useState<string | null>(null);
  const [highlighted, setHighlighted] = useState<string | null>(null);
  const statuses = useMemo(() => statusesOf(props), [drawing, counts, active, picked]);
  const activeId = [...statuses].find(([, it]) => it.active)?.[0] ?? null;
  useScrollTo(svg, drawing, activeId);
  const scene: ChartScene = {
    ...{ drawing, statuses, heat: props.heat, onPick: props.onPick },
    focused: focused ?? activeId ?? treeOrder(drawing)[0]?.id ?? '',
    highlight: setHighlighted,
    focus(id) {
      setFocused(id);
      itemOf(svg.current, id)?.focus();
    },
  };
  return { scene, highlighted };
}

/** Counts may change ten times a second; edges do not change with them. */
const useEdges = (drawing: ChartDrawing, taken: string | null, highlighted: string | null): JSX.Element[] =>
  useMemo(
    () =>
      drawing.edges.map((edge) => (
        <ChartEdgeView
          key={edge.id}
          edge={edge}
          drawing={drawing}
          isTaken={taken === edge.id}
          isHighlighted={highlighted === edge.from}
        />
      )),
    [drawing, taken, highlighted],
  );

/** The last edge that was taken. A transition that changes no state leaves it marked. */
function useTakenEdge(drawing: ChartDrawing, transition: TakenTransition | null): string | null {
  const last = useRef<string | null>(null);
  const edge = transition === null ? null : edgeTaken(drawing, transition);
  if (edge !== null && (edge.points.length > 0 || last.current === null)) last.current = edge.id;
  return last.current;
}

/** Scrolls the drawing, never the page, to the state that became active. */
function useScrollTo(svg: { readonly current: SVGSVGElement | null }, drawing: ChartDrawing, id: string | null): void {
  useEffect(() => {
    const room = svg.current?.parentElement;
    const box = drawing.boxes.find((it) => it.id === id);
    if (svg.current === null || room == null || box === undefined) return;
    const scale = svg.current.clientWidth / drawing.width;
    const [left, top] = [box.x * scale, box.y * scale];
    const [right, bottom] = [left + box.width * scale, top + box.height * scale];
    if (left < room.scrollLeft || right > room.scrollLeft + room.clientWidth) room.scrollLeft = left - 16;
    if (top < room.scrollTop || bottom > room.scrollTop + room.clientHeight) room.scrollTop = top - 16;
  }, [svg, drawing, id]);
}
