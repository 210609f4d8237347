/** A reverse proxy on loopback that serves a service under a path, also its WebSockets. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, request } from 'node:http';
import type { AddressInfo } from 'node:net';

export type PathProxy = {
  /** The URL of the service behind the proxy, without a trailing slash. */
  readonly url: string;
  /** Sets the service. Requests before are answered with 502. */
  forwardTo(url: string): void;
  close(): Promise<void>;
};

/** @param removes whether the proxy removes the path from requests, as `handle_path` of Caddy does */
export async function openPathProxy(path: string, removes: boolean): Promise<PathProxy> {
  let target: URL | null = null;
  const ask = ({ url = '/', method, headers }: IncomingMessage) => {
    const isBelow = /^[/?]|^$/.test(url.slice(path.length)) && url.startsWith(path);
    if (target === null || !isBelow) return null;
    const sent = removes ? url.slice(path.length) || '/' : url;
    return request({ host: target.hostname, port: target.port, path: sent, method, headers, agent: false });
  };
  const server = createServer((incoming, reply) => {
    const asked = ask(incoming);
    if (asked === null) return void reply.writeHead(502).end();
    asked.on('response', (answer) => {
      reply.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(reply);
    });
    asked.on('error', () => reply.destroy());
    reply.on('close', () => asked.destroy());
    incoming.pipe(asked);
  });
  server.on('upgrade', (incoming, client) => {
    const asked = ask(incoming);
    if (asked === null) return client.destroy();
    asked.on('upgrade', ({ headers }, upstream) => {
      const lines = Object.entries(headers).map(([name, value]) => `${name}: ${String(value)}`);
      client.write(`HTTP/1.1 101 Switching Protocols\r\n${lines.join('\r\n')}\r\n\r\n`);
      client.pipe(upstream).pipe(client);
      for (const socket of [client, upstream])
        socket.on('error', () => undefined).on('close', () => void [client.destroy(), upstream.destroy()]);
    });
    asked.on('response', () => client.destroy()).on('error', () => client.destroy());
    asked.end();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`,
    forwardTo(url) {
      target = new URL(url);
    },
    async close() {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}
