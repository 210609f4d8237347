/** A build step: lays out the machines for the page and for `GET /machines.json`. Runs from dist, before the page is bundled. */
import { writeFileSync } from 'node:fs';
import { taskMachine, workerMachine } from '../../../machines/index.ts';
import type { Charts } from './drawing.ts';
import { drawingOf } from './machine-drawing.ts';

const charts: Charts = { worker: await drawingOf(workerMachine), task: await drawingOf(taskMachine) };
writeFileSync(new URL('../../../machines.json', import.meta.url), `${JSON.stringify(charts)}\n`);
