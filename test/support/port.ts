/** A loopback port with a fixed reply or none, and a port without a listener. */
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { onTestFinished } from 'vitest';

export type Port = {
  /** HOST:PORT */
  readonly http: string;
  /** Received text, by connection. */
  readonly heard: string[];
  close(): Promise<void>;
};

/** Closed with the test. @param answer written to each connection before closing it; null keeps it open silently */
export async function openPort(answer: string | null): Promise<Port> {
  const port = await listen(answer);
  onTestFinished(port.close);
  return port;
}

export async function closedPort(): Promise<string> {
  const { http, close } = await listen(null);
  await close();
  return http;
}

async function listen(answer: string | null): Promise<Port> {
  const heard: string[] = [];
  const sockets = new Set<{ destroy(): unknown }>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined).on('close', () => sockets.delete(socket));
    socket.on('data', (bytes) => {
      heard.push(bytes.toString('latin1'));
      if (answer !== null) socket.end(answer);
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const close = async () => {
    for (const socket of sockets) socket.destroy();
    if (server.listening) await new Promise((done) => server.close(done));
  };
  return { http: `127.0.0.1:${(server.address() as AddressInfo).port}`, heard, close };
}
