/**
 * A chart to take along: as SVG that needs no style sheet, as PNG, and as Mermaid text. The page's policy lets no image
 * be loaded from memory, so the PNG is drawn element by element instead of from the SVG.
 */
import type { ChartDrawing } from '../chart/charts.ts';

const painted = 'rect, path, circle, text';
const kept = ['fill', 'stroke', 'stroke-width', 'stroke-dasharray', 'stroke-linecap', 'opacity', 'text-anchor'];
const keptOfText = ['font-family', 'font-size', 'font-weight', 'font-style'];

function chartSvg(svg: SVGSVGElement): string {
  const { width, height } = svg.viewBox.baseVal;
  const copy = svg.cloneNode(true) as SVGSVGElement;
  const copies = copy.querySelectorAll<SVGElement>(painted);
  for (const [at, element] of svg.querySelectorAll<SVGElement>(painted).entries()) {
    const style = getComputedStyle(element);
    const target = copies[at] as SVGElement;
    for (const name of element.tagName === 'text' ? [...kept, ...keptOfText] : kept)
      target.setAttribute(name, plainColour(style.getPropertyValue(name)));
  }
  for (const element of [copy, ...copy.querySelectorAll('*')])
    for (const { name } of [...element.attributes])
      if (/^(class|style|role|tabindex|aria-.+)$/.test(name)) element.removeAttribute(name);
  copy.setAttribute('xmlns', 'http://www.w3.org/2000/svg');
  copy.setAttribute('width', String(width));
  copy.setAttribute('height', String(height));
  const paper = document.createElementNS('http://www.w3.org/2000/svg', 'rect');
  for (const [name, value] of [
    ['width', width],
    ['height', height],
    ['fill', plainColour(paperOf(svg))],
  ] as const)
    paper.setAttribute(name, String(value));
  copy.prepend(paper);
  return new XMLSerializer().serializeToString(copy);
}

/** @param scale pixels for each unit of the drawing */
async function chartPng(svg: SVGSVGElement, scale = 2): Promise<Blob> {
  const { width, height } = svg.viewBox.baseVal;
  const canvas = document.createElement('canvas');
  [canvas.width, canvas.height] = [Math.ceil(width * scale), Math.ceil(height * scale)];
  const paper = canvas.getContext('2d');
  if (paper === null) throw new Error('this browser gives no canvas');
  paper.scale(scale, scale);
  paper.fillStyle = paperOf(svg);
  paper.fillRect(0, 0, width, height);
  for (const element of svg.querySelectorAll<SVGElement>(painted)) paint(paper, element);
  const blob = await new Promise<Blob | null>((done) => canvas.toBlob(done, 'image/png'));
  if (blob === null) throw new Error('the drawing is too large for this browser');
  return blob;
}

/** The same states and transitions as Mermaid's `stateDiagram-v2`. */
function chartMermaid({ boxes, edges }: ChartDrawing): string {
  const idOf = (id: string) => id.replaceAll('.', '_');
  const block = (parent: string | null, indent: string): string[] => {
    const here = boxes.filter((box) => box.parent === parent);
    const regions = here.filter(({ kind }) => kind === 'region');
    if (regions.length > 0)
      return regions.flatMap(({ id }, at) => [...(at > 0 ? [`${indent}--`] : []), ...block(id, indent)]);
    return here.flatMap((box) => {
      const inner = block(box.id, `${indent}  `);
      const own = edges.filter(({ from }) => from === box.id);
      return [
        `${indent}state "${box.name}" as ${idOf(box.id)}${inner.length > 0 ? ' {' : ''}`,
        ...(inner.length > 0 ? [...inner, `${indent}}`] : []),
        ...(box.initial ? [`${indent}[*] --> ${idOf(box.id)}`] : []),
        ...own.map(({ from, to, transitions }) => {
          const words = transitions.map(({ event, guard }) =>
            [event, guard === null ? '' : `[${guard}]`].join(' ').trim(),
          );
          const target = to === null ? '' : ` --> ${idOf(to)}`;
          return `${indent}${idOf(from)}${target} : ${words.join(', ')}`;
        }),
      ];
    });
  };
  const isParallel = boxes.some(({ kind, parent }) => kind === 'region' && parent === null);
  const body = isParallel ? ['  state machine {', ...block(null, '    '), '  }'] : block(null, '  ');
  return `${['stateDiagram-v2', ...body].join('\n')}\n`;
}

export const saveSvg = (svg: SVGSVGElement, name: string): void =>
  save(new Blob([chartSvg(svg)], { type: 'image/svg+xml' }), `${name}.svg`);
export const savePng = async (svg: SVGSVGElement, name: string): Promise<void> =>
  save(await chartPng(svg), `${name}.png`);
export const saveMermaid = (drawing: ChartDrawing, name: string): void =>
  save(new Blob([chartMermaid(drawing)], { type: 'text/plain' }), `${name}.mmd`);

function save(blob: Blob, name: string): void {
  const url = URL.createObjectURL(blob);
  const link = document.createElement('a');
  [link.href, link.download] = [url, name];
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

/** Mixed colours are computed as `color(srgb …)`, which few programs but browsers read. */
const plainColour = (value: string): string =>
  value.replace(/color\(srgb ([\d. e-]+?)(?: \/ [\d.]+)?\)/g, (_all, parts: string) => {
    const [red, green, blue] = parts.split(' ').map((part) => Math.round(Number(part) * 255));
    return `rgb(${red}, ${green}, ${blue})`;
  });

/** The colour behind the drawing. */
function paperOf(svg: SVGSVGElement): string {
  for (let element: Element | null = svg; element !== null; element = element.parentElement) {
    const { backgroundColor } = getComputedStyle(element);
    if (backgroundColor !== 'rgba(0, 0, 0, 0)' && backgroundColor !== 'transparent') return backgroundColor;
  }
  return 'white';
}

function paint(paper: CanvasRenderingContext2D, element: SVGElement): void {
  const style = getComputedStyle(element);
  const number = (name: string) => Number(element.getAttribute(name) ?? 0);
  paper.save();
  paper.globalAlpha = Number(style.opacity);
  paper.setLineDash(
    style.strokeDasharray === 'none' ? [] : style.strokeDasharray.split(/[ ,]+/).map(Number.parseFloat),
  );
  paper.lineWidth = Number.parseFloat(style.strokeWidth);
  paper.lineCap = style.strokeLinecap as CanvasLineCap;
  [paper.fillStyle, paper.strokeStyle] = [style.fill, style.stroke];
  if (element.tagName === 'text') {
    paper.font = `${style.fontStyle} ${style.fontWeight} ${style.fontSize} ${style.fontFamily}`;
    paper.textAlign = style.textAnchor === 'end' ? 'right' : style.textAnchor === 'middle' ? 'center' : 'left';
    paper.fillText(element.textContent ?? '', number('x'), number('y'));
  } else {
    const path = new Path2D(element.getAttribute('d') ?? '');
    if (element.tagName === 'rect')
      path.roundRect(number('x'), number('y'), number('width'), number('height'), number('rx'));
    if (element.tagName === 'circle') path.arc(number('cx'), number('cy'), number('r'), 0, 2 * Math.PI);
    if (style.fill !== 'none') paper.fill(path);
    if (style.stroke !== 'none') paper.stroke(path);
  }
  paper.restore();
}
