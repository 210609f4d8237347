/** Lists the routes of the HTTP server without starting it. */
import { createHttpApp } from '../../src/http/server.ts';
import { createLogger } from '../../src/log.ts';
import { createMetrics } from '../../src/telemetry/metrics.ts';

export async function readRoutes() {
  const { app, routes, close } = await createHttpApp({
    fleets: {
      replica: 'r',
      default: () => null,
      has: () => false,
      states: () => [],
      find(fleet) {
        throw new Error(`no fleet ${fleet}`);
      },
    },
    host: '127.0.0.1',
    token: null,
    operatorToken: null,
    version: '0',
    metrics: createMetrics(),
    log: createLogger('silent'),
  });
  await app.ready();
  await close();
  return routes;
}
