/** The requests of protocol.md §2 over HTTP, under `/api/<fleet>`. Paths are validated here, bodies by the service. */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { attemptSchema, decisionSchema, entrySchemas, hookResultSchema } from '../../machines/index.ts';
import { personWaitSchema, detailSchema as taskDetailSchema, viewSchemas } from '../client/replies.ts';
import { AppError } from '../errors.ts';
import { claimNextSchema } from '../service/claim-next.ts';
import { detailSchema } from '../service/get.ts';
import { filterSchema, listNames } from '../service/list.ts';
import { checkId } from '../service/parse-input.ts';
import { entities } from '../service/views.ts';
import { type Access, fleetInPath } from './access.ts';
import { errorSchema, oneOf } from './route-schemas.ts';

type ActorRoute = { Params: { entity: string; id: string } };
type EntryRoute = { Params: { entity: string; id: string; noun: string; verb: string } };
type ListRoute = { Params: { entities: string }; Querystring: Record<string, unknown> };

const reads: Access = { role: 'read', workers: 'own', fleets: 'own' };
const lists: Access = { role: 'read', workers: 'none', fleets: 'own' };
const writes: Access = { role: 'agent', workers: 'own', fleets: 'own' };

/** @param api routes under `/api/:fleet`, whose fleet is checked */
export function addRequestRoutes(api: FastifyInstance): void {
  addDecisionRoutes(api);
  addQueryRoutes(api);
  addPublishRoute(api);
}

/** A client that disconnects does not cancel its request: the decision is made, and a retry gets it. */
function addDecisionRoutes(api: FastifyInstance): void {
  const workerOf = (request: FastifyRequest) => checkId('worker', (request.params as { worker: string }).worker);
  const taskOf = (request: FastifyRequest) => checkId('task', (request.params as { task: string }).task);
  api.post(
    '/decide/:worker',
    {
      config: { access: writes },
      schema: {
        tags: ['requests'],
        summary: 'May this worker stop? Logged; the same attempt counts once',
        body: attemptSchema,
        response: { 200: decisionSchema },
      },
    },
    async (request) => fleetInPath(request).service.decide(workerOf(request), request.body ?? {}),
  );
  api.post(
    '/probe/:worker',
    {
      config: { access: reads },
      schema: {
        tags: ['requests'],
        summary: 'Would this worker be allowed to stop? Nothing is logged',
        body: attemptSchema,
        response: { 200: decisionSchema },
      },
    },
    async (request) => fleetInPath(request).service.probe(workerOf(request), request.body ?? {}),
  );
  api.post(
    '/verify/:worker',
    {
      config: { access: reads },
      schema: {
        tags: ['requests'],
        summary: 'Is the work of this worker complete? 409 with the decision if not',
        body: attemptSchema,
        response: { 200: decisionSchema, 404: errorSchema, 409: errorSchema },
      },
    },
    async (request) => fleetInPath(request).service.verify(workerOf(request), request.body ?? {}),
  );
  api.post(
    '/verify-task/:task',
    {
      config: { access: reads },
      schema: {
        tags: ['requests'],
        summary: 'Was this task judged to be complete? 409 if not',
        body: attemptSchema,
        response: { 200: decisionSchema, 404: errorSchema, 409: errorSchema },
      },
    },
    async (request) => fleetInPath(request).service.verifyTask(taskOf(request), request.body ?? {}),
  );
  api.post(
    '/claim-next/:worker',
    {
      config: { access: writes },
      schema: {
        tags: ['requests'],
        summary: 'Claims the first ready task of the queue for this worker',
        body: claimNextSchema,
        response: { 200: z.union([viewSchemas.task, z.object({ task: z.null() })]), 409: errorSchema },
      },
    },
    async (request) => fleetInPath(request).service.claimNext(workerOf(request), request.body ?? {}),
  );
  api.post(
    '/evaluate/:task',
    {
      config: { access: writes },
      schema: {
        tags: ['requests'],
        summary: 'Lets the hooks of this task judge an iteration, and stores the result',
        body: entrySchemas.task['iteration.validated'],
        response: { 200: hookResultSchema, 404: errorSchema, 409: errorSchema },
      },
    },
    async (request) => fleetInPath(request).service.evaluate(taskOf(request), request.body ?? {}),
  );
}

const actorPath = z.object({ entity: oneOf(entities) });
const view = z.union([viewSchemas.worker, taskDetailSchema, viewSchemas.queue]);
const listPath = z.object({ entities: oneOf(listNames) });
const page = z.object({
  items: z.array(z.union([viewSchemas.worker, viewSchemas.task, viewSchemas.queue, personWaitSchema])),
  next: z.string().nullable().describe('the `after` of the next page; null on the last page'),
});

function addQueryRoutes(api: FastifyInstance): void {
  const get = (request: FastifyRequest<ActorRoute>, detail: unknown) => {
    const entity = nameIn(entities, request.params.entity, 'entity');
    return fleetInPath(request).service.get(entity, checkId(entity, request.params.id), detail);
  };
  const list = (request: FastifyRequest<ListRoute>, filter: unknown) =>
    fleetInPath(request).service.list(nameIn(listNames, request.params.entities, 'list'), filter);
  api.get<ActorRoute>(
    '/get/:entity/:id',
    {
      config: { access: reads },
      schema: {
        tags: ['reads'],
        summary: 'One worker, task or queue',
        params: actorPath,
        querystring: detailSchema,
        response: { 200: view, 404: errorSchema },
      },
    },
    async (request) => get(request, request.query),
  );
  api.post<ActorRoute>(
    '/get/:entity/:id',
    {
      config: { access: reads },
      schema: {
        tags: ['reads'],
        summary: 'As GET, with the fields in the body',
        params: actorPath,
        body: detailSchema,
        response: { 200: view, 404: errorSchema },
      },
    },
    async (request) => get(request, request.body ?? {}),
  );
  api.get<ListRoute>(
    '/list/:entities',
    {
      config: { access: lists },
      schema: {
        tags: ['reads'],
        summary: 'A page of actors, or of everything that waits for a person',
        params: listPath,
        querystring: filterSchema,
        response: { 200: page, 404: errorSchema },
      },
    },
    async (request) => list(request, readFilter(request.query)),
  );
  api.post<ListRoute>(
    '/list/:entities',
    {
      config: { access: lists },
      schema: {
        tags: ['reads'],
        summary: 'As GET, with the filter in the body',
        params: listPath,
        body: filterSchema,
        response: { 200: page, 404: errorSchema },
      },
    },
    async (request) => list(request, request.body ?? {}),
  );
}

/** The entries that agents and their tools may publish. */
const published = [entrySchemas.worker, entrySchemas.task, entrySchemas.queue].flatMap((schemas): z.ZodType[] =>
  Object.values(schemas),
);

function addPublishRoute(api: FastifyInstance): void {
  api.post<EntryRoute>(
    '/publish/:entity/:id/:noun/:verb',
    {
      config: { access: writes },
      schema: {
        tags: ['requests'],
        summary: 'Publishes an entry; noun.verb is its type, such as tool.used',
        params: actorPath,
        headers: z.object({
          'nats-msg-id': z.string().optional().describe('the same id within two minutes is stored once'),
        }),
        body: z.union([...new Set(published)]),
        response: { 200: z.looseObject({ seq: z.int() }), 409: errorSchema },
      },
    },
    async (request) => {
      const { params, body, headers } = request;
      const entity = nameIn(entities, params.entity, 'entity');
      const messageId = headers['nats-msg-id'];
      return fleetInPath(request).service.submit({
        entity,
        id: checkId(entity, params.id),
        type: `${params.noun}.${params.verb}`,
        data: (body ?? {}) as object,
        ...(typeof messageId === 'string' ? { messageId } : {}),
      });
    },
  );
}

/** @throws AppError actor.unknown for an unknown name in the path */
function nameIn<Name extends string>(known: readonly Name[], given: string, what: 'entity' | 'list'): Name {
  const found = known.find((name) => name === given);
  if (found !== undefined) return found;
  throw new AppError('actor.unknown', `there is no ${what} '${given}'; use ${known.join(', ')}`);
}

/** Query parameters are strings. Converts `limit`, the only number of a filter. */
function readFilter(query: Record<string, unknown>): object {
  const { limit, ...rest } = query;
  if (limit === undefined) return rest;
  return { ...rest, limit: typeof limit === 'string' && /^\d{1,9}$/.test(limit) ? Number(limit) : limit };
}
