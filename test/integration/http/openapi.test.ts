/** The OpenAPI document is valid by the published schema and has exactly the endpoints of the API. */
import { Validator } from '@seriousme/openapi-schema-validator';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { expect, test } from 'vitest';
import { readRoutes } from '../../support/http-routes.ts';
import { ask } from './request.ts';
import { errorOf, useServer } from './server-fixture.ts';

type Operation = {
  readonly security?: readonly object[];
  readonly parameters: readonly { readonly name: string; readonly in: string }[];
  readonly requestBody?: { readonly content: Record<string, { schema?: object }> };
  readonly responses: Record<string, object>;
};
type Document = {
  readonly openapi: string;
  readonly paths: Record<string, Record<string, Operation>>;
  readonly components: { readonly schemas: Record<string, object> };
};

const http = useServer({ isShared: true });
const read = async () => (await ask(http.server.url, '/api/openapi.json')).json as Document;

/** Validates with the document's schemas, with resolved references. Each is compiled once. */
async function openSchemas() {
  const document = await read();
  const ajv = new Ajv2020({ strict: false, validateFormats: false });
  ajv.addSchema({ $id: 'document', ...document });
  const fits = (schema: object, value: unknown): boolean => {
    const whole = JSON.parse(JSON.stringify(schema).replaceAll('"#/', '"document#/')) as object;
    return ajv.validate(whole, value);
  };
  return { document, fits };
}

test('is valid OpenAPI 3.1', async () => {
  const document = await read();
  const validator = new Validator();
  expect(await validator.validate(structuredClone(document))).toMatchObject({ valid: true });
  expect(validator.version).toBe('3.1');
  const broken = { ...document, paths: { '/api': { get: { responses: 'none' } } } };
  expect(await new Validator().validate(broken)).toMatchObject({ valid: false });
});

test('every reference has a component, and every schema is valid JSON Schema', async () => {
  const document = await read();
  const refs = new Set(
    [...JSON.stringify(document).matchAll(/"\$ref":"#\/([^"]+)"/g)].map(([, path]) => path as string),
  );
  const missing = [...refs].filter(
    (path) =>
      path.split('/').reduce<unknown>((at, key) => (at as Record<string, unknown>)?.[key], document) === undefined,
  );
  expect(missing).toEqual([]);
  const ajv = new Ajv2020({ strict: false, validateFormats: false });
  for (const [name, schema] of Object.entries(document.components.schemas))
    expect(ajv.validateSchema(schema), name).toBe(true);
});

test('has every endpoint of the server except the pages, and no others', async () => {
  const document = await read();
  const listed = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path.replaceAll(/\{(\w+)\}/g, ':$1')}`),
  );
  const isPage = /^GET \/($|assets\/|icon\/|docs|favicon|inspect|machines\.json)/;
  const registered = (await readRoutes()).map(({ method, url }) => `${method} ${url}`);
  expect(listed.toSorted()).toEqual(registered.filter((endpoint) => !isPage.test(endpoint)).toSorted());
  const ids = [...JSON.stringify(document).matchAll(/"operationId":"(\w+)"/g)].map(([, id]) => id);
  expect(new Set(ids).size).toBe(listed.length);
});

test('describes the parameters of each path', async () => {
  for (const [path, methods] of Object.entries((await read()).paths))
    for (const { parameters } of Object.values(methods)) {
      const inPath = parameters.flatMap(({ name, in: place }) => (place === 'path' ? [name] : []));
      expect(inPath, path).toEqual([...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name));
    }
});

test('accepts the same input as the service, and describes its errors', async () => {
  const { document, fits } = await openSchemas();
  const { paths } = document;
  const bodyOf = (path: string) => paths[path]?.post?.requestBody?.content['application/json']?.schema ?? expect.fail();
  const operator = bodyOf('/api/{fleet}/operator/{word}');
  expect(fits(operator, { id: 'w1', by: 'ada', verdict: 'resume', prompt: 'go on' })).toBe(true);
  expect(fits(operator, { id: 'w1', verdict: 'resume' })).toBe(false);
  const list = bodyOf('/api/{fleet}/list/{entities}');
  expect([fits(list, { limit: 5 }), fits(list, { limit: 0 })]).toEqual([true, false]);
  const refused = await ask(http.server.url, '/api/main/get/worker/none');
  const error = { $ref: '#/components/schemas/Error' };
  expect(fits(error, refused.json)).toBe(true);
  expect(fits(error, { error: { code: 'ODD', message: '', issues: [] } })).toBe(false);
  expect(paths['/api/{fleet}/verify/{worker}']?.post?.responses).toHaveProperty('409');
  expect(paths['/healthz']?.get?.security).toEqual([]);
});

test('needs a token like other reads, and is sent once to clients that cache it', async () => {
  const { url } = await http.open({ token: 'secret-1' });
  const refused = await ask(url, '/api/openapi.json');
  expect([refused.status, errorOf(refused).code]).toEqual([401, 'UNAUTHORIZED']);
  const headers = { authorization: 'Bearer secret-1' };
  const first = await ask(url, '/api/openapi.json', { headers });
  expect([first.status, first.headers['content-type']]).toEqual([200, 'application/json; charset=utf-8']);
  const again = await ask(url, '/api/openapi.json', {
    headers: { ...headers, 'if-none-match': first.headers.etag ?? '' },
  });
  expect([again.status, again.text]).toEqual([304, '']);
});
