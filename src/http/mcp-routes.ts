/** `/mcp`: MCP's streamable HTTP. Without sessions there is no stream to open and none to end: POST is all there is. */
import type { FastifyInstance } from 'fastify';
import { isId } from '../../machines/index.ts';
import { AppError } from '../errors.ts';
import { createKeyedMutex } from '../keyed-mutex.ts';
import type { Logger } from '../log.ts';
import type { Service } from '../service/service.ts';

const passedOn = ['accept', 'content-type', 'mcp-protocol-version', 'mcp-session-id'] as const;

export function addMcpRoutes(app: FastifyInstance, service: Service, log: Logger): void {
  const mutex = createKeyedMutex();
  app.post<{ Querystring: { worker?: unknown } }>('/mcp', async ({ headers, query, body }, reply) => {
    const worker = readWorker(query.worker);
    // The MCP library takes its time to load, and most services never need it.
    const { answerPost } = await import('../mcp/streamable-http.ts');
    const given = passedOn.flatMap((name) => {
      const value = headers[name];
      return typeof value === 'string' ? [[name, value] as const] : [];
    });
    const onBug = (err: unknown, tool: string) => log.error({ err, tool }, 'an MCP tool failed by a bug');
    const answer = await answerPost({ port: service, worker, mutex, onBug }, Object.fromEntries(given), body);
    return reply.code(answer.status).headers(answer.headers).send(answer.body);
  });
  app.route({
    method: ['GET', 'DELETE'],
    url: '/mcp',
    handler: async (_request, reply) => {
      const error = { code: -32000, message: 'only POST is served here: there are no sessions and no streams' };
      return reply.code(405).header('allow', 'POST').send({ jsonrpc: '2.0', error, id: null });
    },
  });
}

/** `?worker=W`: who asks, where a call does not say. @throws AppError input.bad */
function readWorker(given: unknown): string | null {
  if (given === undefined) return null;
  if (typeof given === 'string' && isId(given)) return given;
  throw new AppError('input.bad', `'${String(given)}' is no id of a worker`);
}
