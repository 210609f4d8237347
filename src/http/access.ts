/** Decides who may use which endpoint, by the `config.access` of its route. docs/security/http.md has the table. */
import assert from 'node:assert/strict';
import type { FastifyRequest } from 'fastify';
import { idFault, isId } from '../../machines/values/id.ts';
import { operatorNameLengthMax } from '../../machines/values/limits.ts';
import { type AccessRole, type AccessToken, accessRoles } from '../config/access-tokens.ts';
import { matchesPattern } from '../config/fleet-selection.ts';
import { AppError } from '../errors.ts';
import type { Service } from '../service/index.ts';
import type { FleetDirectory, ServedFleet } from './fleet-directory.ts';

/** The sender of a request: a token without its secret. */
export type Caller = Omit<AccessToken, 'hashes'>;

export type Access = {
  /** The role that a token needs, or null if the endpoint needs no token. */
  readonly role: AccessRole | null;
  /** Access of a token that is limited to `workers`: the same as others, its own workers only, or none. */
  readonly workers: 'all' | 'own' | 'none';
  /**
   * Access of a token that is limited to `fleets`. For `own`, the endpoint looks up its fleet in the caller's directory
   * (fleet-directory.ts), which contains no others.
   */
  readonly fleets: 'all' | 'own' | 'none';
  /** A signature in the request grants access, so it may use any host name and origin. Default: false. */
  readonly isSigned?: true;
};

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Set for every route (`recordRoutes`); missing only for unknown paths. */
    access?: Access;
  }
}

/** For endpoints that anyone may use without a token. */
export const open: Access = { role: null, workers: 'all', fleets: 'all' };

/** Returns the access that a request requires. An unknown path requires that of `GET /api`. */
export const accessOf = ({ routeOptions }: FastifyRequest): Access =>
  routeOptions.config.access ?? { role: 'read', workers: 'all', fleets: 'own' };

/**
 * Returns the fleet in the path, `/api/<fleet>/…`, if the caller may use it.
 * @throws AppError as `FleetDirectory.find`
 */
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
    throw new AppError('role.lacking', `${nameOf(caller)} is limited to some fleets, but this concerns all of them`);
  const { fleet } = params as { readonly fleet?: string };
  if (fleet !== undefined && fleets === 'own') checkFleet(caller, fleet);
  if (caller.workers === null || workers === 'all') return;
  if (workers === 'none')
    throw new AppError('role.lacking', `${nameOf(caller)} is limited to some workers, but this concerns all of them`);
  for (const worker of workersIn(params)) checkWorker(caller, worker);
}

export const hasRole = ({ role }: Caller, needed: AccessRole): boolean =>
  accessRoles.indexOf(role) >= accessRoles.indexOf(needed);

/** Returns the workers that a path names. Tasks and queues belong to no worker. */
function workersIn(params: unknown): string[] {
  const { worker, entity, id, file } = params as Partial<Record<'worker' | 'entity' | 'id' | 'file', string>>;
  const ofEntity = entity === 'worker' ? id : undefined;
  return [worker, ofEntity, file?.replace(/\.\w+$/, '')].filter((name) => name !== undefined);
}

/** @throws AppError role.lacking */
export function checkWorker(caller: Caller, worker: string): void {
  if (isForWorker(caller, worker)) return;
  throw new AppError('role.lacking', `${nameOf(caller)} is not for the worker '${worker}'`);
}

export const isForWorker = ({ workers }: Caller, worker: string): boolean =>
  workers === null || workers.some((pattern) => matchesPattern(pattern, worker));

/** @throws AppError role.lacking, also for a fleet that does not exist, so as not to reveal which ones do */
export function checkFleet(caller: Caller, fleet: string): void {
  if (isForFleet(caller, fleet)) return;
  throw new AppError('role.lacking', `${nameOf(caller)} is not for the fleet '${fleet}'`);
}

const isForFleet = ({ fleets }: Caller, fleet: string): boolean =>
  fleets === null || fleets.some((pattern) => matchesPattern(pattern, fleet));

/**
 * Returns the fleets that this caller may use. The default is the service's default, or the only one the caller may
 * use.
 */
export function fleetsFor(caller: Caller, fleets: FleetDirectory): FleetDirectory {
  if (caller.fleets === null) return fleets;
  const states = () => fleets.states().filter(({ name }) => isForFleet(caller, name));
  return {
    replica: fleets.replica,
    default() {
      const defaultFleet = fleets.default();
      if (defaultFleet !== null && isForFleet(caller, defaultFleet)) return defaultFleet;
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

/** Returns the fleets of a request that has passed admission. */
export function fleetsOf({ fleets }: FastifyRequest): FleetDirectory {
  assert(fleets !== null, 'the access of this endpoint has no role');
  return fleets;
}

const nameOf = ({ name }: Caller): string => (name === null ? 'this token' : `the token '${name}'`);

/**
 * Checks the subject of an operator's action. A token that is limited to workers may not act on tasks and queues.
 * @throws AppError role.lacking or input.bad
 */
export function checkSubject(caller: Caller, body: unknown): void {
  if (caller.workers === null) return;
  const { entity = 'worker', id } = (body ?? {}) as { readonly entity?: unknown; readonly id?: unknown };
  if (entity !== 'worker')
    throw new AppError(
      'role.lacking',
      `${nameOf(caller)} is limited to some workers, and may not change a ${String(entity)}`,
    );
  if (typeof id !== 'string' || !isId(id)) throw new AppError('input.bad', `id ${idFault}`);
  checkWorker(caller, id);
}

/** Returns the service restricted to this caller's workers, for an edge that learns the worker from the body. */
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
 * Attributes an operator's entry to the token: puts the token's name before the name in the request. A token without a
 * name leaves the request unchanged.
 */
export function withCallerName({ name }: Caller, body: unknown): unknown {
  if (name === null) return body;
  const { by, ...fields } = (body ?? {}) as { readonly by?: unknown };
  const own = typeof by === 'string' ? by.trim() : '';
  return { ...fields, by: own === '' || own === name ? name : `${name} (${own})`.slice(0, operatorNameLengthMax) };
}
