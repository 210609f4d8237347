/** Request bodies: content types, JSON objects, limits. */
import { expect, test } from 'vitest';
import { errorCodes } from '../../../src/errors.ts';
import { ask } from './request.ts';
import { errorOf, useServer } from './server-fixture.ts';

const http = useServer();

const post = (body: string, headers: Record<string, string | number>) =>
  ask(http.server.url, '/api/main/decide/w1', { method: 'POST', headers, body });
const json = { 'content-type': 'application/json' };

test('must have the content type application/json', async () => {
  for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'application/jsonp', 'nonsense']) {
    const answer = await post('{}', { 'content-type': type });
    expect([type, answer.status, errorOf(answer).code]).toEqual([type, 415, 'UNSUPPORTED_MEDIA_TYPE']);
  }
  expect((await post('{}', {})).status).toBe(415);
  expect((await post('', { 'content-type': 'text/plain' })).status).toBe(415);
  expect((await post('{}', { 'content-type': 'application/json; charset=utf-8' })).status).toBe(200);
});

test('may be empty, which means {}', async () => {
  expect((await post('', { 'content-length': 0 })).status).toBe(200);
  expect((await post('', json)).status).toBe(200);
  expect(http.service.requests.map(({ body }) => body)).toEqual([{}, {}]);
});

test('must be objects', async () => {
  for (const body of ['{', '[]', '1', 'null', '"x"']) {
    const answer = await post(body, json);
    expect([body, answer.status, errorOf(answer).code]).toEqual([body, 400, 'BAD_REQUEST']);
  }
  expect(http.service.requests).toEqual([]);
});

test('are limited to 16 MiB', async () => {
  expect((await post(JSON.stringify({ output: 'x'.repeat(16 * 1024 * 1024 - 100) }), json)).status).toBe(200);
  const answer = await post('', { ...json, 'content-length': 16 * 1024 * 1024 + 1 });
  expect([answer.status, errorOf(answer).code]).toEqual([413, errorCodes['payload.large'].wire]);
});

test('lose keys that would poison a prototype, and nothing else', async () => {
  expect((await post('{"__proto__":{"a":1},"constructor":{"prototype":{}},"output":"x"}', json)).status).toBe(200);
  expect(http.service.requests[0]?.body).toEqual({ output: 'x' });
});
