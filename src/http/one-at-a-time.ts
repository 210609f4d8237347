/** Keeps a connection to one request at a time. */
import type { RequestListener, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/**
 * Serves one request at a time on a connection; another one that comes before the answer ends the connection. Node would
 * start pipelined requests side by side, as many as come, and if their connection closes, it tells only the first of them:
 * what the others hold (their part of a budget, a page) they would hold for ever. No agent, browser or proxy pipelines.
 * A request after the end of the answer waits until Node has closed the answer: over TLS that can be a turn after the
 * client has read all of it.
 */
export function oneAtATime(handle: RequestListener): RequestListener {
  const answers = new WeakMap<Socket, ServerResponse>();
  return (request, response) => {
    const { socket } = request;
    const before = answers.get(socket);
    answers.set(socket, response);
    if (before === undefined || before.closed) handle(request, response);
    else if (before.writableEnded)
      before.once('close', () => {
        // Node gives it the socket only if the connection goes on.
        if (response.socket?.destroyed === false) handle(request, response);
      });
    else socket.destroy();
  };
}
