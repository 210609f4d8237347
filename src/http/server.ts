/**
 * The one HTTP server: agents' hooks, the API, the inspector, health and metrics. It only parses, asks the service and renders; every
 * request is admitted first (see admission.ts), errors have one shape.
 */
import { type FastifyError, type FastifyInstance, type FastifyRequest, fastify } from 'fastify';
import { AppError, errorCodes } from '../errors.ts';
import type { Inspection } from '../inspector/index.ts';
import type { Logger } from '../log.ts';
import type { Metrics } from '../metrics.ts';
import type { Service } from '../service/service.ts';
import { type Admission, checkBinding, checkSource, checkToken } from './admission.ts';
import { addApiRoutes } from './api-routes.ts';
import { prepareClose } from './closing.ts';
import { addHookRoutes } from './hook-routes.ts';
import { addInspectPage } from './inspect-page.ts';
import { addInspectSocket } from './inspect-socket.ts';
import { isPageRequest } from './inspector-page.ts';
import { addMcpRoutes } from './mcp-routes.ts';
import { bodyBytesMax, commonHeaders, sendError, sendInternal, toAppError } from './replies.ts';
import { addStatusRoutes, healthPath } from './status-routes.ts';

export type HttpOptions = {
  readonly service: Service;
  /** An address or name of this machine; other than loopback needs a token. */
  readonly host: string;
  /** 0: one that is free. */
  readonly port: number;
  /** Not null: every request but `/healthz` must bring it. */
  readonly token: string | null;
  /** Lets an operator speak; null: `token` does, or nobody. */
  readonly operatorToken: string | null;
  readonly inspection: Inspection;
  readonly version: string;
  readonly metrics: Metrics;
  readonly log: Logger;
  /** How long `close` lets running requests finish. Shorter than a hold: such a client asks another replica again. */
  readonly closeTimeoutMs?: number;
};
export type HttpServer = {
  /** As it was bound, with its real port. */
  readonly url: string;
  /** Stops listening, waits for running requests, then cuts what is left. The decisions asked for are still made. */
  close(): Promise<void>;
};

/** A client has this long to send its request; how long the answer takes is the decision's matter. */
const requestTimeoutMs = 60_000;
/** Longer than any id, so that a bad id is told so instead of "no such endpoint". */
const pathPartCharsMax = 1_024;

/** @throws AppError config.bad: no token for a binding that needs one, or the address cannot be listened on */
export async function openHttpServer(options: HttpOptions): Promise<HttpServer> {
  const { service, metrics, port, closeTimeoutMs = 2_000 } = options;
  // Fastify would open a second server for localhost's other address, whose requests a close does not wait for.
  const host = options.host === 'localhost' ? '127.0.0.1' : options.host;
  const { token, inspection, version } = options;
  const admission: Admission = { host: options.host, token, operatorToken: options.operatorToken ?? token };
  checkBinding(admission);
  const app = createApp(options.log);
  const close = prepareClose(app, closeTimeoutMs);
  addAdmission(app, admission);
  addBodies(app);
  addAccounts(app, options);
  addStatusRoutes(app, service, metrics);
  addHookRoutes(app, service);
  addMcpRoutes(app, service, options.log);
  await addApiRoutes(app, { service, inspection, admission, version });
  addInspectPage(app);
  addInspectSocket(app, { service, inspection, admission, log: options.log });
  return { url: await listen(app, host, port), close };
}

function createApp(log: Logger): FastifyInstance {
  const app = fastify({
    bodyLimit: bodyBytesMax,
    requestTimeout: requestTimeoutMs,
    // An agent's tool answer may well have such a key; it is dropped, for the rest is as good as before.
    onProtoPoisoning: 'remove',
    onConstructorPoisoning: 'remove',
    // While closing, what still comes over an open connection is answered like the rest.
    return503OnClosing: false,
    routerOptions: { maxParamLength: pathPartCharsMax },
    frameworkErrors: (error, request, reply) => answerError(log, error, request, reply),
  });
  app.setErrorHandler((error: FastifyError | AppError, request, reply) => answerError(log, error, request, reply));
  app.setNotFoundHandler(({ method, url }, reply) =>
    sendError(reply, new AppError('actor.unknown', `no endpoint ${method} ${url.split('?')[0]}; GET /api lists them`)),
  );
  return app;
}

type Reply = Parameters<typeof sendError>[0];

function answerError(log: Logger, error: FastifyError | AppError, request: FastifyRequest, reply: Reply): Reply {
  const ours = toAppError(error);
  const about = { method: request.method, route: request.routeOptions.url };
  if (ours === null) {
    log.error({ ...about, err: error }, 'request failed by a bug');
    return sendInternal(reply);
  }
  const { status } = errorCodes[ours.code];
  if (status === 503) log.warn({ ...about, code: ours.code, reason: ours.message }, 'request not served');
  else log.debug({ ...about, code: ours.code, reason: ours.message }, 'request refused');
  return sendError(reply, ours);
}

function addAdmission(app: FastifyInstance, admission: Admission): void {
  app.addHook('onRequest', async (request, reply) => {
    const { headers, routeOptions } = request;
    reply.headers(commonHeaders);
    checkSource(headers, admission);
    if (routeOptions.url !== healthPath && !isPageRequest(request)) checkToken(headers, admission);
  });
}

/** JSON objects only; an empty body stands for `{}`, as it does on NATS. */
function addBodies(app: FastifyInstance): void {
  const parseJson = app.getDefaultJsonParser('remove', 'remove');
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/json', { parseAs: 'string' }, (request, body, done) => {
    if (body === '') return done(null, {});
    return parseJson(request, body as string, (error, value) => {
      if (error !== null) return done(error);
      const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
      return isObject ? done(null, value) : done(new AppError('input.bad', 'the body is JSON but no object'));
    });
  });
}

function addAccounts(app: FastifyInstance, { metrics, log }: HttpOptions): void {
  app.addHook('onResponse', async ({ method, routeOptions }, reply) => {
    const route = routeOptions.url ?? 'none';
    const status = String(reply.statusCode);
    metrics.httpRequests.inc({ method, route, status });
    const [, room, , verb] = route.split('/');
    if (room === 'api' && verb !== undefined) metrics.requests.inc({ verb, status });
    log.debug({ method, route, status, tookMs: reply.elapsedTime }, 'request answered');
  });
}

async function listen(app: FastifyInstance, host: string, port: number): Promise<string> {
  return app.listen({ host, port }).catch(async (cause: NodeJS.ErrnoException) => {
    await app.close();
    throw new AppError(
      'config.bad',
      `cannot listen on ${host}:${port} for HTTP (${cause.code ?? cause.message}); choose another by --http, e.g. --http 127.0.0.1:0, or --http off`,
      { cause },
    );
  });
}
