/**
 * Build step: lays out the machines for `GET /machines.json` and, with outlines, for the page. Runs from dist before
 * the page is bundled.
 */
import { writeFileSync } from 'node:fs';
import { taskMachine, workerMachine } from '../../../machines/index.ts';
import type { Charts, Outlines } from './drawing.ts';
import { drawingOf, outlineOf } from './layout.ts';

const charts: Charts = { worker: await drawingOf(workerMachine), task: await drawingOf(taskMachine) };
const outlines: Outlines = { worker: await outlineOf(charts.worker), task: await outlineOf(charts.task) };
write('machines.json', charts);
write('outlines.json', outlines);

function write(name: string, content: object): void {
  writeFileSync(new URL(`../../../${name}`, import.meta.url), `${JSON.stringify(content)}\n`);
}
