/** Closes the server gracefully: running requests may finish, and idle connections are dropped at once. */
import { Server as TlsServer } from 'node:https';
import type { Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';

/**
 * Call it before the server listens. Fastify closes idle connections, but two kinds would still delay the close: a
 * connection without a request so far (browsers and undici open them in advance), and a keep-alive connection whose
 * last response was sent during the close.
 * @param timeoutMs after this time running requests lose their connection; their work continues without a reader
 */
export function prepareGracefulClose(app: FastifyInstance, timeoutMs: number): () => Promise<void> {
  const unused = new Set<Socket>();
  let closing = false;
  // With HTTPS, requests come from the encrypted socket.
  app.server.on(app.server instanceof TlsServer ? 'secureConnection' : 'connection', (socket: Socket) => {
    if (closing) socket.destroy();
    unused.add(socket);
    socket.once('close', () => unused.delete(socket));
  });
  app.server.on('request', ({ socket }) => unused.delete(socket));
  app.addHook('onSend', async (_request, reply) => {
    if (closing) reply.header('connection', 'close');
  });
  return async () => {
    closing = true;
    for (const socket of unused) socket.destroy();
    const deadline = setTimeout(() => app.server.closeAllConnections(), timeoutMs);
    await app.close().finally(() => clearTimeout(deadline));
  };
}
