/**
 * Says who may use which endpoint (docs/security/http.md has the same table). An endpoint without a row here cannot be
 * registered, so that none is open by mistake.
 */
import assert from 'node:assert/strict';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { idFault, isId } from '../../machines/values/id.ts';
import { operatorNameLengthMax } from '../../machines/values/limits.ts';
import { type AccessRole, type AccessToken, accessRoles } from '../config/access-tokens.ts';
import { matchesPattern } from '../config/fleet-selection.ts';
import { AppError } from '../errors.ts';
import type { Service } from '../service/index.ts';
import type { FleetDirectory, ServedFleet } from './fleet-directory.ts';

/** Whoever sent a request: a token without its secret. */
export type Caller = Omit<AccessToken, 'hashes'>;

/**
 * `role`: what it takes; null: nothing, not even a token. `workers`: what it gives to a token with `workers`: all that it
 * gives to others, what concerns its own workers, or nothing, since it shows or changes everybody's. `fleets`: the same of a
 * token with `fleets`. Where that is `own`, the endpoint finds its fleet in the caller's directory (fleet-directory.ts),
 * which has no others.
 */
export type Access = {
  readonly role: AccessRole | null;
  readonly workers: 'all' | 'own' | 'none';
  readonly fleets: 'all' | 'own' | 'none';
};

const rows = {
  'GET /healthz': [null, 'all', 'all'],
  'GET /': [null, 'all', 'all'], // in a browser; server.ts asks for `read` else
  'GET /assets/:file': [null, 'all', 'all'],
  'GET /icon/:file': [null, 'all', 'all'],
  'GET /favicon.ico': [null, 'all', 'all'],
  'GET /answer': [null, 'all', 'all'],
  'POST /answer': [null, 'all', 'all'],
  'GET /api': ['read', 'all', 'own'],
  'GET /api/openapi.json': ['read', 'all', 'all'],
  'GET /readyz': ['read', 'all', 'own'],
  'DELETE /api/:fleet/session': [null, 'all', 'all'], // also of a token that is gone: only this takes the cookie away
  'POST /api/:fleet/session': ['read', 'all', 'own'],
  'GET /machines.json': ['read', 'all', 'all'],
  'POST /api/:fleet/probe/:worker': ['read', 'own', 'own'],
  'POST /api/:fleet/verify/:worker': ['read', 'own', 'own'],
  'POST /api/:fleet/verify-task/:task': ['read', 'own', 'own'],
  'GET /api/:fleet/get/:entity/:id': ['read', 'own', 'own'],
  'POST /api/:fleet/get/:entity/:id': ['read', 'own', 'own'],
  'GET /api/:fleet/timeline/:entity/:id': ['read', 'own', 'own'],
  'GET /api/:fleet/attempts/:worker': ['read', 'own', 'own'],
  'GET /api/:fleet/history/:file': ['read', 'own', 'own'],
  'GET /metrics': ['read', 'none', 'none'],
  'GET /inspect/ws': ['read', 'none', 'own'],
  'GET /api/:fleet/list/:entities': ['read', 'none', 'own'],
  'POST /api/:fleet/list/:entities': ['read', 'none', 'own'],
  'GET /api/:fleet/stream': ['read', 'none', 'own'],
  'GET /api/:fleet/range': ['read', 'none', 'own'],
  'GET /api/:fleet/at/:seq': ['read', 'none', 'own'],
  'GET /api/:fleet/outline': ['read', 'none', 'own'],
  'GET /api/:fleet/entry/:seq': ['read', 'none', 'own'],
  'GET /api/:fleet/entries': ['read', 'none', 'own'],
  'GET /api/:fleet/moment': ['read', 'none', 'own'],
  'GET /api/:fleet/policy': ['read', 'none', 'own'],
  'GET /api/:fleet/service': ['read', 'none', 'own'],
  'GET /api/:fleet/statistics': ['read', 'none', 'own'],
  'POST /api/:fleet/what-if': ['read', 'none', 'own'],
  'POST /hooks/:agent': ['agent', 'own', 'own'],
  'GET /hooks/:agent/wake': ['agent', 'own', 'own'],
  'GET /hooks/:agent/place': ['agent', 'all', 'own'],
  'POST /v1/logs': ['agent', 'own', 'own'],
  'POST /v1/metrics': ['agent', 'own', 'own'],
  'POST /v1/traces': ['agent', 'own', 'own'],
  'POST /mcp': ['agent', 'own', 'own'],
  'GET /mcp': ['agent', 'own', 'own'],
  'DELETE /mcp': ['agent', 'own', 'own'],
  'POST /api/:fleet/decide/:worker': ['agent', 'own', 'own'],
  'POST /api/:fleet/claim-next/:worker': ['agent', 'own', 'own'],
  'POST /api/:fleet/evaluate/:task': ['agent', 'own', 'own'],
  'POST /api/:fleet/publish/:entity/:id/:noun/:verb': ['agent', 'own', 'own'],
  'POST /api/:fleet/operator/:word': ['operator', 'own', 'own'],
} as const satisfies Record<string, readonly [Access['role'], Access['workers'], Access['fleets']]>;

/** An endpoint as method and route: `GET /api/:fleet/range`. */
export type Endpoint = keyof typeof rows;

export const accessTable: ReadonlyMap<string, Access> = new Map(
  Object.entries(rows).map(([endpoint, [role, workers, fleets]]) => [endpoint, { role, workers, fleets }]),
);

/** @throws Error when an endpoint is added that has no row */
export function requireAccessRows(app: FastifyInstance): void {
  app.addHook('onRoute', ({ method, url }) => {
    for (const verb of [method].flat())
      if (!accessTable.has(keyOf(verb, url)))
        throw new Error(`who may ${verb} ${url}? Give it a row in src/http/access.ts`);
  });
}

/**
 * Returns the access that an endpoint requires. An unknown endpoint requires that of `GET /api`, the list of endpoints.
 */
export const accessOf = (method: string, url: string | undefined): Access =>
  accessTable.get(keyOf(method, url ?? '')) ?? { role: 'read', workers: 'all', fleets: 'own' };

const keyOf = (method: string, url: string): string => `${method === 'HEAD' ? 'GET' : method} ${url}`;

/** The fleet in the path, `/api/<fleet>/…`, if it is one of the caller's. @throws AppError as `FleetDirectory.find` */
export const fleetInPath = (request: FastifyRequest): ServedFleet =>
  fleetsOf(request).find((request.params as { fleet: string }).fleet);

/** Returns the caller, at an endpoint that requires a role. */
export function callerOf({ caller }: FastifyRequest): Caller {
  assert(caller !== null, 'this endpoint has no role in src/http/access.ts');
  return caller;
}

/** @throws AppError role.lacking */
export function checkAccess(caller: Caller, { role, workers, fleets }: Access, params: unknown): void {
  if (role === null) return;
  if (!hasRole(caller, role))
    throw new AppError(
      'role.lacking',
      `${nameOf(caller)} has the role ${caller.role}, and this needs the role ${role}`,
    );
  if (caller.fleets !== null && fleets === 'none')
    throw new AppError('role.lacking', `${nameOf(caller)} is for some fleets only, and this is about all of them`);
  const { fleet } = params as { readonly fleet?: string };
  if (fleet !== undefined && fleets === 'own') checkFleet(caller, fleet);
  if (caller.workers === null || workers === 'all') return;
  if (workers === 'none')
    throw new AppError('role.lacking', `${nameOf(caller)} is for some workers only, and this is about all of them`);
  for (const worker of workersIn(params)) checkWorker(caller, worker);
}

export const hasRole = ({ role }: Caller, needed: AccessRole): boolean =>
  accessRoles.indexOf(role) >= accessRoles.indexOf(needed);

/** Workers that a path names: tasks and queues belong to nobody. */
function workersIn(params: unknown): string[] {
  const { worker, entity, id, file } = params as Partial<Record<'worker' | 'entity' | 'id' | 'file', string>>;
  const ofEntity = entity === 'worker' ? id : undefined;
  return [worker, ofEntity, file?.replace(/\.\w+$/, '')].filter((it) => it !== undefined);
}

/** @throws AppError role.lacking */
export function checkWorker(caller: Caller, worker: string): void {
  if (isFor(caller, worker)) return;
  throw new AppError('role.lacking', `${nameOf(caller)} is not for the worker '${worker}'`);
}

export const isFor = ({ workers }: Caller, worker: string): boolean =>
  workers === null || workers.some((pattern) => matchesPattern(pattern, worker));

/** @throws AppError role.lacking, also of a fleet that there is not: who may not know is not told */
export function checkFleet(caller: Caller, fleet: string): void {
  if (isForFleet(caller, fleet)) return;
  throw new AppError('role.lacking', `${nameOf(caller)} is not for the fleet '${fleet}'`);
}

const isForFleet = ({ fleets }: Caller, fleet: string): boolean =>
  fleets === null || fleets.some((pattern) => matchesPattern(pattern, fleet));

/**
 * Returns the fleets that this caller may use. The default is the service's, or the only one that the caller may use.
 */
export function fleetsFor(caller: Caller, fleets: FleetDirectory): FleetDirectory {
  if (caller.fleets === null) return fleets;
  const states = () => fleets.states().filter(({ name }) => isForFleet(caller, name));
  return {
    replica: fleets.replica,
    default() {
      const usual = fleets.default();
      if (usual !== null && isForFleet(caller, usual)) return usual;
      const [only, ...others] = states();
      return only === undefined || others.length > 0 ? null : only.name;
    },
    has: (fleet) => isForFleet(caller, fleet) && fleets.has(fleet),
    find(fleet) {
      checkFleet(caller, fleet);
      return fleets.find(fleet);
    },
    states,
  };
}

/** The fleets of a request that has passed admission. */
export function fleetsOf({ fleets }: FastifyRequest): FleetDirectory {
  assert(fleets !== null, 'this endpoint has no role in src/http/access.ts');
  return fleets;
}

const nameOf = ({ name }: Caller): string => (name === null ? 'this token' : `the token '${name}'`);

/**
 * Checks the subject of an operator's action: a token for some workers is for these alone, and for no task. @throws
 * AppError role.lacking, input.bad
 */
export function checkSubject(caller: Caller, body: unknown): void {
  if (caller.workers === null) return;
  const { entity = 'worker', id } = (body ?? {}) as { readonly entity?: unknown; readonly id?: unknown };
  if (entity !== 'worker')
    throw new AppError('role.lacking', `${nameOf(caller)} is for some workers only, and for no ${String(entity)}`);
  if (typeof id !== 'string' || !isId(id)) throw new AppError('input.bad', `id ${idFault}`);
  checkWorker(caller, id);
}

/** The service as this caller may use it, for an edge that learns the worker from the body. */
export function serviceFor(caller: Caller, service: Service): Service {
  if (caller.workers === null) return service;
  const own =
    <Rest extends unknown[], Result>(call: (worker: string, ...rest: Rest) => Promise<Result>) =>
    async (worker: string, ...rest: Rest): Promise<Result> => {
      checkWorker(caller, worker);
      return call(worker, ...rest);
    };
  const ownEntry =
    (call: Service['publish']): Service['publish'] =>
    async (entry) => {
      if (entry.entity === 'worker') checkWorker(caller, entry.id);
      return call(entry);
    };
  return {
    ...service,
    decide: own(service.decide),
    probe: own(service.probe),
    verify: own(service.verify),
    publish: ownEntry(service.publish),
    submit: ownEntry(service.submit),
    async get(entity, id, body) {
      if (entity === 'worker') checkWorker(caller, id);
      return service.get(entity, id, body);
    },
  };
}

/**
 * Attributes an operator's entry to the holder of the token: the token's name comes before the name in the request. A token
 * without a name leaves the request's as it is.
 */
export function withCallerName({ name }: Caller, body: unknown): unknown {
  if (name === null) return body;
  const { by, ...fields } = (body ?? {}) as { readonly by?: unknown };
  const own = typeof by === 'string' ? by.trim() : '';
  return { ...fields, by: own === '' || own === name ? name : `${name} (${own})`.slice(0, operatorNameLengthMax) };
}
