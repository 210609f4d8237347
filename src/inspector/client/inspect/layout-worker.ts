/** Lays out charts of foreign machines with ELK, in a worker that is loaded with the first of them. */
import ELK from 'elkjs/lib/elk-api.js';
import workerUrl from 'elkjs/lib/elk-worker.min.js?url';
import type { ChartDrawing } from '../../chart/drawing.ts';
import { chartOfStates } from '../../chart/foreign-chart.ts';
import type { StateNode } from '../../chart/foreign-states.ts';
import { layOut } from '../../chart/layout.ts';

type Engine = Parameters<typeof layOut>[1];

let engine: Engine | null = null;
/** By the machine: all actors of one have the same. */
const drawings = new Map<string, Promise<ChartDrawing | null>>();
/** An app that makes machines as it goes forgets the oldest drawings. */
const drawingsMax = 100;

/** @returns null: it is too large, or ELK cannot lay it out */
export function drawingFor(states: StateNode): Promise<ChartDrawing | null> {
  const key = JSON.stringify(states);
  const known = drawings.get(key);
  if (known !== undefined) return known;
  const drawing = draw(states);
  drawings.set(key, drawing);
  if (drawings.size > drawingsMax) drawings.delete(drawings.keys().next().value as string);
  return drawing;
}

async function draw(states: StateNode): Promise<ChartDrawing | null> {
  const chart = chartOfStates(states);
  if (chart === null) return null;
  engine ??= new (ELK as unknown as new (options: object) => Engine)({ workerFactory: () => new Worker(workerUrl) });
  return layOut(chart, engine).catch(() => null);
}
