/** The buttons above a chart: zoom, and downloads. */
import type { JSX, RefObject } from 'preact';
import { useState } from 'preact/hooks';
import type { ChartDrawing } from '../../chart/drawing.ts';
import { saveMermaid, savePng, saveSvg } from './export.ts';
import type { ChartView } from './use-view.ts';

type ChartToolbarProps = {
  readonly svg: RefObject<SVGSVGElement | null>;
  readonly drawing: ChartDrawing;
  readonly machine: string;
  readonly view: ChartView;
};

export const zoomStep = 1.25;

export function ChartToolbar({ svg, drawing, machine, view }: ChartToolbarProps): JSX.Element {
  const [status, setStatus] = useState('');
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
      <button type="button" aria-label="Zoom out" onClick={() => view.zoom(1 / zoomStep)}>
        −
      </button>
      <button type="button" aria-label="Zoom in" onClick={() => view.zoom(zoomStep)}>
        +
      </button>
      <button type="button" aria-pressed={view.isFollowing} title="Fits and follows the state" onClick={view.fit}>
        Fit
      </button>
      <span class="chart-gap" />
      <button type="button" onClick={save('SVG', (it) => saveSvg(it, drawing, name))}>
        SVG
      </button>
      <button type="button" onClick={save('PNG', (it) => savePng(it, drawing, name))}>
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
