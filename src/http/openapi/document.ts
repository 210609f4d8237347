/**
 * Makes the OpenAPI 3.1 document of the API from the schemas that the edge itself parses with, so that it cannot say
 * anything else. OpenAPI 3.1 takes JSON Schema of draft 2020-12 as it is.
 */
import { STATUS_CODES } from 'node:http';
import { z } from 'zod';
import { attemptSchema, hookResultSchema } from '../../../machines/index.ts';
import { idPattern } from '../../../machines/values/id.ts';
import { personWaitSchema, detailSchema as taskDetailSchema, viewSchemas } from '../../client/replies.ts';
import { entriesSchema } from '../../config/schema.ts';
import { errorCodes } from '../../errors.ts';
import { claimNextSchema } from '../../service/claim-next.ts';
import { filterSchema } from '../../service/list.ts';
import { operatorActions } from '../../service/operate.ts';
import { detailSchema } from '../../service/views.ts';
import { accessTable } from '../access.ts';
import { answerSchema } from '../answer-routes.ts';
import { tokenSchema, whatIfSchema } from '../inspector-routes.ts';
import { type Operation, operations } from './operations.ts';

type Json = Readonly<Record<string, unknown>>;
type Parameter = Json & { readonly name: string };

/** @param version of the service */
export function openApiDocument(version: string): Json {
  const paths: Record<string, Record<string, Json>> = {};
  for (const [endpoint, operation] of Object.entries(operations)) {
    const [method = '', route = ''] = endpoint.split(' ');
    const path = route.replaceAll(/:(\w+)/g, '{$1}');
    paths[path] = { ...paths[path], [method.toLowerCase()]: describeOperation(endpoint, operation) };
  }
  return {
    openapi: '3.1.1',
    info: {
      title: 'stopgate',
      version,
      license: { name: 'MIT', identifier: 'MIT' },
      summary: 'May this coding agent stop?',
      description: 'On loopback without tokens, all but the operator endpoints need none.',
    },
    servers: [{ url: '/' }],
    security: [{ bearer: [] }],
    tags: ['requests', 'reads', 'operator', 'agents', 'service'].map((name) => ({ name })),
    paths,
    components: {
      schemas: schemas(),
      responses: errorResponses,
      securitySchemes: { bearer: { type: 'http', scheme: 'bearer' } },
    },
  };
}

function describeOperation(endpoint: string, operation: Operation): Json {
  const [method = '', route = ''] = endpoint.split(' ');
  const role = accessTable.get(endpoint)?.role ?? null;
  const { tag, summary, path = {}, query, headers, body, bodyTypes = ['application/json'] } = operation;
  const inPath = [...route.matchAll(/:(\w+)/g)].map(([, name = '']) => ({
    name,
    in: 'path',
    required: true,
    schema: path[name] === undefined ? ref('Id') : toSchema(path[name]),
  }));
  return {
    operationId: operationIdOf(method, route),
    tags: [tag],
    summary,
    description: role === null ? 'Needs no token.' : `Needs the role ${role}.`,
    ...(role === null && { security: [] }),
    parameters: [...inPath, ...parametersOf('query', query), ...parametersOf('header', headers)],
    ...(body !== undefined && { requestBody: { content: contentOf(bodyTypes, ref(body)) } }),
    responses: responsesOf(method, operation),
  };
}

/** `POST /api/:fleet/verify-task/:task`: `postVerifyTask`. */
function operationIdOf(method: string, route: string): string {
  const words = route.replace('/api/:fleet/', '/').replaceAll(/:\w+/g, '').split(/\W+/);
  return [method.toLowerCase(), ...words.map((word) => `${word.charAt(0).toUpperCase()}${word.slice(1)}`)].join('');
}

function parametersOf(place: 'query' | 'header', fields: z.ZodType | undefined): Parameter[] {
  if (fields === undefined) return [];
  const { properties = {}, required = [] } = toSchema(fields) as { properties?: Json; required?: readonly string[] };
  return Object.entries(properties).map(([name, schema]) => ({
    name,
    in: place,
    required: required.includes(name),
    schema,
  }));
}

function responsesOf(method: string, { returns, types = ['application/json'], empty, errors = [] }: Operation): Json {
  const schema = returns === undefined ? {} : ref(returns);
  const isNever = errors.includes(405) || (empty !== undefined && returns === undefined);
  const statuses = [400, 401, 403, 421, 500, 503, ...(method === 'POST' ? [413, 415] : []), ...errors];
  return {
    ...(!isNever && { 200: { description: 'OK', content: contentOf(types, schema) } }),
    ...(empty !== undefined && { 204: { description: empty } }),
    ...Object.fromEntries(
      statuses.map((status) => [
        status,
        status === 405 ? { description: 'only POST is served' } : { $ref: `#/components/responses/${status}` },
      ]),
    ),
  };
}

/** A shape is said of JSON alone: other types have none that JSON Schema could say. */
const contentOf = (types: readonly string[], schema: Json): Json =>
  Object.fromEntries(types.map((type) => [type, type === 'application/json' ? { schema } : {}]));

const ref = (name: string): Json => ({ $ref: `#/components/schemas/${name}` });

/** One response a status, which names the codes that come with it. */
const errorResponses: Json = Object.fromEntries(
  [...new Set(Object.values(errorCodes).map(({ status }) => status))].map((status) => {
    const codes = Object.values(errorCodes).flatMap((it) => (it.status === status ? [it.wire] : []));
    const known = status === 500 ? ['INTERNAL'] : [...new Set(codes)];
    const description = `${STATUS_CODES[status]}: ${known.join(', ')}`;
    const retry = { 'Retry-After': { description: 'seconds', schema: { type: 'integer' } } };
    return [
      status,
      {
        description,
        ...(status === 503 && { headers: retry }),
        content: contentOf(['application/json'], ref('Error')),
      },
    ];
  }),
);

const errorSchema = z.looseObject({
  error: z.object({
    code: z.enum([...new Set(Object.values(errorCodes).map(({ wire }) => wire)), 'INTERNAL']),
    message: z.string(),
    issues: z.array(
      z.object({ path: z.string(), message: z.string(), line: z.int().optional(), column: z.int().optional() }),
    ),
    retryAfterMs: z.number().optional().describe('try again after it, and a random delay'),
  }),
});

/** Every schema that an operation names; the payloads of entries by `<entity>.<noun>.<verb>`. */
function schemas(): Json {
  const { $defs = {} } = entriesSchema();
  const { decision, ...entries } = $defs as Record<string, unknown>;
  const object = z.looseObject({});
  const published = Object.keys(entries).filter((name) => /^(worker|task|queue)\./.test(name));
  const own = Object.keys(entries).filter((name) => name.startsWith('own.'));
  const kept = Object.entries(entries).filter(([name]) => !own.includes(name));
  const views = {
    Worker: viewSchemas.worker,
    Task: taskDetailSchema,
    TaskView: viewSchemas.task,
    Queue: viewSchemas.queue,
  };
  const edge = {
    ...views,
    Id: z.string().regex(idPattern),
    Object: object,
    Error: errorSchema,
    HookResult: hookResultSchema,
    Attempt: attemptSchema,
    ClaimNext: claimNextSchema,
    Detail: detailSchema,
    Filter: filterSchema,
    Answer: answerSchema,
    Token: tokenSchema,
    WhatIf: whatIfSchema,
    PersonWait: personWaitSchema,
    OperatorAction: z.union(Object.values(operatorActions)),
    Stored: z.looseObject({ seq: z.int() }),
    Wake: z.object({ prompt: z.string().nullable() }),
    Health: z.object({ ok: z.literal(true) }),
    Readiness: z.looseObject({ ok: z.literal(true), fleets: z.record(z.string(), z.looseObject({ lag: z.number() })) }),
    JsonRpc: z.looseObject({ jsonrpc: z.literal('2.0') }),
    OtlpExport: object,
    OtlpResult: z.looseObject({ partialSuccess: object.optional() }),
  };
  const anyOf = (...names: string[]) => ({ anyOf: names.map(ref) });
  const made = {
    ...Object.fromEntries(Object.entries(edge).map(([name, schema]) => [name, toSchema(schema)])),
    Decision: decision,
    ...Object.fromEntries(kept),
    Entry: anyOf(...published),
    View: anyOf('Worker', 'Task', 'Queue'),
    ClaimedNext: { anyOf: [ref('TaskView'), toSchema(z.object({ task: z.null() }))] },
    Operated: toSchema(z.looseObject({ seq: z.int(), view: object })),
    Page: {
      type: 'object',
      properties: {
        items: { type: 'array', items: anyOf('Worker', 'TaskView', 'Queue', 'PersonWait') },
        next: {
          type: ['string', 'null'],
          description: 'where the next page begins (after); null: the list is complete',
        },
      },
      required: ['items', 'next'],
    },
  };
  return JSON.parse(JSON.stringify(made).replaceAll('#/$defs/', '#/components/schemas/')) as Json;
}

function toSchema(schema: z.ZodType): Json {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' });
  return rest;
}
