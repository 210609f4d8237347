/** Health, readiness, metrics, the inspector page and the list of endpoints. */
import { expect, test } from 'vitest';
import { needsBuild } from '../../support/built.ts';
import { ask } from './request.ts';
import { errorOf, useServer } from './server-fixture.ts';

const http = useServer({ isShared: true });

test('health and readiness', async () => {
  expect((await ask(http.server.url, '/healthz')).json).toEqual({ ok: true });
  expect((await ask(http.server.url, '/readyz')).json).toEqual({
    ok: true,
    fleets: { main: { foldedSeq: expect.any(Number), lag: 0 } },
  });
  http.service.runnersMissing = ['gpu'];
  const lacking = await ask(http.server.url, '/readyz');
  expect([lacking.status, lacking.json]).toMatchObject([
    200,
    { ok: true, fleets: { main: { runnersMissing: ['gpu'] } } },
  ]);
  http.service.state = { ...http.service.state, ready: false, reason: 'the log is gone' };
  const answer = await ask(http.server.url, '/readyz');
  expect([answer.status, errorOf(answer)]).toMatchObject([503, { message: 'the log is gone' }]);
  expect((await ask(http.server.url, '/healthz')).status).toBe(200);
  expect(http.log.warn).not.toHaveBeenCalled();
});

test('metrics', async () => {
  const { url } = await http.open(); // it has counted nothing yet
  await ask(url, '/api/main/decide/w1', { body: {} });
  await ask(url, '/nothing');
  const answer = await ask(url, '/metrics');
  expect(answer.headers['content-type']).toMatch(/^text\/plain; version=0\.0\.4/);
  for (const line of [
    'stopgate_fold_seq{fleet="main"} 42',
    'stopgate_open_attempts{fleet="main"} 3',
    'stopgate_neglected{fleet="main"} 2',
    'stopgate_requests_total{fleet="main",verb="decide",status="200"} 1',
    'stopgate_ready{fleet="main"} 1',
    'stopgate_http_requests_total{method="POST",route="/api/:fleet/decide/:worker",status="200"} 1',
    'stopgate_http_requests_total{method="GET",route="none",status="404"} 1',
  ]) {
    expect(answer.text).toContain(`${line}\n`);
  }
  expect(answer.text).toMatch(/^stopgate_process_cpu_seconds_total /m);
});

test('GET / is the inspector, or the endpoints for clients that accept plain text only', async () => {
  needsBuild();
  const html = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' };
  const page = await ask(http.server.url, '/', { headers: html });
  expect([page.status, page.headers['content-type']]).toEqual([200, 'text/html; charset=utf-8']);
  expect(page.headers['content-security-policy']).toBe(
    "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; object-src 'none'",
  );
  expect((await ask(http.server.url, '/', { headers: { accept: '*/*' } })).text).toBe(page.text);
  expect((await ask(http.server.url, '/', { headers: { accept: 'text/plain' } })).text).toMatch(/^stopgate\n/);
  const again = await ask(http.server.url, '/', { headers: { ...html, 'if-none-match': page.headers.etag ?? '' } });
  expect([again.status, again.text]).toEqual([304, '']);
  const [, script = ''] = /src="\.([^"]+)"/.exec(page.text) ?? [];
  const file = await ask(http.server.url, script, { headers: { 'accept-encoding': 'gzip' } });
  expect(file.headers).toMatchObject({
    'content-encoding': 'gzip',
    'content-type': 'text/javascript; charset=utf-8',
  });
  expect(file.headers['cache-control']).toContain('immutable');
  expect((await ask(http.server.url, '/favicon.ico')).headers['content-type']).toBe('image/svg+xml');
  for (const path of ['/assets/..%2f..%2fpackage.json', '/assets/none.js']) {
    expect((await ask(http.server.url, path)).status, path).toBe(404);
  }
  expect((await ask(http.server.url, '/', { headers: { ...html, host: 'evil.example' } })).status).toBe(421);
});

test('the page needs no token, since it holds no data; everything else does', async () => {
  needsBuild();
  const { url } = await http.open({ token: 'secret-1' });
  const html = { accept: 'text/html' };
  expect((await ask(url, '/', { headers: html })).status).toBe(200);
  expect((await ask(url, '/favicon.ico')).status).toBe(200);
  for (const path of ['/', '/api', '/api/main/range', '/api/main/stream']) {
    expect((await ask(url, path)).status, path).toBe(401);
  }
  expect((await ask(url, '/api', { headers: html })).status).toBe(401);
});

test('GET /api lists the endpoints as text', async () => {
  const answer = await ask(http.server.url, '/api');
  for (const path of ['POST /v1/<logs|metrics|traces>', 'DELETE /api/main/session'])
    expect(answer.text).toContain(path);
  expect([answer.status, answer.headers['content-type']]).toEqual([200, 'text/plain; charset=utf-8']);
  expect(answer.text).toContain('POST /hooks/claude\n');
  expect(answer.text).toContain('POST /api/main/decide/<worker>\n');
});
