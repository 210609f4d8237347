/** Draws how cost grows: a row of small charts as one SVG, for a light and a dark page. Pure: figures in, text out. */
import { type Axis, axes, type Point } from './points.ts';

const titles: Readonly<Record<Axis, string>> = {
  workers: 'workers',
  entries: 'entries in the log',
  replicas: 'replicas',
  fleets: 'fleets in one process',
};

type Line = { readonly name: string; readonly of: (point: Point) => number };
type Row = { readonly unit: string; readonly lines: readonly Line[] };

const rows: readonly Row[] = [
  {
    unit: 'x the floor of the same turns',
    lines: [
      { name: 'p50', of: ({ p50Ms, floorP50Ms }) => p50Ms / floorP50Ms },
      { name: 'p99', of: ({ p99Ms, floorP99Ms }) => p99Ms / floorP99Ms },
    ],
  },
  {
    unit: 'microseconds of CPU a decision',
    lines: [
      { name: 'service', of: ({ serviceUs }) => serviceUs },
      { name: 'nats-server', of: ({ serverUs }) => serverUs },
    ],
  },
];

const panel = { width: 220, height: 190, left: 44, right: 14, top: 30, bottom: 34 };
const titleHeight = 24;

/** Colours that can be told apart by people who see few of them. */
const style = `
  text { font: 12px system-ui, sans-serif; fill: #3b4351 }
  .unit { font-weight: 600 }
  .grid { stroke: #d5d9e0; stroke-width: 1 }
  .line { fill: none; stroke-width: 2 }
  .a { stroke: #0b62c4 } .b { stroke: #b35a00; stroke-dasharray: 5 3 }
  .dot.a { fill: #0b62c4 } .dot.b { fill: #b35a00; stroke-dasharray: none }
  @media (prefers-color-scheme: dark) {
    text { fill: #c9d1d9 }
    .grid { stroke: #343b45 }
    .a { stroke: #6cb0ff } .b { stroke: #ffab5c }
    .dot.a { fill: #6cb0ff } .dot.b { fill: #ffab5c }
  }`;

/** Axes without a point are left out. */
export function drawGrowth(points: readonly Point[]): string {
  const columns = (Object.keys(axes) as Axis[]).filter((axis) => points.some((point) => point.axis === axis));
  const rowHeight = titleHeight + panel.height;
  const drawn = rows.map((row, index) => {
    const most = Math.max(...points.flatMap((point) => row.lines.map(({ of }) => of(point))));
    const top = stepsTo(most);
    const panels = columns.map((axis, column) => {
      const own = points.filter((point) => point.axis === axis).sort((a, b) => a.size - b.size);
      return `<g transform="translate(${column * panel.width} ${titleHeight})">${drawPanel(titles[axis], row, own, top)}</g>`;
    });
    const unit = `<text class="unit" x="${panel.left}" y="16">${row.unit}: ${row.lines.map(legend).join(', ')}</text>`;
    return `<g transform="translate(0 ${index * rowHeight})">${unit}${panels.join('')}</g>`;
  });
  const [width, height] = [columns.length * panel.width, rows.length * rowHeight];
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img">
<title>What a decision costs as a fleet grows; the figures are in docs/benchmarks.md</title>
<style>${style}
</style>
${drawn.join('\n')}
</svg>
`;
}

const legend = ({ name }: Line, index: number) => `${name} ${index === 0 ? '(solid)' : '(dashed)'}`;

function drawPanel(title: string, { lines }: Row, points: readonly Point[], [top, step]: Steps): string {
  const { width, height, left, right, bottom } = panel;
  const y = (value: number) => round(height - bottom - (value / top) * (height - bottom - panel.top));
  // Evenly spaced: sizes grow by a factor.
  const x = (index: number) => round(left + ((index + 0.5) / points.length) * (width - left - right));
  const steps = Array.from({ length: Math.round(top / step) + 1 }, (_, index) => index * step);
  const grid = steps.map(
    (value) =>
      `<line class="grid" x1="${left}" x2="${width - right}" y1="${y(value)}" y2="${y(value)}"/>` +
      `<text x="${left - 6}" y="${y(value) + 4}" text-anchor="end">${Number(value.toFixed(2)).toLocaleString('en')}</text>`,
  );
  const names = points.map(
    ({ size }, index) =>
      `<text x="${x(index)}" y="${height - bottom + 16}" text-anchor="middle">${shortNumber(size)}</text>`,
  );
  const curves = lines.map(({ name, of }, index) => {
    const kind = index === 0 ? 'a' : 'b';
    const at = points.map((point, place) => [x(place), y(of(point)), of(point)] as const);
    const dots = at.map(
      ([cx, cy, value]) =>
        `<circle class="dot ${kind}" cx="${cx}" cy="${cy}" r="3"><title>${name}: ${value.toFixed(value < 10 ? 2 : 0)}</title></circle>`,
    );
    return `<polyline class="line ${kind}" points="${at.map(([cx, cy]) => `${cx},${cy}`).join(' ')}"/>${dots.join('')}`;
  });
  const heading = `<text x="${left}" y="${panel.top - 12}">${title}</text>`;
  return [heading, ...grid, ...names, ...curves].join('');
}

/** The end of the scale, and the steps to it. */
type Steps = readonly [top: number, step: number];

/** Two to five steps of 1, 2 or 5 times a power of ten. */
function stepsTo(most: number): Steps {
  const power = 10 ** Math.floor(Math.log10(most));
  const step = [0.2, 0.5, 1, 2].map((part) => part * power).find((each) => most / each <= 5) ?? power * 2;
  return [Math.ceil(most / step) * step, step];
}

const round = (value: number): number => Math.round(value * 10) / 10;

/** 1,000 is 1k. */
export function shortNumber(value: number): string {
  if (value >= 1_000_000) return `${value / 1_000_000}M`;
  return value >= 1_000 ? `${value / 1_000}k` : `${value}`;
}
