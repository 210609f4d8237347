/** For monitoring: health, readiness, metrics; and the list of endpoints. */
import type { FastifyInstance } from 'fastify';
import { agents } from '../agents/index.ts';
import { AppError } from '../errors.ts';
import type { Metrics } from '../metrics.ts';
import type { Service } from '../service/service.ts';
import { addInspectorPage } from './inspector-page.ts';
import { sendError } from './replies.ts';
import { apiEndpoints } from './request-routes.ts';

/** Reveals nothing about the fleet, so that load balancers need no token. */
export const healthPath = '/healthz';

export function addStatusRoutes(app: FastifyInstance, service: Service, metrics: Metrics): void {
  app.get(healthPath, async () => ({ ok: true }));
  app.get('/readyz', async (_request, reply) => {
    const { ready, reason, code } = service.status();
    // Sent, not thrown: a probe every second would fill the log with warnings.
    if (!ready) return sendError(reply, new AppError(code ?? 'log.unavailable', reason ?? 'the service is not ready'));
    return { ok: true };
  });
  app.get('/metrics', async (_request, reply) => {
    const { foldedSeq, openAttempts } = service.status();
    metrics.foldSeq.set(foldedSeq);
    metrics.openAttempts.set(openAttempts);
    return reply.type(metrics.registry.contentType).send(await metrics.registry.metrics());
  });
  const endpoints = [
    ...[...agents.keys()].map((agent) => `POST /hooks/${agent}`),
    'GET  /hooks/<agent>/wake?worker=<session>',
    ...apiEndpoints.map((line) => line.replace('<fleet>', service.fleet)),
    'POST /mcp',
    `GET  ${healthPath}`,
    'GET  /readyz',
    'GET  /metrics',
    'GET  /api',
    'GET  /  (in a browser: the inspector)',
    'GET  /machines.json',
    'GET  /inspect',
    'GET  /inspect/ws  (WebSocket)',
  ];
  const plain = `stopgate\n\n${endpoints.join('\n')}\n`;
  const { fleet, replica } = service;
  app.get('/api', async ({ headers }, reply) =>
    headers.accept?.includes('application/json') === true
      ? { fleet, replica, endpoints }
      : reply.type('text/plain; charset=utf-8').send(plain),
  );
  addInspectorPage(app, plain);
}
