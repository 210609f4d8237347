/** The drawing of one of our machines. For the build and the tests: nothing that serves or shows charts may import it. */
import elk from 'elkjs/lib/elk.bundled.js';
import type { ELK } from 'elkjs/lib/elk-api.js';
import type { AnyStateMachine } from 'xstate';
import { chartOf } from './definition.ts';
import type { ChartDrawing, Outline } from './drawing.ts';
import { layOut } from './layout.ts';
import { layOutOutline } from './outline-layout.ts';

export const drawingOf = (machine: AnyStateMachine): Promise<ChartDrawing> => layOut(chartOf(machine), createEngine());

export const outlineOf = (drawing: ChartDrawing): Promise<Outline> => layOutOutline(drawing, createEngine());

const createEngine = () => new (elk as unknown as new () => ELK)();
