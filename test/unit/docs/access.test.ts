/**
 * The table of docs/security/http.md is generated from the routes of the server. `npx
 * vitest run test/unit/docs/access.test.ts -u` writes it.
 */
import { readFileSync } from 'node:fs';
import { fastify } from 'fastify';
import { expect, test } from 'vitest';
import { accessRoles } from '../../../src/config/access-tokens.ts';
import { type Access, open } from '../../../src/http/access.ts';
import { recordRoutes } from '../../../src/http/routes.ts';
import { readRoutes } from '../../support/http-routes.ts';

const page = new URL('../../../docs/security/http.md', import.meta.url);
const roles = [null, ...accessRoles];
const scopes = { all: 'all of it', own: 'own', none: 'nothing' } as const;

test('docs/security/http.md lists the access of each endpoint', async () => {
  const routes = await readRoutes();
  const rows = roles.flatMap((role) =>
    Object.entries(scopes).flatMap(([scope, text]) => {
      const found = routes.filter(({ access }) => access.role === role && access.workers === scope);
      const endpoints = found.map(({ method, url }) => `\`${method} ${url.replaceAll(/:(\w+)/g, '<$1>')}\``);
      const start = `| ${role === null ? 'none' : `\`${role}\``} | ${text} |`;
      return found.length === 0 ? [] : [`${start} ${endpoints.join(' · ')} |`];
    }),
  );
  const table = ['| role | with `workers` | endpoints |', '| --- | --- | --- |', ...rows].join('\n');
  const written = readFileSync(page, 'utf8').replace(
    /<!-- access -->\n[\s\S]*?\n<!-- \/access -->/,
    `<!-- access -->\n${table}\n<!-- /access -->`,
  );
  expect(written).toContain(table);
  await expect(written).toMatchFileSnapshot('../../../docs/security/http.md');
});

test('only these endpoints need no token', async () => {
  const isOpen = ({ role }: Access) => role === null;
  const endpoints = (await readRoutes()).flatMap(({ method, url, access }) =>
    isOpen(access) ? [`${method} ${url}${access.isSigned === true ? ' by a signed link' : ''}`] : [],
  );
  expect(endpoints.sort()).toEqual([
    'DELETE /api/:fleet/session',
    'GET /',
    'GET /answer by a signed link',
    'GET /assets/:file',
    'GET /docs',
    'GET /docs/*',
    'GET /favicon.ico',
    'GET /healthz',
    'GET /icon/:file',
    'POST /answer by a signed link',
  ]);
});

test('an endpoint without an access rule cannot be added', async () => {
  const app = fastify();
  recordRoutes(app);
  app.get('/healthz', { config: { access: open } }, async () => ({}));
  expect(() => app.get('/secrets', async () => ({}))).toThrow('who may GET /secrets?');
});
