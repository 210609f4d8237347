/** `/api/<fleet>`: the requests of the protocol over HTTP. */
import { expect, test } from 'vitest';
import { AppError } from '../../../src/errors.ts';
import { ask } from './request.ts';
import { createGate, errorOf, useServer } from './server-fixture.ts';

const http = useServer({ isShared: true });

test.each(['decide', 'probe', 'verify'])('%s passes the body on and returns the decision', async (verb) => {
  const answer = await ask(http.server.url, `/api/main/${verb}/w1`, { body: { output: 'x' } });
  expect([answer.status, answer.json]).toMatchObject([200, { worker: 'w1', decision: 'allow' }]);
  expect(http.service.requests).toEqual([{ verb, id: 'w1', body: { output: 'x' } }]);
});

test('verify of incomplete work is 409 with the decision', async () => {
  const decision = { decision: 'block', reason: 'no' };
  http.service.fault = new AppError('stop.incomplete', 'the work is not complete', { details: { decision } });
  const answer = await ask(http.server.url, '/api/main/verify/w1', {
    method: 'POST',
    headers: { 'content-length': 0 },
  });
  expect([answer.status, answer.json]).toEqual([
    409,
    { error: { code: 'INCOMPLETE', message: 'the work is not complete', issues: [] }, decision },
  ]);
});

test('get', async () => {
  http.service.views.set('T-1', { task: 'T-1' });
  expect((await ask(http.server.url, '/api/main/get/task/T-1')).json).toEqual({ task: 'T-1' });
  expect((await ask(http.server.url, '/api/main/get/task/T-1', { body: {} })).json).toEqual({ task: 'T-1' });
  expect((await ask(http.server.url, '/api/main/get/task/T-2')).status).toBe(404);
  expect((await ask(http.server.url, '/api/main/get/thing/T-1')).status).toBe(404);
});

test('list takes its filter from the query or the body', async () => {
  const answer = await ask(http.server.url, '/api/main/list/workers?state=working&limit=5');
  expect([answer.status, answer.json]).toEqual([200, { items: [], next: null }]);
  await ask(http.server.url, '/api/main/list/tasks', { body: { queue: 'main' } });
  await ask(http.server.url, '/api/main/list/queues?limit=many');
  await ask(http.server.url, '/api/main/list/escalations?kind=permission');
  expect(http.service.requests).toEqual([
    { verb: 'list', id: 'workers', body: { state: 'working', limit: 5 } },
    { verb: 'list', id: 'tasks', body: { queue: 'main' } },
    { verb: 'list', id: 'queues', body: { limit: 'many' } },
    { verb: 'list', id: 'escalations', body: { kind: 'permission' } },
  ]);
  expect((await ask(http.server.url, '/api/main/list/worker')).status).toBe(404);
});

test('publish', async () => {
  const path = '/api/main/publish/worker/w1/tool/used';
  const answer = await ask(http.server.url, path, { body: { tool: 'Bash' }, headers: { 'nats-msg-id': 'm1' } });
  expect([answer.status, answer.json]).toEqual([200, { seq: 1 }]);
  expect(http.service.published).toEqual([
    { entity: 'worker', id: 'w1', type: 'tool.used', data: { tool: 'Bash' }, messageId: 'm1' },
  ]);
});

test('an entry that is not valid in the current state is 409 with the reason', async () => {
  http.service.refusal = 'task T-1 is held by w2';
  const answer = await ask(http.server.url, '/api/main/publish/worker/w1/task/claimed', { body: { task: 'T-1' } });
  expect([answer.status, errorOf(answer)]).toMatchObject([409, { code: 'REFUSED', message: 'task T-1 is held by w2' }]);
});

test('another fleet is not found', async () => {
  const answer = await ask(http.server.url, '/api/other/decide/w1', { body: {} });
  expect([answer.status, errorOf(answer).message]).toEqual([404, expect.stringContaining("'main'")]);
  expect((await ask(http.server.url, '/api/other/list/workers')).status).toBe(404);
  expect(http.service.requests).toEqual([]);
});

test.each([`${'w'.repeat(129)}`, 'a.b', '%2a', '_w'])('a bad id %s is 400', async (id) => {
  for (const path of [`/api/main/decide/${id}`, `/api/main/publish/worker/${id}/tool/used`]) {
    expect((await ask(http.server.url, path, { body: {} })).status).toBe(400);
  }
  expect((await ask(http.server.url, `/api/main/get/worker/${id}`)).status).toBe(400);
});

test('a client that disconnects does not cancel its decision', async () => {
  const held = createGate();
  const { pause } = http.service;
  http.service.pause = held.promise;
  const leaving = new AbortController();
  const gone = fetch(`${http.server.url}/api/main/decide/w1`, { method: 'POST', signal: leaving.signal });
  await expect.poll(() => http.service.requests).toHaveLength(1);
  leaving.abort();
  await expect(gone).rejects.toThrow();
  held.resolve();
  http.service.pause = pause;
  expect((await ask(http.server.url, '/healthz')).status).toBe(200);
  expect(http.log.error).not.toHaveBeenCalled();
});
