/**
 * The HTTP server: agents' hooks, the API, MCP, the inspector, health and metrics. It parses requests, calls the
 * service and renders replies. Every request passes admission.ts first, and all errors have one form.
 */

import { createServer, type RequestListener, type Server } from 'node:http';
import { createServer as createTlsServer, Server as TlsServer } from 'node:https';
import { type FastifyError, type FastifyInstance, type FastifyRequest, fastify } from 'fastify';
import { type AccessToken, hashOfToken } from '../config/access-tokens.ts';
import { isPrivate } from '../config/values.ts';
import { AppError, errorCodes } from '../errors.ts';
import type { Logger } from '../log.ts';
import type { AnswerLinks } from '../notify/answer-links.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import { inTraceOf } from '../telemetry/tracing.ts';
import { accessOf, type Caller, checkAccess, fleetInPath, fleetsFor, hasRole } from './access.ts';
import { checkBinding, checkSource, findCaller, type HttpAdmission, refuseAnonymous } from './admission.ts';
import { addAnswerRoutes, announceRequest } from './answer-routes.ts';
import { addBasePath, basePathOf, withoutBasePath } from './base-path.ts';
import { addBodyBudget } from './body-budget.ts';
import { addBodyParser } from './body-parser.ts';
import { addDocsRoutes } from './docs-routes.ts';
import type { FleetDirectory } from './fleet-directory.ts';
import { prepareGracefulClose } from './graceful-close.ts';
import { addHookRoutes, type FindSessionContext, type HookRouteOptions } from './hook-routes.ts';
import { addInspectSocket } from './inspect-socket.ts';
import { isPageRequest } from './inspector-page.ts';
import { addInspectorRoutes } from './inspector-routes.ts';
import { addMcpRoutes } from './mcp-routes.ts';
import { oneAtATime } from './one-at-a-time.ts';
import { addOperatorRoutes } from './operator-routes.ts';
import { addOtlpRoutes } from './otlp/routes.ts';
import { cannotListen } from './probe-address.ts';
import { bodyBytesMax, commonHeaders, sendError, sendInternal, toAppError } from './replies.ts';
import { addRequestRoutes } from './request-routes.ts';
import { validateInput } from './route-schemas.ts';
import { type Route, recordRoutes } from './routes.ts';
import { addSessionRoutes } from './session-routes.ts';
import { addStatusRoutes } from './status-routes.ts';
import { addStreamRoute, type StreamOptions } from './stream-route.ts';
import { createUnreadNotes } from './unread-notes.ts';

export type HttpOptions = {
  readonly fleets: FleetDirectory;
  /** An address or name of this machine. Anything but loopback requires a token. */
  readonly host: string;
  /** 0 for any free port. */
  readonly port: number;
  /** If not null, required for every request except `/healthz` and the inspector's static files. */
  readonly token: string | null;
  /**
   * Required for operator actions. If null, `token` is required instead; without either, nobody may act as an operator.
   */
  readonly operatorToken: string | null;
  /** Returns the current tokens of stopgate.yaml. If there are any, every request needs a token. */
  readonly tokens?: () => readonly AccessToken[];
  /** The URL for others, through a proxy, with its prefix. Null (default) if clients connect directly. */
  readonly publicUrl?: string | null;
  /** For HTTPS. Null (default) for plain HTTP. */
  readonly certificate?: Certificate | null;
  readonly version: string;
  readonly metrics: Metrics;
  readonly log: Logger;
  /** Returns the current answer links. Null (default) if requests are not announced and cannot be answered by links. */
  readonly answerLinks?: () => AnswerLinks | null;
  /** Describes how a session would be judged. Default: unknown. */
  readonly findSessionContext?: FindSessionContext;
  /**
   * How long `close` waits for running requests. Shorter than a hold: those clients retry at another replica. Default:
   * 2,000.
   */
  readonly closeTimeoutMs?: number;
};
/** A certificate and its key, both in PEM. */
export type Certificate = { readonly cert: string; readonly key: string };

export type HttpServer = {
  /** The URL as bound, with the actual port. */
  readonly url: string;
  /** Replaces the certificate for new connections. No effect without HTTPS. */
  renew(certificate: Certificate): void;
  /** Stops listening, waits for running requests, then cuts the rest. Their decisions are still made. */
  close(): Promise<void>;
};

/** Time for a client to send its request. The time to decide is not limited. */
const requestTimeoutMs = 60_000;
/** Longer than any id, so that a bad id gets its own error instead of "no endpoint". */
const pathPartCharsMax = 1_024;

/** @throws AppError config.bad if the binding needs a token, or listening on the address fails */
export async function openHttpServer(options: HttpOptions): Promise<HttpServer> {
  // For `localhost` Fastify would open a second server on the other loopback address, for which `close` does not wait.
  const host = options.host === 'localhost' ? '127.0.0.1' : options.host;
  const { app, close } = await createHttpApp(options);
  const address = await listen(app, host, options.port);
  const url = isTls(app.server) ? address.replace(/^http:/, 'https:') : address;
  return {
    url,
    close,
    renew(certificate) {
      if (isTls(app.server)) app.server.setSecureContext(certificate);
    },
  };
}

type HttpApp = {
  readonly app: FastifyInstance;
  readonly routes: readonly Route[];
  readonly close: HttpServer['close'];
};

/** Creates the app without listening. @throws AppError config.bad if the binding needs a token */
export async function createHttpApp(options: Omit<HttpOptions, 'port'>): Promise<HttpApp> {
  const { fleets, metrics, version, closeTimeoutMs = 2_000 } = options;
  const admission = createAdmission(options);
  checkBinding(admission, options.token !== null || (options.tokens?.() ?? []).length > 0);
  const basePath = basePathOf(admission.publicUrl);
  const app = createApp(options, basePath);
  const routes = recordRoutes(app);
  const close = prepareGracefulClose(app, closeTimeoutMs);
  addTrace(app);
  addAdmission(app, admission, fleets);
  addBodyBudget(app, metrics);
  addBodyParser(app);
  addRequestMetrics(app, options);
  addStatusRoutes(app, { metrics, version, basePath, routes });
  const { answerLinks = () => null } = options;
  const onHeld: HookRouteOptions['onHeld'] = (service, held, over) =>
    void announceRequest(answerLinks(), service, held, over);
  const noteUnread = createUnreadNotes(options);
  addHookRoutes(app, { onHeld, noteUnread }, options.findSessionContext);
  addAnswerRoutes(app, fleets, answerLinks);
  addMcpRoutes(app, options.log);
  await addOtlpRoutes(app, (kind) => noteUnread('otlp', kind));
  await addApiRoutes(app, { admission, version, bounds: metrics.bounds });
  addInspectSocket(app, { fleets, admission, log: options.log });
  addDocsRoutes(app);
  addBasePath(app, basePath, routes);
  return { app, routes, close };
}

async function addApiRoutes(app: FastifyInstance, options: StreamOptions): Promise<void> {
  const addRoutes = (api: FastifyInstance, _options: object, done: () => void) => {
    api.addHook('onRequest', async (request) => {
      // Only ending a session needs no token, and it applies to any fleet.
      if (request.fleets !== null) fleetInPath(request);
    });
    addRequestRoutes(api);
    addOperatorRoutes(api);
    addSessionRoutes(api, options.admission);
    void api.register((page, _page, ready) => {
      page.setValidatorCompiler(validateInput);
      addStreamRoute(page, options);
      addInspectorRoutes(page, options);
      ready();
    });
    done();
  };
  await app.register(addRoutes, { prefix: '/api/:fleet' });
}

function createAdmission(options: Omit<HttpOptions, 'port'>): HttpAdmission {
  const { host, token, operatorToken, tokens = () => [], certificate = null } = options;
  const publicUrl = options.publicUrl == null ? null : new URL(options.publicUrl);
  if (token === '') throw new AppError('config.bad', 'the token for HTTP is empty; set it, or omit it');
  const unlimited = (secret: string, role: AccessToken['role']): AccessToken => ({
    name: null,
    role,
    workers: null,
    fleets: null,
    hashes: [hashOfToken(secret)],
  });
  const given = [
    ...(operatorToken === null ? [] : [unlimited(operatorToken, 'operator')]),
    ...(token === null ? [] : [unlimited(token, operatorToken === null ? 'operator' : 'agent')]),
  ];
  return {
    host,
    publicUrl,
    isTls: certificate !== null,
    tokens: () => [...given, ...tokens()],
    isOpen: () => isPrivate({ host, publicUrl }) && token === null && tokens().length === 0,
  };
}

const isTls = (server: Server): server is TlsServer => server instanceof TlsServer;

/** Longer than the pauses between requests of proxies and of Prometheus. */
const keepAliveTimeoutMs = 72_000;
/** Enough for any client. Without a limit, `close` would wait for handshakes that never finish. */
const handshakeTimeoutMs = 5_000;

function createApp({ log, certificate = null }: Omit<HttpOptions, 'port'>, basePath: string): FastifyInstance {
  const timeouts = { requestTimeout: requestTimeoutMs, keepAliveTimeout: keepAliveTimeoutMs };
  const app = fastify({
    serverFactory: (handler: RequestListener) =>
      certificate === null
        ? createServer(timeouts, oneAtATime(handler))
        : createTlsServer({ ...certificate, ...timeouts, handshakeTimeout: handshakeTimeoutMs }, oneAtATime(handler)),
    bodyLimit: bodyBytesMax,
    // A tool's output may contain such keys. Drop them and accept the rest of the body.
    onProtoPoisoning: 'remove',
    onConstructorPoisoning: 'remove',
    // Serve requests that arrive on an open connection during the close.
    return503OnClosing: false,
    rewriteUrl: ({ url = '/' }) => withoutBasePath(url, basePath),
    routerOptions: { maxParamLength: pathPartCharsMax },
    frameworkErrors: (error, request, reply) => answerError(log, error, request, reply),
  });
  // Schemas only describe the routes. Input is validated by the service or by `validateInput`.
  app.setValidatorCompiler(() => () => true);
  app.setSerializerCompiler(() => JSON.stringify);
  app.setErrorHandler((error: FastifyError | AppError, request, reply) => answerError(log, error, request, reply));
  app.setNotFoundHandler(({ method, url }, reply) =>
    sendError(reply, new AppError('actor.unknown', `no endpoint ${method} ${url.split('?')[0]}; GET /api lists them`)),
  );
  return app;
}

type Reply = Parameters<typeof sendError>[0];

function answerError(log: Logger, error: FastifyError | AppError, request: FastifyRequest, reply: Reply): Reply {
  const ours = toAppError(error);
  const context = { method: request.method, route: request.routeOptions.url };
  if (ours === null) {
    log.error({ ...context, err: error }, 'request failed: a bug');
    return sendInternal(reply);
  }
  const { status } = errorCodes[ours.code];
  if (status === 503) log.warn({ ...context, code: ours.code, reason: ours.message }, 'request not served');
  else log.debug({ ...context, code: ours.code, reason: ours.message }, 'request refused');
  return sendError(reply, ours);
}

/** Continues the trace named by a request's headers. */
function addTrace(app: FastifyInstance): void {
  app.addHook('onRequest', ({ headers }, _reply, done) => {
    const first = (value: string | string[] | undefined) => (typeof value === 'string' ? value : undefined);
    inTraceOf((name) => first(headers[name]), done);
  });
}

function addAdmission(app: FastifyInstance, admission: HttpAdmission, fleets: FleetDirectory): void {
  app.decorateRequest('caller', null);
  app.decorateRequest('fleets', null);
  app.addHook('onRequest', async (request, reply) => {
    const { headers, routeOptions } = request;
    reply.headers(commonHeaders);
    const access = accessOf(request);
    if (access.isSigned === true) return;
    checkSource(headers, admission);
    if (access.role === null && (routeOptions.url !== '/' || isPageRequest(request))) return;
    request.caller = findCaller(headers, admission);
    request.fleets = fleetsFor(request.caller, fleets);
    if (access.role === 'operator' && !hasRole(request.caller, 'operator'))
      refuseAnonymous(request.caller, headers, admission);
    checkAccess(request.caller, access, request.params);
  });
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Null at endpoints that need no token. */
    caller: Caller | null;
    /** The fleets that the caller may use. Null if `caller` is. */
    fleets: FleetDirectory | null;
  }
}

function addRequestMetrics(app: FastifyInstance, { fleets, metrics, log }: Omit<HttpOptions, 'port'>): void {
  // Paths may contain any fleet name, and each would create another series.
  const known = (fleet: string) => (fleets.has(fleet) ? fleet : 'none');
  app.addHook('onResponse', async ({ method, params, routeOptions }, reply) => {
    const route = routeOptions.url ?? 'none';
    const status = String(reply.statusCode);
    metrics.httpRequests.inc({ method, route, status });
    const [, area, , verb] = route.split('/');
    if (area === 'api' && verb !== undefined)
      metrics.requests.inc({ fleet: known((params as { fleet: string }).fleet), verb, status });
    log.debug({ method, route, status, tookMs: reply.elapsedTime }, 'request answered');
  });
}

async function listen(app: FastifyInstance, host: string, port: number): Promise<string> {
  return app.listen({ host, port }).catch(async (cause: NodeJS.ErrnoException) => {
    await app.close();
    throw await cannotListen(host, port, cause);
  });
}
