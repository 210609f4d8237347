/** The boxes of a chart: states as items of a tree, regions as groups around them. */
import type { JSX } from 'preact';
import type { Area, ChartBox, ChartDrawing } from '../../chart/drawing.ts';
import { type ChartScene, noStatus, type StateStatus, treeOrder } from './scene.ts';

type BoxProps = { readonly box: ChartBox; readonly scene: ChartScene; readonly level: number };

/** A region, or a state with those inside it. */
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
export const NamedArea = ({ name, area: { x, y, width, height } }: { name: string; area: Area }): JSX.Element => (
  // biome-ignore lint/a11y/noAriaHiddenOnFocusable: nothing in it takes the focus
  <g aria-hidden="true">
    <rect class="chart-border" x={x} y={y} width={width} height={height} rx="10" />
    <text class="chart-region-name" x={x + 16} y={y + 24}>
      {name}
    </text>
  </g>
);

/** With the names inside it, since they are part of what is seen. */
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
