/** The documentation site, as the service serves it. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { ask } from './request.ts';
import { useServer } from './server-fixture.ts';

const http = useServer({ isShared: true, token: 'a-long-secret-token' });
const site = new URL('../../../dist/docs/', import.meta.url).pathname;

beforeAll(() => {
  if (!existsSync(join(site, 'llms.txt'))) throw new Error('dist/docs is missing. Run: npm run build');
});

test.each([
  ['/docs/', 'text/html', '<title>Documentation'],
  ['/docs/policies.html', 'text/html', '<title>Policies'],
  ['/docs/policies', 'text/html', '<title>Policies'],
  ['/docs/operations/', 'text/html', '<title>Operations'],
  ['/docs/policies.md', 'text/markdown', '# Policies'],
  ['/docs/llms.txt', 'text/plain', '- [Policies](policies.md): '],
  ['/docs/llms-full.txt', 'text/plain', '<!-- policies.md -->'],
  ['/docs/search.json', 'application/json', '"url":"policies.html'],
])('%s is served as %s to anyone', async (path, type, content) => {
  const { status, headers, text } = await ask(http.server.url, path);
  expect([status, headers['content-type']]).toEqual([200, `${type}; charset=utf-8`]);
  expect(text).toContain(content);
  expect(headers['content-security-policy']).toContain("default-src 'self'");
});

test('the Markdown of each page is the file that the build writes for other web servers', async () => {
  const names = readdirSync(site, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.md'));
  expect(names.length).toBeGreaterThan(60);
  for (const name of names)
    expect((await ask(http.server.url, `/docs/${name}`)).text).toBe(readFileSync(join(site, name), 'utf8'));
});

test('a page that has not changed is not sent again', async () => {
  const { headers } = await ask(http.server.url, '/docs/policies');
  const again = await ask(http.server.url, '/docs/policies', { headers: { 'if-none-match': String(headers.etag) } });
  expect([again.status, again.text]).toEqual([304, '']);
});

test.each([
  '/docs/nosuch',
  '/docs/nosuch.md',
  '/docs/..%2f..%2fpackage.json',
  '/docs/%2e%2e/%2e%2e/package.json',
  '/docs/%00',
])('%s is refused', async (path) => {
  const { status, text } = await ask(http.server.url, path);
  expect(status).toBeGreaterThanOrEqual(400);
  expect(text).not.toContain('"dependencies"');
});

test('every link on the site leads to a page and a section that exist', () => {
  const names = readdirSync(site, { recursive: true, encoding: 'utf8' }).map((name) => name.replaceAll('\\', '/'));
  const pages = new Map(
    names.filter((name) => name.endsWith('.html')).map((name) => [name, readFileSync(join(site, name), 'utf8')]),
  );
  expect(pages.size).toBeGreaterThan(60);
  const dead = [...pages].flatMap(([page, html]) =>
    [...html.matchAll(/\b(?:href|src|srcset)="([^"]+)"/g)].flatMap(([, target = '']) => {
      if (/^[a-z]+:/.test(target)) return [];
      const [path = '', anchor] = target.split('#');
      const file = path === '' ? page : posix.join(posix.dirname(page), path);
      if (!names.includes(file)) return [`${page}: ${target}`];
      return anchor === undefined || pages.get(file)?.includes(`id="${anchor}"`) === true ? [] : [`${page}: ${target}`];
    }),
  );
  expect(dead).toEqual([]);
});
