/** The shapes of a laid-out chart, as in `machines.json`. Types only, for the service, the build and the page. */
import type { ChartState, ChartTransition } from './definition.ts';

export type Area = { readonly x: number; readonly y: number; readonly width: number; readonly height: number };
export type ChartBox = ChartState & Area;
export type ChartText = Area & { readonly lines: readonly string[] };
/** All transitions from one state to another. `points` empty: `to` is null or `from`, shown as text in the box. */
export type ChartEdge = {
  readonly id: string;
  readonly from: string;
  readonly to: string | null;
  readonly transitions: readonly Pick<ChartTransition, 'kind' | 'event' | 'guard'>[];
  readonly points: readonly (readonly [x: number, y: number])[];
  readonly label: ChartText;
};
export type ChartDrawing = {
  readonly id: string;
  readonly width: number;
  readonly height: number;
  readonly boxes: readonly ChartBox[];
  readonly edges: readonly ChartEdge[];
  /** Events that every state handles, unless it has its own transition; they change no state. */
  readonly everywhere: ChartText;
};
export type Charts = { readonly worker: ChartDrawing; readonly task: ChartDrawing };

/** The same states and edges in less room: their areas and lines, in the order of the drawing. */
export type Outline = {
  readonly width: number;
  readonly height: number;
  readonly areas: readonly Area[];
  readonly lines: readonly ChartEdge['points'][];
};
export type Outlines = { readonly worker: Outline; readonly task: Outline };
