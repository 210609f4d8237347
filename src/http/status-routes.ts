/** Health, readiness and metrics for monitoring, and the list of endpoints. */
import { createHash } from 'node:crypto';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { idSchema } from '../../machines/index.ts';
import { AppError, errorCodes } from '../errors.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import { fleetsOf, open } from './access.ts';
import type { FleetDirectory } from './fleet-directory.ts';
import { addInspectorPage } from './inspector-page.ts';
import { sendError } from './replies.ts';
import { anyObject, contentOf, errorSchema, noBody } from './route-schemas.ts';
import type { Route } from './routes.ts';

type StatusOptions = {
  readonly metrics: Metrics;
  readonly version: string;
  /** The prefix behind a proxy, or the empty string. */
  readonly basePath: string;
  /** All routes of the server, once it is ready. */
  readonly routes: readonly Route[];
};

export function addStatusRoutes(app: FastifyInstance, { metrics, version, basePath, routes }: StatusOptions): void {
  // Reveals nothing about the fleet, so load balancers need no token.
  const health = {
    config: { access: open },
    schema: {
      tags: ['service'],
      summary: 'Is the process alive?',
      response: { 200: z.object({ ok: z.literal(true) }) },
    },
  };
  app.get('/healthz', health, async () => ({ ok: true }));
  addReadiness(app, metrics);
  const figures = {
    config: { access: { role: 'read', workers: 'none', fleets: 'none' } },
    schema: { tags: ['service'], summary: 'Metrics for Prometheus', response: { 200: contentOf('text/plain') } },
  } as const;
  app.get('/metrics', figures, async (_request, reply) =>
    reply.type(metrics.registry.contentType).send(await metrics.registry.metrics()),
  );
  addEndpointList(app, routes);
  addOpenApi(app, { version, basePath, routes });
}

/** `GET /api`, and `GET /` for clients that do not accept HTML. */
function addEndpointList(app: FastifyInstance, routes: readonly Route[]): void {
  const linesFor = (fleets: FleetDirectory) => {
    // With a single fleet, the paths can be copied as they are.
    const [only, ...others] = namesOf(fleets);
    const fleet = only === undefined || others.length > 0 ? '<fleet>' : only;
    return routes.flatMap(({ listed }) => listed).map((line) => line.replaceAll('<fleet>', fleet));
  };
  const plain = (request: FastifyRequest) => `stopgate\n\n${linesFor(fleetsOf(request)).join('\n')}\n`;
  const list = {
    config: { access: { role: 'read', workers: 'all', fleets: 'own' } },
    schema: {
      tags: ['service'],
      summary: 'The list of endpoints',
      response: { 200: contentOf('text/plain', 'application/json') },
    },
  } as const;
  app.get('/api', list, async (request, reply) => {
    if (request.headers.accept?.includes('application/json') !== true)
      return reply.type('text/plain; charset=utf-8').send(plain(request));
    const fleets = fleetsOf(request);
    return { fleet: fleets.default(), fleets: namesOf(fleets), replica: fleets.replica, endpoints: linesFor(fleets) };
  });
  addInspectorPage(app, plain);
}

/** The document takes a while to create and few clients need it, so it is created on first use and kept. */
function addOpenApi(app: FastifyInstance, about: Omit<StatusOptions, 'metrics'>): void {
  const make = async () => {
    const { openApiDocument } = await import('./openapi.ts');
    const text = JSON.stringify(await openApiDocument(about));
    return { text, etag: `"${createHash('sha256').update(text).digest('base64url').slice(0, 27)}"` };
  };
  let made: ReturnType<typeof make> | null = null;
  const document = {
    config: { access: { role: 'read', workers: 'all', fleets: 'all' } },
    schema: {
      tags: ['service'],
      summary: 'This document',
      response: { 200: anyObject, 304: noBody('unchanged since the given `etag`') },
    },
  } as const;
  app.get('/api/openapi.json', document, async ({ headers }, reply) => {
    made ??= make();
    const { text, etag } = await made;
    reply.headers({ 'cache-control': 'private, no-cache', etag });
    if (headers['if-none-match'] === etag) return reply.code(304).send();
    return reply.type('application/json; charset=utf-8').send(text);
  });
}

const readinessSchema = z.looseObject({
  ok: z.literal(true),
  fleets: z.record(z.string(), z.looseObject({ lag: z.number() })),
});

const namesOf = (fleets: FleetDirectory): string[] => fleets.states().map(({ name }) => name);

/**
 * `/readyz`. One failing fleet must not stop the traffic of the others, so this process is ready while any fleet is
 * served; the reply names the failing ones. `?fleet=F` asks about one fleet. For each fleet the reply has its last
 * folded entry, the number of entries behind, and the runners that policies name but nobody serves, which do not affect
 * readiness.
 */
function addReadiness(app: FastifyInstance, metrics: Metrics): void {
  // Undelivered webhooks need a person, but do not affect readiness.
  const undelivered = async () => {
    const webhooksWaiting = (await metrics.webhooksWaiting.get()).values[0]?.value ?? 0;
    return webhooksWaiting === 0 ? {} : { webhooksWaiting };
  };
  const route = {
    config: { access: { role: 'read', workers: 'all', fleets: 'own' } },
    schema: {
      tags: ['service'],
      summary: 'Is any fleet served? Shows how far each has folded its log',
      querystring: z.object({ fleet: idSchema.optional() }),
      response: { 200: readinessSchema, 404: errorSchema },
    },
  } as const;
  app.get<{ Querystring: { fleet?: unknown } }>('/readyz', route, async (request, reply) => {
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
    if (first === undefined) return { ok: true, fleets: progress, ...(await undelivered()) };
    const failed = Object.fromEntries(
      faults.map(({ name, fault }) => [name, { code: errorCodes[fault.code].wire, message: fault.message }]),
    );
    if (faults.length < asked.length) return { ok: true, failed, fleets: progress, ...(await undelivered()) };
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
