/** Says who may use which endpoint. Each route says it in `config.access`; docs/security/http.md has a table of them. */
import assert from 'node:assert/strict';
import type { FastifyRequest } from 'fastify';
import { idFault, isId } from '../../machines/values/id.ts';
import { operatorNameLengthMax } from '../../machines/values/limits.ts';
import { type AccessRole, type AccessToken, accessRoles } from '../config/access-tokens.ts';
import { matchesPattern } from '../config/fleet-selection.ts';
import { AppError } from '../errors.ts';
import type { Service } from '../service/index.ts';
import type { FleetDirectory, ServedFleet } from './fleet-directory.ts';

/** Whoever sent a request: a token without its secret. */
export type Caller = Omit<AccessToken, 'hashes'>;

export type Access = {
  /** The role that a token needs. Null: the endpoint needs no token at all. */
  readonly role: AccessRole | null;
  /** What a token with `workers` gets: all that others get, what concerns its own workers, or nothing. */
  readonly workers: 'all' | 'own' | 'none';
  /**
   * What a token with `fleets` gets. Where that is `own`, the endpoint finds its fleet in the caller's directory
   * (fleet-directory.ts), which has no others.
   */
  readonly fleets: 'all' | 'own' | 'none';
  /** The request itself proves a right, so it may come through any host name and from any origin. Default: it may not. */
  readonly isSigned?: true;
};

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Every route has it (`recordRoutes`); only a path without a route does not. */
    access?: Access;
  }
}

/** Everybody may use it, also without a token. */
export const open: Access = { role: null, workers: 'all', fleets: 'all' };

/** Returns the access that a request requires. A path without a route requires that of the list of endpoints. */
export const accessOf = ({ routeOptions }: FastifyRequest): Access =>
  routeOptions.config.access ?? { role: 'read', workers: 'all', fleets: 'own' };

/** The fleet in the path, `/api/<fleet>/…`, if it is one of the caller's. @throws AppError as `FleetDirectory.find` */
export const fleetInPath = (request: FastifyRequest): ServedFleet =>
  fleetsOf(request).find((request.params as { fleet: string }).fleet);

/** Returns the caller, at an endpoint that requires a role. */
export function callerOf({ caller }: FastifyRequest): Caller {
  assert(caller !== null, 'the access of this endpoint has no role');
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
  assert(fleets !== null, 'the access of this endpoint has no role');
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
