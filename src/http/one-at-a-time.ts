/** Serves one request at a time per connection. */
import type { RequestListener, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/**
 * A request that arrives before the previous answer ends the connection. Node would run any number of pipelined
 * requests concurrently and, when the connection closes, notify only the first of them; the others would hold their
 * resources (a part of a budget, a page) forever. No agent, browser or proxy uses pipelining. A request after the end
 * of the previous answer waits until Node has closed that answer. Over TLS this can be a turn after the client has read
 * all of it.
 */
export function oneAtATime(handle: RequestListener): RequestListener {
  const answers = new WeakMap<Socket, ServerResponse>();
  return (request, response) => {
    const { socket } = request;
    const previous = answers.get(socket);
    answers.set(socket, response);
    if (previous === undefined || previous.closed) handle(request, response);
    else if (previous.writableEnded)
      previous.once('close', () => {
        // Node assigns the socket to this response only if the connection stays open.
        if (response.socket?.destroyed === false) handle(request, response);
      });
    else socket.destroy();
  };
}
