/**
 * HTTP without sockets: requests go straight to the service's handlers. There is one server per thread, because it has
 * no state; the fleet name in a request selects the replica.
 */
import type { Replica } from '../../src/app/replica.ts';
import { AppError } from '../../src/errors.ts';
import { createHttpApp } from '../../src/http/server.ts';
import type { Logger } from '../../src/log.ts';
import { createMetrics } from '../../src/telemetry/metrics.ts';

export type Http = {
  /** Call this at the beginning of a run. `onBug`: a request failed with an unexpected error. */
  use(find: (replica: string) => Replica | null, onBug: (what: string) => void): void;
  request(
    method: 'GET' | 'POST',
    path: string,
    body?: object,
  ): Promise<{ readonly status: number; readonly text: string }>;
};

let made: Promise<Http> | null = null;

export function openHttp(): Promise<Http> {
  made ??= create();
  return made;
}

async function create(): Promise<Http> {
  let find: Parameters<Http['use']>[0] = () => null;
  let onBug: Parameters<Http['use']>[1] = () => {};
  const noop = () => {};
  const error = ({ err }: { err?: Error }, text: string) => onBug(`${text}: ${err?.stack}`);
  const log = { debug: noop, info: noop, warn: noop, error, child: () => log } as unknown as Logger;
  const { app } = await createHttpApp({
    host: '127.0.0.1',
    token: null,
    operatorToken: null,
    version: '0.0.0',
    metrics: createMetrics(),
    log,
    fleets: {
      replica: 'any',
      default: () => null,
      has: () => true,
      find(name) {
        const replica = find(name);
        if (replica === null) throw new AppError('log.unavailable', 'it is being opened');
        return replica;
      },
      states: () => [],
    },
  });
  await app.ready();
  return {
    use(givenFind, givenOnBug) {
      find = givenFind;
      onBug = givenOnBug;
    },
    async request(method, path, body) {
      const { statusCode: status, payload: text } = await app.inject({
        method,
        url: path,
        ...(body === undefined ? {} : { payload: body }),
      });
      return { status, text };
    },
  };
}
