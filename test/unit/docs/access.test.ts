/**
 * What docs/security/http.md says of each endpoint is what the server asks for: the table is made from its rows, and `npx vitest
 * run test/unit/docs/access.test.ts -u` writes it.
 */
import { readFileSync } from 'node:fs';
import { fastify } from 'fastify';
import { expect, test } from 'vitest';
import { accessTable, requireAccessRows } from '../../../src/http/access.ts';
import { createHttpApp } from '../../../src/http/server.ts';
import { createLogger } from '../../../src/log.ts';
import { createMetrics } from '../../../src/telemetry/metrics.ts';

const page = new URL('../../../docs/security/http.md', import.meta.url);
const scopes = { all: 'all of it', own: 'own', none: 'nothing' };

test('docs/security/http.md says what each endpoint takes', async () => {
  const groups = new Map<string, string[]>();
  for (const [endpoint, { role, workers }] of accessTable) {
    const start = `| ${role === null ? 'none' : `\`${role}\``} | ${scopes[workers]} |`;
    groups.set(start, [...(groups.get(start) ?? []), `\`${endpoint.replaceAll(/:(\w+)/g, '<$1>')}\``]);
  }
  const rows = [...groups].map(([start, endpoints]) => `${start} ${endpoints.join(' · ')} |`);
  const table = ['| role | with `workers` | endpoints |', '| --- | --- | --- |', ...rows].join('\n');
  const written = readFileSync(page, 'utf8').replace(
    /<!-- access -->\n[\s\S]*?\n<!-- \/access -->/,
    `<!-- access -->\n${table}\n<!-- /access -->`,
  );
  expect(written).toContain(table);
  await expect(written).toMatchFileSnapshot('../../../docs/security/http.md');
});

test('every row is an endpoint, and no endpoint is without a row', async () => {
  const { app, close } = await createHttpApp({
    fleets: { replica: 'r', default: () => null, has: () => false, states: () => [], find: () => expect.fail() },
    host: '127.0.0.1',
    token: null,
    operatorToken: null,
    version: '0',
    metrics: createMetrics(),
    log: createLogger('silent'),
  });
  await app.ready();
  const has = (endpoint: string) => {
    const [method = '', url = ''] = endpoint.split(' ');
    return app.hasRoute({ method: method as 'GET', url });
  };
  // A WebSocket is no route.
  const apart = new Set(['GET /inspect/ws']);
  expect([...accessTable.keys()].filter((it) => !has(it) && !apart.has(it))).toEqual([]);
  await close();
});

test('an endpoint without a row cannot be added', async () => {
  const app = fastify();
  requireAccessRows(app);
  app.get('/healthz', async () => ({}));
  expect(() => app.get('/secrets', async () => ({}))).toThrow('who may GET /secrets?');
});
