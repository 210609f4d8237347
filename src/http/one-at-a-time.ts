import type { RequestListener } from 'node:http';
import type { Socket } from 'node:net';

/**
 * Serves one request at a time on a connection; another one that comes before the answer ends the connection. Node would
 * start pipelined requests side by side, as many as come, and if their connection closes, it tells only the first of them:
 * what the others hold (their part of a budget, a page) they would hold for ever. No agent, browser or proxy pipelines.
 */
export function oneAtATime(handle: RequestListener): RequestListener {
  const busy = new WeakSet<Socket>();
  return (request, response) => {
    const { socket } = request;
    if (busy.has(socket)) {
      socket.destroy();
      return;
    }
    busy.add(socket);
    response.once('close', () => busy.delete(socket));
    handle(request, response);
  };
}
