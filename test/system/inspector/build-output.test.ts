/** Build output that the service serves besides the page. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { taskMachine, workerMachine } from '../../../machines/index.ts';
import { drawingOf } from '../../../src/inspector/chart/layout.ts';
import { needsBuild } from '../../support/built.ts';
import { openStage, type Stage } from '../../support/stage.ts';

let stage: Stage;
beforeAll(async () => {
  needsBuild();
  stage = await openStage();
});
afterAll(() => stage?.close());

test('GET /machines.json has the layouts of both machines', async () => {
  const reply = await fetch(`${stage.http.url}/machines.json`);
  expect(reply.headers.get('content-type')).toBe('application/json; charset=utf-8');
  expect(await reply.json()).toEqual({ worker: await drawingOf(workerMachine), task: await drawingOf(taskMachine) });
});
