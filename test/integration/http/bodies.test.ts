/** Request bodies: content types, JSON objects, limits. */
import { createConnection } from 'node:net';
import { expect, test } from 'vitest';
import { errorCodes } from '../../../src/errors.ts';
import { bodyBytesMax } from '../../../src/http/replies.ts';
import { ask } from './request.ts';
import { errorOf, useServer } from './server-fixture.ts';

const http = useServer({ isShared: true });

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

test('may be UTF-16, have byte order marks, and numbers that are not valid JSON', async () => {
  const bodies = [
    Buffer.from('\ufeff\ufeff{"output":"é"}'),
    Buffer.from('\ufeff{"output":"é"}', 'utf16le'),
    Buffer.from('{"output":"é"}', 'utf16le'),
    Buffer.from('\ufeff{"output":"é"}', 'utf16le').swap16(),
    Buffer.from('{"output":"é"}', 'utf16le').swap16(),
  ];
  const send = (body: Uint8Array | string) =>
    fetch(`${http.server.url}/api/main/decide/w1`, { method: 'POST', headers: json, body });
  for (const body of bodies) expect((await send(body)).status).toBe(200);
  expect((await send('{"output":"NaN, \\"NaN","ratio":NaN,"more":[-Infinity]}')).status).toBe(200);
  const { requests } = http.service;
  expect(requests.slice(0, -1).map(({ body }) => body)).toEqual(bodies.map(() => ({ output: 'é' })));
  expect(requests.at(-1)?.body).toEqual({ output: 'NaN, "NaN', ratio: null, more: [null] });
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

// Root cause: the connection was closed with the answer, so `fetch` and others failed to write and never read it.
test('that are too large are answered before they are sent, and the connection stays usable', async () => {
  const socket = createConnection(Number(new URL(http.server.url).port), '127.0.0.1');
  const send = (method: string, path: string, more = '') =>
    void socket.write(`${method} ${path} HTTP/1.1\r\nHost: ${new URL(http.server.url).host}\r\n${more}\r\n`);
  const bytes = bodyBytesMax + 1;
  send('POST', '/api/main/decide/w1', `Content-Type: application/json\r\nContent-Length: ${bytes}\r\n`);
  const lines: string[] = [];
  for await (const text of socket) {
    lines.push(
      ...String(text)
        .split('\r\n')
        .filter((line) => line.startsWith('HTTP/1.1')),
    );
    if (lines.length > 1) break;
    if (socket.bytesWritten > bytes) continue;
    socket.write(' '.repeat(bytes));
    send('GET', '/healthz');
  }
  expect(lines).toEqual(['HTTP/1.1 413 Payload Too Large', 'HTTP/1.1 200 OK']);
});

test('lose only keys that would poison a prototype', async () => {
  expect((await post('{"__proto__":{"a":1},"constructor":{"prototype":{}},"output":"x"}', json)).status).toBe(200);
  expect(http.service.requests[0]?.body).toEqual({ output: 'x' });
});
