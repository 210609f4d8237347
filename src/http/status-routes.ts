/** For monitoring: health, readiness, metrics; and the list of endpoints. */
import { createHash } from 'node:crypto';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { agents } from '../agents/index.ts';
import { AppError, errorCodes } from '../errors.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import { fleetsOf } from './access.ts';
import type { FleetDirectory } from './fleet-directory.ts';
import { addInspectorPage } from './inspector-page.ts';
import { sendError } from './replies.ts';
import { apiEndpoints } from './request-routes.ts';

/** Reveals nothing about the fleet, so that load balancers need no token. */
const healthPath = '/healthz';

export function addStatusRoutes(app: FastifyInstance, metrics: Metrics, version: string): void {
  app.get(healthPath, async () => ({ ok: true }));
  addReadiness(app, metrics);
  app.get('/metrics', async (_request, reply) =>
    reply.type(metrics.registry.contentType).send(await metrics.registry.metrics()),
  );
  const endpoints = [
    ...[...agents.keys()].map((agent) => `POST /hooks/${agent}`),
    'GET  /hooks/<agent>/wake?worker=<session>',
    'GET  /hooks/<agent>/place?cwd=<folder>',
    'GET  /answer, POST /answer (by a signed link)',
    ...apiEndpoints,
    'POST /mcp',
    'POST /v1/<logs|metrics|traces>',
    `GET  ${healthPath}`,
    'GET  /readyz',
    'GET  /metrics',
    'GET  /api',
    'GET  /api/openapi.json',
    'GET  /  (in a browser: the inspector)',
    'GET  /machines.json',
    'GET  /inspect/ws  (WebSocket)',
  ];
  // Where there is one fleet, its paths can be copied as they stand.
  const listed = (fleets: FleetDirectory) => {
    const [only, ...others] = namesOf(fleets);
    return only === undefined || others.length > 0
      ? endpoints
      : endpoints.map((line) => line.replaceAll('<fleet>', only));
  };
  const plain = (request: FastifyRequest) => `stopgate\n\n${listed(fleetsOf(request)).join('\n')}\n`;
  app.get('/api', async (request, reply) => {
    if (request.headers.accept?.includes('application/json') !== true)
      return reply.type('text/plain; charset=utf-8').send(plain(request));
    const fleets = fleetsOf(request);
    return { fleet: fleets.default(), fleets: namesOf(fleets), replica: fleets.replica, endpoints: listed(fleets) };
  });
  addOpenApi(app, version);
  addInspectorPage(app, plain);
}

/** Made when it is first asked for: its schemas take a while, and few ask. It is the same until the process ends. */
function addOpenApi(app: FastifyInstance, version: string): void {
  let made: { readonly text: string; readonly etag: string } | null = null;
  app.get('/api/openapi.json', async ({ headers }, reply) => {
    const { openApiDocument } = await import('./openapi/document.ts');
    if (made === null) {
      const text = JSON.stringify(openApiDocument(version));
      made = { text, etag: `"${createHash('sha256').update(text).digest('base64url').slice(0, 27)}"` };
    }
    const { text, etag } = made;
    reply.headers({ 'cache-control': 'private, no-cache', etag });
    if (headers['if-none-match'] === etag) return reply.code(304).send();
    return reply.type('application/json; charset=utf-8').send(text);
  });
}

const namesOf = (fleets: FleetDirectory): string[] => fleets.states().map(({ name }) => name);

/**
 * One fleet that fails must not take the others' traffic away: while any is served, this process is ready, and names
 * those that are not. `?fleet=F` asks about one. Each is shown with the last entry that it has folded, how many
 * follow, and the runners that its policies name and nobody serves: those concern its checks, not the traffic.
 */
function addReadiness(app: FastifyInstance, metrics: Metrics): void {
  /** A receiver that is gone concerns people, not the traffic. */
  const notTaken = async () => {
    const webhooksWaiting = (await metrics.webhooksWaiting.get()).values[0]?.value ?? 0;
    return webhooksWaiting === 0 ? {} : { webhooksWaiting };
  };
  app.get<{ Querystring: { fleet?: unknown } }>('/readyz', async (request, reply) => {
    const { query } = request;
    const fleets = fleetsOf(request);
    const asked = fleets.states().filter(({ name }) => query.fleet === undefined || name === query.fleet);
    if (query.fleet !== undefined && asked.length === 0) fleets.find(String(query.fleet));
    const faults = asked.flatMap(({ name, fault }) => (fault === null ? [] : [{ name, fault }]));
    const [first] = faults;
    const progress = Object.fromEntries(
      await Promise.all(
        asked.map(async ({ name, foldedSeq, lag, fault }) => {
          const runnersMissing = fault === null ? await fleets.find(name).service.missingRunners() : [];
          return [name, { foldedSeq, lag, ...(runnersMissing.length > 0 && { runnersMissing }) }];
        }),
      ),
    );
    if (first === undefined) return { ok: true, fleets: progress, ...(await notTaken()) };
    const failed = Object.fromEntries(
      faults.map(({ name, fault }) => [name, { code: errorCodes[fault.code].wire, message: fault.message }]),
    );
    if (faults.length < asked.length) return { ok: true, failed, fleets: progress, ...(await notTaken()) };
    // Sent, not thrown: a probe every second would fill the log with warnings.
    const { code, message } = first.fault;
    return sendError(
      reply,
      new AppError(code, message, {
        details: asked.length > 1 ? { failed, fleets: progress } : { fleets: progress },
      }),
    );
  });
}
