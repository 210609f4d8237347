/** An HTTP server over a service in memory. */
import { afterAll, afterEach, beforeAll, beforeEach, vi } from 'vitest';
import { directoryOf, type ServedFleet } from '../../../src/http/fleet-directory.ts';
import { type HttpOptions, type HttpServer, openHttpServer } from '../../../src/http/server.ts';
import type { Logger } from '../../../src/log.ts';
import { createMetrics } from '../../../src/telemetry/metrics.ts';
import { createFakeService, type FakeService } from './fake-service.ts';

export type ServerFixture = {
  readonly service: FakeService;
  /** Default: without a token. */
  readonly server: HttpServer;
  readonly log: Record<'debug' | 'info' | 'warn' | 'error', ReturnType<typeof vi.fn>>;
  /** Opens another server over the same service, until the test ends. */
  open(options?: Partial<HttpOptions>): Promise<HttpServer>;
};

/**
 * `isShared`: the tests of the file share one server, including its state such as metrics and
 * sessions. Otherwise each test has a separate one.
 */
export function useServer({
  isShared = false,
  ...options
}: Partial<HttpOptions> & { readonly isShared?: boolean } = {}): ServerFixture {
  const opened: HttpServer[] = [];
  const log = { debug: vi.fn(), info: vi.fn(), warn: vi.fn(), error: vi.fn() };
  const service = createFakeService();
  const start = async (more: Partial<HttpOptions> = {}) => {
    const logger = { ...log, child: () => logger } as unknown as Logger;
    // The inspector's routes are tested against a real replica.
    const inspection = null as unknown as ServedFleet['inspection'];
    const fleets = directoryOf({ service, inspection });
    const metrics = createMetrics();
    metrics.followFleets(fleets.states);
    return openHttpServer({
      fleets,
      host: '127.0.0.1',
      port: 0,
      token: null,
      operatorToken: null,
      version: '0.0.0',
      metrics,
      log: logger,
      ...options,
      ...more,
    });
  };
  const open: ServerFixture['open'] = async (more) => {
    const server = await start(more);
    opened.push(server);
    return server;
  };
  const fixture = { service, log, open } as { -readonly [Key in keyof ServerFixture]: ServerFixture[Key] };
  if (isShared) {
    beforeAll(async () => {
      fixture.server = await start();
    });
    afterAll(() => fixture.server.close());
  }
  beforeEach(async () => {
    service.reset();
    if (!isShared) fixture.server = await open();
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
