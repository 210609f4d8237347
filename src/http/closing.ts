/** A close that lets running requests finish, and waits for nothing else. */
import type { Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';

/**
 * Must be called before the server listens. Fastify ends connections that are idle when it closes; two kinds would
 * keep it waiting: one on which nothing was asked yet (browsers and undici open such in advance), and one that is kept
 * alive after an answer that was still due.
 * @param timeoutMs what still runs then is cut; its work goes on, only its answer has nowhere to go
 */
export function prepareClose(app: FastifyInstance, timeoutMs: number): () => Promise<void> {
  const silent = new Set<Socket>();
  let closing = false;
  app.server.on('connection', (socket: Socket) => {
    if (closing) socket.destroy();
    silent.add(socket);
    socket.once('close', () => silent.delete(socket));
  });
  app.server.on('request', ({ socket }) => silent.delete(socket));
  app.addHook('onSend', async (_request, reply) => {
    if (closing) reply.header('connection', 'close');
  });
  return async () => {
    closing = true;
    for (const socket of silent) socket.destroy();
    const late = setTimeout(() => app.server.closeAllConnections(), timeoutMs);
    await app.close().finally(() => clearTimeout(late));
  };
}
