/** What stands above a chart: its size, and ways to take it along. */
import type { JSX, RefObject } from 'preact';
import { useState } from 'preact/hooks';
import type { ChartDrawing } from '../chart/charts.ts';
import { saveMermaid, savePng, saveSvg } from './export.ts';

export type ChartToolsProps = {
  readonly svg: RefObject<SVGSVGElement | null>;
  readonly layout: ChartDrawing;
  readonly machine: string;
  /** Null: as wide as there is room. */
  readonly zoom: number | null;
  readonly onZoom: (zoom: number | null) => void;
};

const zooms = { min: 0.3, max: 3, step: 1.25 };

export function ChartTools({ svg, layout, machine, zoom, onZoom }: ChartToolsProps): JSX.Element {
  const [said, say] = useState('');
  const resize = (factor: number) => {
    const now = zoom ?? (svg.current?.clientWidth ?? layout.width) / layout.width;
    onZoom(Math.min(zooms.max, Math.max(zooms.min, now * factor)));
  };
  const save = (kind: string, act: (svg: SVGSVGElement) => void | Promise<void>) => async () => {
    if (svg.current === null) return;
    try {
      await act(svg.current);
      say(`${kind} saved`);
    } catch (error) {
      say(`${kind} could not be made: ${error instanceof Error ? error.message : error}`);
    }
  };
  const name = `stopgate-${machine}`;
  return (
    <div class="chart-tools" role="toolbar" aria-label={`Chart of a ${machine}`}>
      <button type="button" aria-label="Smaller" onClick={() => resize(1 / zooms.step)}>
        −
      </button>
      <button type="button" aria-label="Larger" onClick={() => resize(zooms.step)}>
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
      <button type="button" onClick={save('Mermaid', () => saveMermaid(layout, name))}>
        Mermaid
      </button>
      <span class="chart-said" role="status">
        {said}
      </span>
    </div>
  );
}
