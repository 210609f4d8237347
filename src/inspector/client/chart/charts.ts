/** The charts of our machines, as the build laid them out: with all labels, and as outlines. */
import { task, worker } from 'stopgate:charts';
import { task as taskOutline, worker as workerOutline } from 'stopgate:outlines';
import { drawOutline } from '../../chart/outline.ts';

export const charts = {
  worker: { drawing: worker, outline: drawOutline(worker, workerOutline) },
  task: { drawing: task, outline: drawOutline(task, taskOutline) },
} as const;
