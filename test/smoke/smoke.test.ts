/** Uses the main parts of the shipped program once. Other tests cover each part in detail. */
import { execFile } from 'node:child_process';
import { readdir } from 'node:fs/promises';
import { delimiter, dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { describeInBrowser, openBrowser } from '../support/browser.ts';
import { type Folder, makeFolder } from '../support/deployment.ts';
import { clear, startDev } from '../support/dev.ts';
import { type Service, serveShipped } from '../support/service.ts';
import { runShipped } from '../support/shipped.ts';
import { claudeCode, installAgent } from '../system/agents/support/install.ts';
import { claudeScene } from '../system/agents/support/scene.ts';

const root = resolve(import.meta.dirname, '../..');
const run = promisify(execFile);
const openStep = { steps: [{ step: '1', title: 'Write tests', status: 'pending' }] };
const remains = '1 of 1 plan steps remain: Write tests';

let folder: Folder;
let service: Service & { readonly ready: { readonly http: string } };
beforeAll(async () => {
  folder = await makeFolder({ 'stopgate.yaml': 'policies: { default: { checks: [{ plan: {} }] } }\n' });
  service = await startDev(folder, serveShipped);
});
afterAll(async () => {
  await service.kill('SIGINT');
  await clear(folder);
});

const stopgate = (...args: string[]) => runShipped(args, { cwd: folder.path });

test('blocks a stop while a plan step is open', async () => {
  expect(await stopgate('publish', 'worker', 'w1', 'plan.updated', JSON.stringify(openStep))).toMatchObject({
    code: 0,
  });
  expect(await stopgate('decide', 'w1')).toMatchObject({ code: 1, stdout: expect.stringContaining(remains) });
});

test('keeps the count of blocks over a kill -9', async () => {
  await service.kill('SIGKILL');
  service = await startDev(folder, serveShipped);
  const { code, stdout } = await stopgate('decide', 'w1', '--json');
  expect(code).toBe(1);
  expect(JSON.parse(stdout)).toMatchObject({ decision: 'block', retry: { count: 2, max: 3 } });
});

test('allows the stop when the step is done', async () => {
  const done = JSON.stringify({ step: '1', status: 'completed' });
  expect(await stopgate('publish', 'worker', 'w1', 'step.updated', done)).toMatchObject({ code: 0 });
  expect(await stopgate('decide', 'w1')).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('allow · complete · complete'),
  });
});

describeInBrowser('the page', () => {
  test('lists the worker with its state', async () => {
    const browser = await openBrowser(() => [service.ready.http]);
    try {
      await browser.page.goto(service.ready.http);
      await browser.page.locator('tr[data-id="w1"] [data-state="stopped"]').waitFor();
      expect(browser.problems()).toEqual([]);
    } finally {
      await browser.close();
    }
  });
});

test('installs from its npm package, without a registry', async () => {
  const home = await makeFolder({ 'package.json': '{ "private": true }' });
  try {
    const out = join(home.path, 'packages');
    await run(process.execPath, [join(root, 'scripts/pack.js'), '--out', out]);
    const tarball = (await readdir(out)).find((name) => /^stopgate-\d.*\.tgz$/.test(name)) ?? '';
    const env = { PATH: [dirname(process.execPath), '/usr/bin', '/bin'].join(delimiter), HOME: home.path };
    const nowhere = 'http://127.0.0.1:9'; // the discard port, where nobody listens
    await run('npm', ['install', '--registry', nowhere, '--no-audit', '--no-fund', join(out, tarball)], {
      cwd: home.path,
      env,
    });
    const bin = join(home.path, 'node_modules/.bin/stopgate');
    const { stdout } = await run(bin, ['worker', 'w1', '--json', '--nats', service.ready.nats], { env });
    expect(JSON.parse(stdout)).toMatchObject({ state: 'stopped' });
  } finally {
    await home.remove();
  }
});

test('keeps the real Claude Code at work until its plan is done', async () => {
  const { model, run: prompt } = await claudeScene({
    program: await installAgent(claudeCode),
    http: service.ready.http,
    turns: [
      { tool: 'TaskCreate', input: { subject: 'Write tests', description: 'of the parser' } },
      { text: 'I am done.' },
      { tool: 'TaskUpdate', input: { taskId: '1', status: 'completed' } },
      { text: 'Now I am done.' },
    ],
  });
  const { code, stdout, worker } = await prompt('Write the tests.');
  expect({ code, stdout }).toMatchObject({ code: 0, stdout: expect.stringContaining('"result":"Now I am done."') });
  expect(model.requests[2]?.input).toContain(remains);
  const view = JSON.parse((await stopgate('worker', worker, '--json')).stdout);
  expect(view).toMatchObject({ agent: 'claude', state: 'stopped' });
});
