/** `/mcp`: MCP over streamable HTTP, without sessions and streams, so only POST is served. */
import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { idSchema } from '../../machines/index.ts';
import { createKeyedMutex } from '../concurrency/keyed-mutex.ts';
import type { Logger } from '../log.ts';
import type { ServicePort } from '../mcp/nats-port.ts';
import type { Service } from '../service/index.ts';
import { checkId } from '../service/parse-input.ts';
import {
  type Access,
  type Caller,
  callerOf,
  checkSubject,
  fleetsOf,
  hasRole,
  serviceFor,
  withCallerName,
} from './access.ts';
import { createPerService, fleetNamed } from './fleet-directory.ts';
import { fleetInQuery, noBody } from './route-schemas.ts';

const forwardedHeaders = [
  'accept',
  'content-type',
  'mcp-method',
  'mcp-name',
  'mcp-protocol-version',
  'mcp-session-id',
] as const;

const jsonRpcSchema = z.looseObject({ jsonrpc: z.literal('2.0') });

export function addMcpRoutes(app: FastifyInstance, log: Logger): void {
  const mutexOf = createPerService(() => createKeyedMutex());
  const access: Access = { role: 'agent', workers: 'own', fleets: 'own' };
  const post = {
    config: { access },
    schema: {
      tags: ['agents'],
      summary: 'MCP over streamable HTTP; a notification is answered by 202',
      querystring: z.object({ worker: idSchema.optional(), fleet: fleetInQuery }),
      body: jsonRpcSchema,
      response: { 200: jsonRpcSchema },
    },
  };
  app.post<{ Querystring: { worker?: unknown; fleet?: unknown } }>('/mcp', post, async (request, reply) => {
    const { headers, query, body } = request;
    const worker = readWorker(query.worker);
    const { service } = fleetNamed(fleetsOf(request), query.fleet);
    // Loaded on first use: the MCP library is slow to load and most services never need it.
    const { answerPost } = await import('../mcp/http.ts');
    const forwarded = forwardedHeaders.flatMap((name) => {
      const value = headers[name];
      return typeof value === 'string' ? [[name, value] as const] : [];
    });
    const onBug = (err: unknown, tool: string) => log.error({ err, tool }, 'MCP tool failed: a bug');
    const port = portFor(callerOf(request), service);
    const options = { port, worker, mutex: mutexOf(service), onBug };
    const answer = await answerPost(options, Object.fromEntries(forwarded), body);
    return reply.code(answer.status).headers(answer.headers).send(answer.body);
  });
  for (const [method, word] of [
    ['GET', 'listen to'],
    ['DELETE', 'end'],
  ] as const)
    app.route({
      method,
      url: '/mcp',
      config: { access },
      schema: {
        tags: ['agents'],
        summary: `Always 405: MCP has no sessions here, so there is nothing to ${word}`,
        response: { 405: noBody('only POST is served') },
      },
      handler: async (_request, reply) => {
        const error = { code: -32000, message: 'only POST is served here: there are no sessions and no streams' };
        return reply.code(405).header('allow', 'POST').send({ jsonrpc: '2.0', error, id: null });
      },
    });
}

/** Returns the service for the tools. Only a caller with the role operator gets `operate`. */
function portFor(caller: Caller, service: Service): ServicePort {
  const port: ServicePort = { ...serviceFor(caller, service) };
  delete port.operate;
  if (!hasRole(caller, 'operator')) return port;
  return {
    ...port,
    async operate(action, body) {
      checkSubject(caller, body);
      return service.operate(action, withCallerName(caller, body));
    },
  };
}

/** Reads `?worker=W`, the worker of calls that name none. @throws AppError input.bad */
function readWorker(given: unknown): string | null {
  if (given === undefined) return null;
  return checkId('worker', String(given));
}
