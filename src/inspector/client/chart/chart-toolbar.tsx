/** The buttons above a chart (zoom and downloads), and the download formats: SVG, PNG and Mermaid. */
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { ChartDrawing } from '../../chart/drawing.ts';
import type { StateStatus } from './scene.ts';
import type { ChartView } from './use-view.ts';

const shapes = 'rect, path, circle, text';
const shapeStyles = ['fill', 'stroke', 'stroke-width', 'stroke-dasharray', 'stroke-linecap', 'opacity', 'text-anchor'];
const textStyles = [...shapeStyles, 'font-family', 'font-size', 'font-weight', 'font-style'];

/** The chart as SVG with inlined styles. */
function chartSvg(svg: SVGSVGElement, { width, height }: ChartDrawing): string {
  const copy = svg.cloneNode(true) as SVGSVGElement;
  const copies = copy.querySelectorAll<SVGElement>(shapes);
  for (const [index, element] of svg.querySelectorAll<SVGElement>(shapes).entries()) {
    const style = getComputedStyle(element);
    const target = copies[index] as SVGElement;
    for (const name of element.tagName === 'text' ? textStyles : shapeStyles)
      target.setAttribute(name, plainColour(style.getPropertyValue(name)));
  }
  for (const element of [copy, ...copy.querySelectorAll('*')])
    for (const { name } of [...element.attributes])
      if (/^(class|style|role|tabindex|aria-.+|data-lit|data-small|data-bare)$/.test(name))
        element.removeAttribute(name);
  copy.setAttribute('xmlns', 'http://www.w3.org/2000/svg');
  copy.setAttribute('viewBox', `0 0 ${width} ${height}`);
  copy.setAttribute('width', String(width));
  copy.setAttribute('height', String(height));
  const background = document.createElementNS('http://www.w3.org/2000/svg', 'rect');
  background.setAttribute('width', String(width));
  background.setAttribute('height', String(height));
  background.setAttribute('fill', plainColour(backgroundOf(svg)));
  copy.prepend(background);
  return new XMLSerializer().serializeToString(copy);
}

/**
 * The chart as PNG. Painted element by element, because the content security policy forbids rendering an SVG from
 * memory.
 * @param scale pixels per unit of the drawing
 */
async function chartPng(svg: SVGSVGElement, { width, height }: ChartDrawing, scale = 2): Promise<Blob> {
  const canvas = document.createElement('canvas');
  [canvas.width, canvas.height] = [Math.ceil(width * scale), Math.ceil(height * scale)];
  const context = canvas.getContext('2d');
  if (context === null) throw new Error('this browser has no canvas');
  context.scale(scale, scale);
  context.fillStyle = backgroundOf(svg);
  context.fillRect(0, 0, width, height);
  for (const element of svg.querySelectorAll<SVGElement>(shapes)) paint(context, element);
  const blob = await new Promise<Blob | null>((done) => canvas.toBlob(done, 'image/png'));
  if (blob === null) throw new Error('the drawing is too large for this browser');
  return blob;
}

type Marks = { readonly active: ReadonlyMap<string, StateStatus>; readonly taken: readonly string[] };

/** The chart as Mermaid `stateDiagram-v2`, which supports styles for states but not for transitions. */
function chartMermaid({ boxes, edges }: ChartDrawing, { active, taken }: Marks): string {
  const idOf = (id: string) => id.replaceAll('.', '_');
  const block = (parent: string | null, indent: string): string[] => {
    const here = boxes.filter((box) => box.parent === parent);
    const regions = here.filter(({ kind }) => kind === 'region');
    if (regions.length > 0)
      return regions.flatMap(({ id }, index) => [...(index > 0 ? [`${indent}--`] : []), ...block(id, indent)]);
    return here.flatMap((box) => {
      const inner = block(box.id, `${indent}  `);
      const own = edges.filter(({ from }) => from === box.id);
      return [
        `${indent}state "${box.name}" as ${idOf(box.id)}${inner.length > 0 ? ' {' : ''}`,
        ...(inner.length > 0 ? [...inner, `${indent}}`] : []),
        ...(box.initial ? [`${indent}[*] --> ${idOf(box.id)}`] : []),
        ...own.map(({ id, from, to, label }) => {
          const target = to === null ? '' : ` --> ${idOf(to)}`;
          return `${indent}${idOf(from)}${target} : ${inOneLine(label.lines)}${taken.includes(id) ? ' (taken last)' : ''}`;
        }),
      ];
    });
  };
  const isParallel = boxes.some(({ kind, parent }) => kind === 'region' && parent === null);
  const body = isParallel ? ['  state machine {', ...block(null, '    '), '  }'] : block(null, '  ');
  const marked = boxes.filter(({ id }) => active.get(id)?.active).map(({ id }) => `  class ${idOf(id)} active`);
  const style = marked.length > 0 ? ['  classDef active font-weight:bold,stroke-width:4px'] : [];
  return `${['stateDiagram-v2', ...body, ...style, ...marked].join('\n')}\n`;
}

/** Joins the lines of a label. An indented line has the guards of the events above it. */
const inOneLine = (lines: readonly string[]): string =>
  lines
    .map((line) => line.replace('↻ ', ''))
    .join(', ')
    .replaceAll(/, {3,}/g, ' ');

const saveSvg = (svg: SVGSVGElement, drawing: ChartDrawing, name: string): void =>
  save(new Blob([inFull(svg, () => chartSvg(svg, drawing))], { type: 'image/svg+xml' }), `${name}.svg`);
const savePng = async (svg: SVGSVGElement, drawing: ChartDrawing, name: string): Promise<void> =>
  save(await inFull(svg, () => chartPng(svg, drawing)), `${name}.png`);

/** Draws the chart with all labels at full size. */
function inFull<Result>(svg: SVGSVGElement, draw: () => Result): Result {
  for (const name of ['data-small', 'data-bare']) svg.removeAttribute(name);
  return draw();
}

const saveMermaid = (drawing: ChartDrawing, marks: Marks, name: string): void =>
  save(new Blob([chartMermaid(drawing, marks)], { type: 'text/plain' }), `${name}.mmd`);

function save(blob: Blob, name: string): void {
  const url = URL.createObjectURL(blob);
  const link = document.createElement('a');
  [link.href, link.download] = [url, name];
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

/** Converts `color(srgb …)`, the computed form of mixed colours, which few programs except browsers understand. */
const plainColour = (value: string): string =>
  value.replace(/color\(srgb ([\d. e-]+?)(?: \/ [\d.]+)?\)/g, (_all, parts: string) => {
    const [red, green, blue] = parts.split(' ').map((part) => Math.round(Number(part) * 255));
    return `rgb(${red}, ${green}, ${blue})`;
  });

/** The colour behind the drawing. */
function backgroundOf(svg: SVGSVGElement): string {
  for (let element: Element | null = svg; element !== null; element = element.parentElement) {
    const { backgroundColor } = getComputedStyle(element);
    if (backgroundColor !== 'rgba(0, 0, 0, 0)' && backgroundColor !== 'transparent') return backgroundColor;
  }
  return 'white';
}

function paint(context: CanvasRenderingContext2D, element: SVGElement): void {
  const style = getComputedStyle(element);
  const number = (name: string) => Number(element.getAttribute(name) ?? 0);
  context.save();
  context.globalAlpha = Number(style.opacity);
  context.setLineDash(
    style.strokeDasharray === 'none' ? [] : style.strokeDasharray.split(/[ ,]+/).map(Number.parseFloat),
  );
  context.lineWidth = Number.parseFloat(style.strokeWidth);
  context.lineCap = style.strokeLinecap as CanvasLineCap;
  [context.fillStyle, context.strokeStyle] = [style.fill, style.stroke];
  if (element.tagName === 'text') {
    context.font = `${style.fontStyle} ${style.fontWeight} ${style.fontSize} ${style.fontFamily}`;
    context.textAlign = style.textAnchor === 'end' ? 'right' : style.textAnchor === 'middle' ? 'center' : 'left';
    context.fillText(element.textContent ?? '', number('x'), number('y'));
  } else {
    const path = new Path2D(element.getAttribute('d') ?? '');
    if (element.tagName === 'rect')
      path.roundRect(number('x'), number('y'), number('width'), number('height'), number('rx'));
    if (element.tagName === 'circle') path.arc(number('cx'), number('cy'), number('r'), 0, 2 * Math.PI);
    if (style.fill !== 'none') context.fill(path);
    if (style.stroke !== 'none') context.stroke(path);
  }
  context.restore();
}

type ChartToolbarProps = {
  readonly drawing: ChartDrawing;
  readonly machine: string;
  readonly view: ChartView;
  /** Whether labels are shown, and how to change that. Null if they always are. */
  readonly labels: { readonly shown: boolean; readonly show: (shown: boolean) => void } | null;
  readonly active: ReadonlyMap<string, StateStatus>;
  /** The edges taken last. */
  readonly taken: readonly string[];
  /** Calls `use` with the complete chart including labels. */
  readonly withSvg: (use: (svg: SVGSVGElement) => void | Promise<void>) => Promise<void>;
};

export const zoomStep = 1.25;

export function ChartToolbar({
  drawing,
  machine,
  view,
  labels,
  active,
  taken,
  withSvg,
}: ChartToolbarProps): JSX.Element {
  const [status, setStatus] = useState('');
  const name = `stopgate-${machine}`;
  const save = async (kind: string) => {
    const downloads: Readonly<Record<string, () => void | Promise<void>>> = {
      SVG: () => withSvg((svg) => saveSvg(svg, drawing, name)),
      PNG: () => withSvg((svg) => savePng(svg, drawing, name)),
      Mermaid: () => saveMermaid(drawing, { active, taken }, name),
    };
    try {
      await downloads[kind]?.();
      setStatus(`${kind} saved`);
    } catch (error) {
      setStatus(`${kind} could not be saved: ${error instanceof Error ? error.message : error}`);
    }
  };
  return (
    <div class="row chart-tools" role="toolbar" aria-label={`Chart of a ${machine}`}>
      <button type="button" aria-label="Zoom out" onClick={() => view.zoom(1 / zoomStep)}>
        −
      </button>
      <button type="button" aria-label="Zoom in" onClick={() => view.zoom(zoomStep)}>
        +
      </button>
      <button
        type="button"
        aria-pressed={view.isFollowing}
        title={view.isWhole ? 'Fits and follows the state' : 'Follows the state: the whole would be too small to read'}
        onClick={view.fit}
      >
        {view.isWhole ? 'Fit' : 'Centre'}
      </button>
      {labels !== null && (
        <button
          type="button"
          aria-pressed={labels.shown}
          title="The event and guards of every transition"
          onClick={() => labels.show(!labels.shown)}
        >
          Labels
        </button>
      )}
      <span class="chart-gap" />
      <select
        aria-label="Save the chart"
        value=""
        onChange={(event) => {
          const { value } = event.currentTarget;
          event.currentTarget.value = '';
          void save(value);
        }}
      >
        <option value="">Save as…</option>
        <option>SVG</option>
        <option>PNG</option>
        <option>Mermaid</option>
      </select>
      <span class="chart-status muted" role="status">
        {status}
      </span>
    </div>
  );
}
