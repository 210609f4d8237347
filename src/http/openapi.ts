/**
 * Creates the OpenAPI 3.1 document from the schemas of the routes. Loaded on demand, so that the service starts without
 * the libraries for it.
 */
import { STATUS_CODES } from 'node:http';
import swagger from '@fastify/swagger';
import { type FastifySchema, fastify } from 'fastify';
import { createJsonSchemaTransform, createJsonSchemaTransformObject } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { attemptSchema, decisionSchema, entrySchemas, hookResultSchema, idSchema } from '../../machines/index.ts';
import { personWaitSchema, detailSchema as taskDetailSchema, viewSchemas } from '../client/replies.ts';
import { errorCodes } from '../errors.ts';
import type { Access } from './access.ts';
import { errorSchema } from './route-schemas.ts';
import type { Route } from './routes.ts';

type Json = Record<string, unknown>;
type Operation = {
  parameters?: object[];
  requestBody?: { required: boolean };
  responses: Record<string, { description?: string; $ref?: string }>;
};
type Document = {
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Json; responses: Json };
};

type Described = {
  /** The version of the service. */
  readonly version: string;
  /** The prefix behind a proxy, or the empty string. */
  readonly basePath: string;
  readonly routes: readonly Route[];
};

export async function openApiDocument({ version, basePath, routes }: Described): Promise<object> {
  const app = fastify({ exposeHeadRoutes: false });
  app.setValidatorCompiler(() => () => true);
  app.setSerializerCompiler(() => JSON.stringify);
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.1',
      info: {
        title: 'stopgate',
        version,
        license: { name: 'MIT', identifier: 'MIT' },
        summary: 'May this coding agent stop?',
        description: 'On loopback, while no token is configured, only the operator endpoints need one.',
      },
      servers: [{ url: `${basePath}/` }],
      security: [{ bearer: [] }],
      tags: ['requests', 'reads', 'operator', 'agents', 'service'].map((name) => ({ name })),
      components: {
        responses: errorResponses,
        securitySchemes: { bearer: { type: 'http', scheme: 'bearer' } },
      },
    },
    convertConstToEnum: false,
    transform: ({ schema, url, route, ...document }) => {
      const { method, config } = route;
      const described = describeRoute(String(method), url, config?.access as Access, schema);
      return toJsonSchema({ schema: described, url, route, ...document } as never) as never;
    },
    transformObject: (document) => complete(withComponents(document as never) as unknown as Document),
  });
  for (const { method, url, access, schema } of routes)
    if (schema !== undefined) app.route({ method, url, schema, config: { access }, handler: async () => null });
  await app.ready();
  return app.swagger();
}

/** The schemas with a name in the document. Recursive schemas need one. */
const named = z.registry<{ id: string }>();
const names: Readonly<Record<string, z.ZodType>> = {
  Id: idSchema,
  Error: errorSchema,
  Attempt: attemptSchema,
  Decision: decisionSchema,
  HookResult: hookResultSchema,
  Worker: viewSchemas.worker,
  Task: taskDetailSchema,
  TaskView: viewSchemas.task,
  Queue: viewSchemas.queue,
  PersonWait: personWaitSchema,
  Hook: entrySchemas.task['hook.registered'].shape.of.unwrap().element,
};
for (const [id, schema] of Object.entries(names)) named.add(schema, { id });
for (const area of ['worker', 'task', 'queue'] as const)
  for (const [type, schema] of Object.entries<z.ZodType>(entrySchemas[area]))
    if (!named.has(schema)) named.add(schema, { id: `${area}.${type}` });

const options = {
  schemaRegistry: named,
  zodToJsonConfig: {
    // Our registry has only names. The descriptions are in the global one.
    override({ zodSchema, jsonSchema }: { zodSchema: z.core.$ZodType; jsonSchema: z.core.JSONSchema.BaseSchema }) {
      const description = z.globalRegistry.get(zodSchema)?.description;
      if (description !== undefined) jsonSchema.description = description;
      // Replies may get new fields, so only strict objects exclude others.
      const { def } = zodSchema._zod as { def: { catchall?: unknown } };
      if (jsonSchema.additionalProperties === false && def.catchall === undefined)
        delete jsonSchema.additionalProperties;
    },
  },
};
const toJsonSchema = createJsonSchemaTransform(options);
const withComponents = createJsonSchemaTransformObject(options);

/** Adds the fields that follow from the path and the access. Path parameters without a schema are ids. */
function describeRoute(method: string, url: string, { role }: Access, schema: FastifySchema): FastifySchema {
  const described = (schema.params as z.ZodObject | undefined)?.shape ?? {};
  const inPath = [...url.matchAll(/:(\w+)/g)].map(([, name = '']) => [name, described[name] ?? idSchema] as const);
  return {
    ...schema,
    operationId: operationIdOf(method, url),
    description: role === null ? 'Needs no token.' : `Needs the role ${role}.`,
    ...(role === null && { security: [] }),
    params: inPath.length === 0 ? undefined : z.object(Object.fromEntries(inPath)),
  };
}

/** For example, `postVerifyTask` for `POST /api/:fleet/verify-task/:task`. */
function operationIdOf(method: string, route: string): string {
  const words = route.replace('/api/:fleet/', '/').replaceAll(/:\w+/g, '').split(/\W+/);
  return [method.toLowerCase(), ...words.map((word) => `${word.charAt(0).toUpperCase()}${word.slice(1)}`)].join('');
}

/** Adds the error responses of every operation, and removes unused components. */
function complete(document: Document): object {
  for (const methods of Object.values(document.paths))
    for (const [method, operation] of Object.entries(methods)) completeOperation(method, operation);
  const { schemas } = document.components;
  const used = new Set<string>();
  const follow = (part: unknown) => {
    for (const [, name = ''] of JSON.stringify(part).matchAll(/"#\/components\/schemas\/([^"]+)"/g)) {
      if (used.has(name)) continue;
      used.add(name);
      follow(schemas[name]);
    }
  };
  follow([document.paths, document.components.responses]);
  document.components.schemas = Object.fromEntries(Object.entries(schemas).filter(([name]) => used.has(name)));
  // The library adds "Input" to names of request schemas. Drop that where no reply has the same schema.
  const onlySent = [...used].filter((name) => name.endsWith('Input') && !used.has(nameOf(name)));
  const text = onlySent.reduce(
    (all, name) => all.replaceAll(`"${name}"`, `"${nameOf(name)}"`).replaceAll(`/${name}"`, `/${nameOf(name)}"`),
    JSON.stringify(document),
  );
  return JSON.parse(text) as object;
}

const nameOf = (component: string): string => component.replace(/Input$/, '');

function completeOperation(method: string, operation: Operation): void {
  const { responses, requestBody } = operation;
  operation.parameters ??= [];
  if (requestBody !== undefined) requestBody.required = false; // An empty body is `{}`.
  if (responses[200] !== undefined) responses[200].description = 'OK';
  const own = Object.keys(responses).filter((status) => status in errorResponses);
  for (const status of [400, 401, 403, 421, 500, 503, ...(method === 'post' ? [413, 415] : []), ...own])
    responses[status] = { $ref: `#/components/responses/${status}` };
}

/** One response per status. Its description lists the error codes. */
const errorResponses = Object.fromEntries(
  [...new Set(Object.values(errorCodes).map(({ status }) => status))].map((status) => {
    const codes = Object.values(errorCodes).flatMap((code) => (code.status === status ? [code.wire] : []));
    const known = status === 500 ? ['INTERNAL'] : [...new Set(codes)];
    const description = `${STATUS_CODES[status]}: ${known.join(', ')}`;
    const retry = { 'Retry-After': { description: 'seconds', schema: { type: 'integer' as const } } };
    const content = { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } };
    return [status, { description, ...(status === 503 && { headers: retry }), content }];
  }),
);
