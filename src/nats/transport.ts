/**
 * Brings bytes to a NATS server: over TCP, or through a WebSocket, for networks that let only HTTP pass. NATS's own
 * library for Node knows TCP only, and its one for WebSockets would change the transport of every connection of the
 * process. So both kinds use the transport for Node, on a socket or on a stream over a WebSocket.
 */
import { once } from 'node:events';
import { createConnection, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { ConnectionOptions, NatsConnection, ServerInfo } from '@nats-io/nats-core';
import { NatsConnectionImpl, NodeTransport, nodeResolveHost, setTransportFactory } from './client-library.ts';
import { isWebSocketUrl, readTls, type TlsFiles } from './credentials.ts';

/** `src`: as it was given, or `HOST:PORT` where another server named it. */
type Server = Parameters<InstanceType<typeof NodeTransport>['connect']>[0] & { readonly src: string };
type Options = ConnectionOptions & { readonly openSocket?: (server: Server) => Promise<Duplex> };

/** Never mixes the two kinds: each server that a WebSocket finds later is dialled like the first. */
export function connectToNats(options: ConnectionOptions): Promise<NatsConnection> {
  const [first = ''] = [options.servers ?? []].flat();
  setTransportFactory({ factory: () => new Transport(), dnsResolveFn: nodeResolveHost });
  if (!isWebSocketUrl(first)) return NatsConnectionImpl.connect(options);
  const { tls, ...others } = options;
  const { protocol } = new URL(first);
  const openSocket = ({ src }: Server) =>
    openWebSocket(isWebSocketUrl(src) ? src : `${protocol}//${src}`, (tls ?? {}) as TlsFiles, options.timeout ?? 5_000);
  // A proxy goes by the name of the host; and what is encrypted is the WebSocket.
  const settings: Options = { ...others, resolve: false, tls: null, openSocket };
  return NatsConnectionImpl.connect(settings);
}

class Transport extends NodeTransport {
  /** Until it is connected. */
  #dialled: Socket | null = null;

  override async dial(server: { hostname: string; port: number }): Promise<Socket> {
    const { openSocket } = this.options as Options;
    if (openSocket !== undefined) return (await openSocket(server as Server)) as Socket;
    const socket = createConnection({ host: server.hostname, port: server.port, noDelay: true });
    this.#dialled = socket;
    try {
      await once(socket, 'connect');
    } finally {
      this.#dialled = null;
    }
    socket.removeAllListeners();
    return socket;
  }

  /** A server that did not answer in time is dialled no longer: the system itself would go on for minutes. */
  override close(error?: Error): Promise<void> {
    if (!this.connected) (this.#dialled ?? this.socket)?.destroy(error);
    return super.close(error);
  }

  /** Without a certificate the server would take the handshake, close, and be dialled again until the time is up. */
  override async peekInfo(): Promise<ServerInfo> {
    const info = await super.peekInfo();
    const { certFile } = (this.options.tls ?? {}) as TlsFiles;
    if ((info as { tls_verify?: boolean }).tls_verify && certFile === undefined && this.options.tls !== null)
      throw new Error('client certificate required');
    return info;
  }

  /** A server whose clients need TLS says so on a `wss://` connection too, which has it. */
  override async startTLS() {
    return (this.options as Options).openSocket === undefined ? super.startTLS() : (this.socket as never);
  }
}

async function openWebSocket(url: string, tls: TlsFiles, timeoutMs: number): Promise<Duplex> {
  const { WebSocket, createWebSocketStream } = await import('ws');
  const socket = new WebSocket(url, { ...readTls(tls), perMessageDeflate: false, handshakeTimeout: timeoutMs });
  // The server speaks first, and may do so in the packet that opens the WebSocket.
  const stream = Object.assign(createWebSocketStream(socket), { encrypted: url.startsWith('wss:') });
  stream.on('error', () => undefined); // of a server that is not there: told below
  await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject));
  // The transport removes the listeners by which the stream would notice it; what has arrived is read first.
  socket.once('close', () => setImmediate(() => stream.destroy()));
  return stream;
}
