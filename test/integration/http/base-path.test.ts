/** A service behind a proxy that serves it under a path. */
import { afterEach, expect, test } from 'vitest';
import { readOptions } from '../../../src/hook-command/options.ts';
import { openPathProxy, type PathProxy } from '../../support/path-proxy.ts';
import { recorded } from '../../unit/agents/recordings/claude.ts';
import { useServer } from './server-fixture.ts';

const token = 'a-long-secret-token';
const authorization = `Bearer ${token}`;
const http = useServer({ isShared: true });

const proxies: PathProxy[] = [];
afterEach(async () => {
  await Promise.all(proxies.splice(0).map((proxy) => proxy.close()));
});

async function openBehind(path: string, removes: boolean) {
  const proxy = await openPathProxy(path, removes);
  proxies.push(proxy);
  const server = await http.open({ token, publicUrl: `${proxy.url}/` });
  proxy.forwardTo(server.url);
  return { proxy, server };
}

test.each([
  ['passes it on', false],
  ['removes it', true],
])('a path works if the proxy %s', async (_, removes) => {
  const { proxy, server } = await openBehind('/tools/stopgate', removes);
  const get = (path: string, headers: Record<string, string> = { authorization }) =>
    fetch(`${proxy.url}${path}`, { headers, redirect: 'manual' });

  const page = await get('/', { accept: 'text/html' });
  const html = await page.text();
  const assets = [...html.matchAll(/(?:src|href)="([^"#]+)"/g)].map(([, link = '']) => new URL(link, page.url).href);
  expect(assets.length).toBeGreaterThan(2);
  for (const asset of assets) expect((await fetch(asset)).status, asset).toBe(200);

  const docs = await get('/docs');
  const docsPage = new URL(docs.headers.get('location') ?? '', docs.url).href;
  expect([docs.status, docsPage]).toEqual([302, `${proxy.url}/docs/`]);
  expect(await (await fetch(`${docsPage}policies.html`)).text()).toContain('<title>Policies');

  expect((await get('/readyz', {})).status).toBe(401);
  expect((await get('/readyz')).status).toBe(200);
  const openApi = (await (await get('/api/openapi.json')).json()) as { servers: unknown };
  expect(openApi.servers).toEqual([{ url: '/tools/stopgate/' }]);

  const signedIn = await fetch(`${proxy.url}/api/main/session`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization, origin: new URL(proxy.url).origin },
    body: JSON.stringify({ token }),
  });
  expect(signedIn.status).toBe(204);
  expect(signedIn.headers.get('set-cookie')).toContain('; Path=/tools/stopgate/; ');

  // Hooks and probes of the same machine need no proxy, and no path.
  const direct = (path: string, init: RequestInit = {}) =>
    fetch(`${server.url}${path}`, { ...init, headers: { 'content-type': 'application/json', authorization } });
  expect((await direct('/readyz')).status).toBe(200);
  expect((await direct('/hooks/claude', { method: 'POST', body: JSON.stringify(recorded('PreToolUse')) })).status).toBe(
    204,
  );
});

test('the path without its slash leads to the page, with its query', async () => {
  const { proxy } = await openBehind('/tools/stopgate', false);
  const { status, headers } = await fetch(`${proxy.url}?worker=w1`, { redirect: 'manual' });
  const target = new URL(headers.get('location') ?? '', proxy.url).href;
  expect([status, target]).toEqual([302, `${proxy.url}/?worker=w1`]);
});

test('a path that the service itself uses is refused', async () => {
  await expect(http.open({ token, publicUrl: 'https://stop.example/api/' })).rejects.toMatchObject({
    code: 'config.bad',
    message: expect.stringContaining('begins with /api, which is a path of the service itself'),
  });
});

test('hooks take a URL with a path, and refuse one that a proxy would resolve', async () => {
  const { http: url } = await readOptions(['claude', '--http', 'https://tools.example/stopgate/'], {}, '/');
  expect(url).toBe('https://tools.example/stopgate');
  for (const bad of ['https://h/a/../b', 'https://h/a//b', 'https://h/a?b', 'h/a b'])
    await expect(readOptions(['claude', '--http', bad], {}, '/'), bad).rejects.toThrow('is not HOST:PORT');
});
