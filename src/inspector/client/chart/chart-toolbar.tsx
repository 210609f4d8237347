/** The buttons above a chart: zoom, and downloads. */
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { ChartDrawing } from '../../chart/drawing.ts';
import { saveMermaid, savePng, saveSvg } from './export.ts';
import type { StateStatus } from './scene.ts';
import type { ChartView } from './use-view.ts';

type ChartToolbarProps = {
  readonly drawing: ChartDrawing;
  readonly machine: string;
  readonly view: ChartView;
  /** Whether the labels are shown; null: they always are. */
  readonly labels: { readonly shown: boolean; readonly show: (shown: boolean) => void } | null;
  readonly active: ReadonlyMap<string, StateStatus>;
  /** The edges taken last. */
  readonly taken: readonly string[];
  /** Gives the whole chart, with its labels. */
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
  const save = (kind: string, download: () => void | Promise<void>) => async () => {
    try {
      await download();
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
      <button type="button" onClick={save('SVG', () => withSvg((it) => saveSvg(it, drawing, name)))}>
        SVG
      </button>
      <button type="button" onClick={save('PNG', () => withSvg((it) => savePng(it, drawing, name)))}>
        PNG
      </button>
      <button type="button" onClick={save('Mermaid', () => saveMermaid(drawing, { active, taken }, name))}>
        Mermaid
      </button>
      <span class="chart-status" role="status">
        {status}
      </span>
    </div>
  );
}
