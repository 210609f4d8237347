/** Hooks in the user's own settings run in all folders. Outside of the service's folders they say and store nothing. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Deployment, deploy } from '../../support/deployment.ts';
import { ask } from '../http/request.ts';

const config = JSON.stringify({ policies: { default: { checks: [{ plan: { required: true } }] } } });

let at: Deployment;
let elsewhere: string;
beforeAll(async () => {
  [at, elsewhere] = await Promise.all([deploy({ config }), mkdtemp(join(tmpdir(), 'stopgate-elsewhere-'))]);
});
afterAll(() => Promise.all([at.close(), rm(elsewhere, { recursive: true })]));

const call = async (session: string, cwd: string, query = '?scope=user', event = 'Stop') => {
  const body = { hook_event_name: event, session_id: session, cwd };
  const { status, json } = await ask(at.http, `/hooks/claude${query}`, { body });
  return [status, (json as { decision?: string } | null)?.decision];
};

test('a session in another folder is ignored, and the service does not learn of it', async () => {
  expect(await call('stranger', elsewhere, undefined, 'UserPromptSubmit')).toEqual([204, undefined]);
  expect(await call('stranger', elsewhere)).toEqual([204, undefined]);
  expect(await at.client.ask('get.worker.stranger')).toMatchObject({ body: { error: { code: 'NOT_FOUND' } } });
});

test('a session that began in the folder is judged wherever it goes', async () => {
  await call('guest', at.folder.path, undefined, 'UserPromptSubmit');
  expect(await call('guest', elsewhere)).toEqual([200, 'block']);
});

test.each([
  ['hooks of a project', () => elsewhere, ''],
  ['a folder that the service does not see, such as one on another machine', () => '/nowhere/at/all', '?scope=user'],
])('%s are never ignored', async (what, folder, query) => {
  expect(await call(what.length.toString(), folder(), query)).toEqual([200, 'block']);
});
