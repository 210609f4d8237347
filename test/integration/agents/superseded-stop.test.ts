/** A stop that a newer one supersedes while its check runs, from a real service. */
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { WorkerView } from '../../../machines/index.ts';
import { type Deployment, deploy } from '../../support/deployment.ts';
import { ask } from '../http/request.ts';

const config = JSON.stringify({
  policies: { default: { checks: [{ command: 'tests' }] } },
  commands: { tests: { run: ['sh', '-c', 'until [ -e go ]; do sleep 0.05; done; cat go >&2; exit 1'], cwd: '.' } },
});

let at: Deployment;
beforeAll(async () => {
  at = await deploy({ config });
});
afterAll(() => at.close());

const call = async (event: string, more: object = {}) => {
  const body = { hook_event_name: event, session_id: 's1', cwd: at.folder.path, ...more };
  const { status, json } = await ask(at.http, '/hooks/claude', { body });
  return [status, json];
};
const view = async () => (await at.client.ask('get.worker.s1')).body as unknown as WorkerView;
const attempt = async () => (await view().catch(() => null))?.attempt?.attempt ?? null;

test('it gets the answer of the newer one, and one of a prompt gets none', async () => {
  const first = call('Stop');
  await expect.poll(attempt, { timeout: 10_000 }).not.toBeNull();
  const id = await attempt();
  const second = call('Stop');
  await expect.poll(attempt, { timeout: 10_000 }).not.toBe(id);
  await writeFile(join(at.folder.path, 'go'), 'red');
  const answers = await Promise.all([first, second]);
  expect(answers[0]).toEqual(answers[1]);
  expect(answers[0]).toMatchObject([200, { decision: 'block', reason: expect.stringContaining('red') }]);
  expect((await view()).retry.count).toBe(1);
  await rm(join(at.folder.path, 'go'));
  const third = call('Stop');
  await expect.poll(attempt, { timeout: 10_000 }).not.toBeNull();
  await call('UserPromptSubmit', { prompt: 'do something else' });
  expect(await third).toEqual([204, null]);
});
