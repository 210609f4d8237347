/** The fleets behind the HTTP server, and the choice of the fleet for a request. */
import { AppError } from '../errors.ts';
import type { Inspection } from '../inspector/index.ts';
import type { Service } from '../service/index.ts';
import type { ServiceStatus } from '../service/status.ts';

export type ServedFleet = { readonly service: Service; readonly inspection: Inspection };

export type FleetState = Pick<
  ServiceStatus,
  'foldedSeq' | 'lag' | 'workers' | 'openAttempts' | 'neglected' | 'stateShare'
> & {
  readonly name: string;
  /** Why nothing is decided in it now, or null if it is served. The counts are 0 while it is not open. */
  readonly fault: AppError | null;
};

export type FleetDirectory = {
  readonly replica: string;
  /** The fleet of requests that name none. Null if requests must name one. */
  readonly default: () => string | null;
  /** Whether this process serves the fleet, open or not. */
  has(fleet: string): boolean;
  /** @throws AppError actor.unknown if this process does not serve it; otherwise the reason why it is not open */
  find(fleet: string): ServedFleet;
  /** Returns the states, sorted by the fleets' names. */
  states(): readonly FleetState[];
};

/** Returns the fleet that `?fleet=F` names, or the default one. @throws AppError input.bad, and as `find` */
export function fleetNamed(fleets: FleetDirectory, given: unknown): ServedFleet {
  if (given !== undefined && typeof given !== 'string') throw new AppError('input.bad', '?fleet= must be given once');
  const fleet = given ?? fleets.default();
  if (fleet === null) throw new AppError('input.bad', 'there are several fleets here: name one with ?fleet=F');
  return fleets.find(fleet);
}

/** Creates one value per service, on first use. */
export function createPerService<Value>(make: (service: Service) => Value): (service: Service) => Value {
  const made = new WeakMap<Service, Value>();
  return (service) => {
    const found = made.get(service);
    if (found !== undefined) return found;
    const value = make(service);
    made.set(service, value);
    return value;
  };
}

/** Returns a directory of one fleet. */
export function directoryOf(served: ServedFleet): FleetDirectory {
  const { service } = served;
  return {
    replica: service.replica,
    default: () => service.fleet,
    has: (fleet) => fleet === service.fleet,
    find(fleet) {
      if (fleet === service.fleet) return served;
      throw new AppError('actor.unknown', `no fleet '${fleet}' here; this service serves '${service.fleet}'`);
    },
    states: () => [toFleetState(service)],
  };
}

/** Describes the state of an open fleet. */
export function toFleetState(service: Service): FleetState {
  const { ready, code, reason, ...counts } = service.status();
  const fault = ready ? null : new AppError(code ?? 'log.unavailable', reason ?? 'the service is not ready');
  return { name: service.fleet, fault, ...counts };
}
