/** The shapes of a drawn chart, as `machines.json` holds them. Types only, for the service, the build and the page. */
import type { ChartState, ChartTransition } from './definition.ts';

export type Area = { readonly x: number; readonly y: number; readonly width: number; readonly height: number };
export type ChartBox = ChartState & Area;
export type ChartText = Area & { readonly lines: readonly string[] };
/** All transitions from one state to another. `points` empty: `to` is null or `from` itself, drawn as text in the box. */
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
  /** Heard in every state that says nothing of it itself; changes no state. Its words, and where they stand. */
  readonly everywhere: ChartText;
};
export type Charts = { readonly worker: ChartDrawing; readonly task: ChartDrawing };
