/** One HTTP server a test over a service in memory, closed after it. */
import { afterEach, beforeEach, vi } from 'vitest';
import { directoryOf, type ServedFleet } from '../../../src/http/fleet-directory.ts';
import { type HttpOptions, type HttpServer, openHttpServer } from '../../../src/http/server.ts';
import type { Logger } from '../../../src/log.ts';
import { createMetrics } from '../../../src/telemetry/metrics.ts';
import { createFakeService, type FakeService } from './fake-service.ts';

export type ServerFixture = {
  readonly service: FakeService;
  /** Without a token. */
  readonly server: HttpServer;
  readonly log: Record<'debug' | 'info' | 'warn' | 'error', ReturnType<typeof vi.fn>>;
  /** Opens another server over the same service. */
  open(options?: Partial<HttpOptions>): Promise<HttpServer>;
};

export function useServer(): ServerFixture {
  const opened: HttpServer[] = [];
  const log = { debug: vi.fn(), info: vi.fn(), warn: vi.fn(), error: vi.fn() };
  const open = async (options: Partial<HttpOptions> = {}) => {
    const logger = { ...log, child: () => logger } as unknown as Logger;
    // The inspector's routes are tested against a real replica.
    const inspection = null as unknown as ServedFleet['inspection'];
    const defaults = { host: '127.0.0.1', port: 0, token: null, operatorToken: null, version: '0.0.0' };
    const { service } = fixture;
    const fleets = directoryOf({ service, inspection });
    const metrics = createMetrics();
    metrics.followFleets(fleets.states);
    const server = await openHttpServer({
      ...{ fleets, ...defaults, metrics, log: logger },
      ...options,
    });
    opened.push(server);
    return server;
  };
  const fixture = { log, open } as { -readonly [Key in keyof ServerFixture]: ServerFixture[Key] };
  beforeEach(async () => {
    fixture.service = createFakeService();
    fixture.server = await open();
  });
  afterEach(async () => {
    vi.clearAllMocks();
    await Promise.all(opened.splice(0).map((server) => server.close()));
  });
  return fixture;
}

/** A promise that the test resolves. */
export function createGate(): { promise: Promise<void>; resolve: () => void } {
  let resolve = () => {};
  const promise = new Promise<void>((done) => {
    resolve = done;
  });
  return { promise, resolve: () => resolve() };
}

export const errorOf = (answer: { json: unknown }) =>
  (answer.json as { error: { code: string; message: string } }).error;
