/** A server on a free loopback port, which an agent's program talks to in a dry turn. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { tryJson } from '../../try-json.ts';

export type Loopback = { readonly url: string; close(): Promise<void> };
type Request = {
  readonly method: string;
  readonly path: string;
  readonly body: unknown;
  /** The token in its header; null: none. */
  readonly token: string | null;
};
export type Answer = (request: Request, response: ServerResponse) => void;

export async function openLoopback(answer: Answer): Promise<Loopback> {
  const server = createServer((request, response) => {
    void readJson(request).then((body) =>
      answer({ method: request.method ?? '', path: request.url ?? '/', body, token: tokenOf(request) }, response),
    );
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async close() {
      server.close();
      server.closeAllConnections();
    },
  };
}

const tokenOf = ({ headers }: IncomingMessage): string | null =>
  /^Bearer (\S+)$/.exec(headers.authorization ?? '')?.[1] ?? null;

async function readJson(request: IncomingMessage): Promise<unknown> {
  return tryJson(await text(request).catch(() => ''));
}

export function sendJson(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify(body));
}

/** Server-sent events, each preceded by its type where it has one. A text stands as it is. */
export function sendEvents(response: ServerResponse, events: readonly (object | string)[]): void {
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' });
  for (const event of events) {
    const name = typeof event === 'object' && 'type' in event ? `event: ${event.type}\n` : '';
    response.write(`${name}data: ${typeof event === 'string' ? event : JSON.stringify(event)}\n\n`);
  }
  response.end();
}
