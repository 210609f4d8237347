/** The common parts of replies: headers, and the form of errors. */
import { expect, test } from 'vitest';
import { ask } from './request.ts';
import { errorOf, useServer } from './server-fixture.ts';

const http = useServer({ isShared: true });

test.each([
  ['/healthz', 200],
  ['/nothing?token=x', 404],
  ['/%zz', 400],
  ['/hooks/claude', 404],
])('%s', async (path, status) => {
  const answer = await ask(http.server.url, path);
  expect(answer.status).toBe(status);
  expect(answer.headers).toMatchObject({
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    'content-security-policy': expect.stringContaining("default-src 'none'"),
  });
  expect(answer.headers).not.toHaveProperty('server');
  expect(answer.headers).not.toHaveProperty('x-powered-by');
  expect(answer.text).not.toContain('token');
  if (status !== 200)
    expect(answer.json).toEqual({ error: { code: expect.any(String), message: expect.any(String), issues: [] } });
});

test('a bug is 500, and only the log has the details', async () => {
  http.service.fault = new TypeError('cannot read secrets of undefined');
  const answer = await ask(http.server.url, '/api/main/decide/w1', { body: {} });
  expect([answer.status, errorOf(answer).code]).toEqual([500, 'INTERNAL']);
  expect(answer.text).not.toContain('secrets');
  expect(http.log.error).toHaveBeenCalledOnce();
});
