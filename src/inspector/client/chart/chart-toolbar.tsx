/** The buttons above a chart: zoom, and downloads. */
import type { JSX, RefObject } from 'preact';
import { useState } from 'preact/hooks';
import type { ChartDrawing } from '../../chart/drawing.ts';
import { saveMermaid, savePng, saveSvg } from './export.ts';

type ChartToolbarProps = {
  readonly svg: RefObject<SVGSVGElement | null>;
  readonly drawing: ChartDrawing;
  readonly machine: string;
  /** Null: fit to the width. */
  readonly zoom: number | null;
  readonly onZoom: (zoom: number | null) => void;
};

const zooms = { min: 0.3, max: 3, step: 1.25 };

export function ChartToolbar({ svg, drawing, machine, zoom, onZoom }: ChartToolbarProps): JSX.Element {
  const [status, setStatus] = useState('');
  const resize = (factor: number) => {
    const current = zoom ?? (svg.current?.clientWidth ?? drawing.width) / drawing.width;
    onZoom(Math.min(zooms.max, Math.max(zooms.min, current * factor)));
  };
  const save = (kind: string, download: (svg: SVGSVGElement) => void | Promise<void>) => async () => {
    if (svg.current === null) return;
    try {
      await download(svg.current);
      setStatus(`${kind} saved`);
    } catch (error) {
      setStatus(`${kind} could not be saved: ${error instanceof Error ? error.message : error}`);
    }
  };
  const name = `stopgate-${machine}`;
  return (
    <div class="chart-tools" role="toolbar" aria-label={`Chart of a ${machine}`}>
      <button type="button" aria-label="Zoom out" onClick={() => resize(1 / zooms.step)}>
        −
      </button>
      <button type="button" aria-label="Zoom in" onClick={() => resize(zooms.step)}>
        +
      </button>
      <button type="button" aria-pressed={zoom === null} onClick={() => onZoom(null)}>
        Fit
      </button>
      <span class="chart-gap" />
      <button type="button" onClick={save('SVG', (it) => saveSvg(it, name))}>
        SVG
      </button>
      <button type="button" onClick={save('PNG', (it) => savePng(it, name))}>
        PNG
      </button>
      <button type="button" onClick={save('Mermaid', () => saveMermaid(drawing, name))}>
        Mermaid
      </button>
      <span class="chart-status" role="status">
        {status}
      </span>
    </div>
  );
}
