/** The build output that the service serves, besides the inspector's own page. */
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { taskMachine, workerMachine } from '../../../machines/index.ts';
import { drawingOf } from '../../../src/inspector/chart/machine-drawing.ts';
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

test('GET /inspect is a small page that loads only its own files', async () => {
  const page = await fetch(`${stage.http.url}/inspect`);
  expect(page.headers.get('content-security-policy')).toContain("default-src 'self';");
  const html = await page.text();
  const names = [...html.matchAll(/(?:src|href)="(\/inspect\/[^"]+)"/g)].map(([, name]) => name);
  expect(names).toEqual(['/inspect/inspect.js', '/inspect/inspect.css']);
  const files = await Promise.all(names.map(async (name) => (await fetch(`${stage.http.url}${name}`)).text()));
  const size = [html, ...files].reduce((sum, text) => sum + gzipSync(text, { level: 9 }).length, 0);
  // The layout engine is loaded with the first machine.
  expect(size).toBeLessThan(25 * 1024);
  const engine = await fetch(`${stage.http.url}/inspect/elk-worker.js`);
  expect(engine.headers.get('content-type')).toContain('text/javascript');
  expect((await engine.text()).length).toBeGreaterThan(500_000);
});
