/** The requests of protocol.md §2 over HTTP, under `/api/<fleet>`. Paths are validated here, bodies by the service. */
import type { FastifyInstance } from 'fastify';
import { isId } from '../../machines/index.ts';
import { AppError } from '../errors.ts';
import { type ListName, listNames } from '../service/list.ts';
import { type Entity, entities } from '../service/views.ts';
import { fleetInPath } from './access.ts';
import { addInspectorRoutes, type InspectorRoutes, inspectorEndpoints } from './inspector-routes.ts';

type EntryParams = { entity: string; id: string; noun: string; verb: string };
type ActorParams = { entity: string; id: string };

export const apiEndpoints = [
  'POST /api/<fleet>/decide/<worker>',
  'POST /api/<fleet>/probe/<worker>',
  'POST /api/<fleet>/verify/<worker>',
  'POST /api/<fleet>/verify-task/<task>',
  'POST /api/<fleet>/claim-next/<worker>',
  'POST /api/<fleet>/evaluate/<task>',
  'GET  /api/<fleet>/get/<entity>/<id>',
  'GET  /api/<fleet>/list/<workers|tasks|queues|escalations>',
  'POST /api/<fleet>/publish/<entity>/<id>/<noun>/<verb>',
  ...inspectorEndpoints,
] as const;

export async function addApiRoutes(app: FastifyInstance, routes: InspectorRoutes): Promise<void> {
  await app.register(
    (api, _options, done) => {
      api.addHook('onRequest', async (request) => {
        // Whoever needs no token has no fleets: it ends a session, of whichever fleet.
        if (request.fleets !== null) fleetInPath(request);
      });
      addDecisionRoutes(api);
      addQueryRoutes(api);
      addPublishRoute(api);
      addInspectorRoutes(api, routes);
      done();
    },
    { prefix: '/api/:fleet' },
  );
}

/** A client that disconnects does not cancel its request: the decision is made and returned to the next retry. */
function addDecisionRoutes(api: FastifyInstance): void {
  for (const verb of ['decide', 'probe', 'verify'] as const) {
    api.post<{ Params: { worker: string } }>(`/${verb}/:worker`, async (request) =>
      fleetInPath(request).service[verb](idOf('worker', request.params.worker), request.body ?? {}),
    );
  }
  api.post<{ Params: { task: string } }>('/verify-task/:task', async (request) =>
    fleetInPath(request).service.verifyTask(idOf('task', request.params.task), request.body ?? {}),
  );
  api.post<{ Params: { worker: string } }>('/claim-next/:worker', async (request) =>
    fleetInPath(request).service.claimNext(idOf('worker', request.params.worker), request.body ?? {}),
  );
  api.post<{ Params: { task: string } }>('/evaluate/:task', async (request) =>
    fleetInPath(request).service.evaluate(idOf('task', request.params.task), request.body ?? {}),
  );
}

function addQueryRoutes(api: FastifyInstance): void {
  api.route<{ Params: ActorParams }>({
    method: ['GET', 'POST'],
    url: '/get/:entity/:id',
    handler: async (request) => {
      const { method, params, query, body } = request;
      const entity = entityOf(params.entity);
      const { service } = fleetInPath(request);
      return service.get(entity, idOf(entity, params.id), method === 'POST' ? (body ?? {}) : query);
    },
  });
  api.route<{ Params: { entities: string }; Querystring: Record<string, unknown> }>({
    method: ['GET', 'POST'],
    url: '/list/:entities',
    handler: async (request) => {
      const { method, params, query, body } = request;
      const filter = method === 'POST' ? (body ?? {}) : readFilter(query);
      return fleetInPath(request).service.list(listOf(params.entities), filter);
    },
  });
}

function addPublishRoute(api: FastifyInstance): void {
  api.post<{ Params: EntryParams }>('/publish/:entity/:id/:noun/:verb', async (request) => {
    const { params, body, headers } = request;
    const entity = entityOf(params.entity);
    const messageId = headers['nats-msg-id'];
    return fleetInPath(request).service.submit({
      entity,
      id: idOf(entity, params.id),
      type: `${params.noun}.${params.verb}`,
      data: (body ?? {}) as object,
      ...(typeof messageId === 'string' ? { messageId } : {}),
    });
  });
}

function entityOf(name: string): Entity {
  const found = entities.find((entity) => entity === name);
  if (found !== undefined) return found;
  throw new AppError('actor.unknown', `there is no entity '${name}'; known: ${entities.join(', ')}`);
}

function listOf(name: string): ListName {
  const found = listNames.find((it) => it === name);
  if (found !== undefined) return found;
  throw new AppError('actor.unknown', `there is no list '${name}'; known: ${listNames.join(', ')}`);
}

function idOf(entity: Entity, id: string): string {
  if (isId(id)) return id;
  throw new AppError('input.bad', `'${id}' is not the id of a ${entity}`, {
    issues: [{ path: entity, message: 'is not an id' }],
  });
}

/** Query parameters are strings; `limit`, the only number of a filter, is converted. */
function readFilter(query: Record<string, unknown>): object {
  const { limit, ...rest } = query;
  if (limit === undefined) return rest;
  return { ...rest, limit: typeof limit === 'string' && /^\d{1,9}$/.test(limit) ? Number(limit) : limit };
}
