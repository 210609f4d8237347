/**
 * Brings bytes to a NATS server: over TCP, or through a WebSocket, for networks that let only HTTP pass. NATS's own
 * library for Node knows TCP only, and its one for WebSockets would change the transport of every connection of the
 * process. So both kinds use the transport for Node, on a socket or on a stream over a WebSocket.
 */
import { once } from 'node:events';
import { createConnection, type OnReadOpts, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { ConnectionOptions, NatsConnection, ServerInfo } from '@nats-io/nats-core';
import { NatsConnectionImpl, NodeTransport, nodeResolveHost, setTransportFactory } from './client-library.ts';
import { isWebSocketUrl, readTls, type TlsFiles } from './credentials.ts';
import { slabBytes, WireError } from './wire/frames.ts';
import { connectOverWire, type Wire, type WireOptions } from './wire/protocol.ts';

/** `src`: as it was given, or `HOST:PORT` where another server named it. */
type Server = Parameters<InstanceType<typeof NodeTransport>['connect']>[0] & { readonly src: string };
type Options = WireOptions & { readonly openSocket?: (server: Server) => Promise<Duplex> };

/** A connection as the library makes it. */
export const connectToNats = (options: ConnectionOptions): Promise<NatsConnection> =>
  NatsConnectionImpl.connect(settingsOf(options));

/** A connection whose messages are read and written by our own code (`wire/`). */
export const connectByWire = (options: ConnectionOptions): Promise<NatsConnection> =>
  connectOverWire(settingsOf(options));

/** Never mixes the two kinds: each server that a WebSocket finds later is dialled like the first. */
function settingsOf(options: ConnectionOptions): Options {
  const [first = ''] = [options.servers ?? []].flat();
  setTransportFactory({ factory: () => new Transport(), dnsResolveFn: nodeResolveHost });
  if (!isWebSocketUrl(first)) return options;
  const { tls, ...others } = options;
  const { protocol } = new URL(first);
  const openSocket = ({ src }: Server) =>
    openWebSocket(isWebSocketUrl(src) ? src : `${protocol}//${src}`, (tls ?? {}) as TlsFiles, options.timeout ?? 5_000);
  // A proxy goes by the name of the host; and what is encrypted is the WebSocket.
  return { ...others, resolve: false, tls: null, openSocket };
}

/** A server that reads so slowly is given up: it is a snapshot's worth of entries, twice over. */
const unsentBytesMax = 268_435_456;

/**
 * A socket is read half a slab at a time. With whole slabs, what is left of the frame before makes each read larger than a
 * slab, so that all of it is copied again and again: ten times the CPU of an entry where a log is read from behind.
 */
const readBytes = slabBytes / 2;

class Transport extends NodeTransport {
  /** Until it is connected. */
  #dialled: Socket | null = null;
  /** The server turned out to have TLS, which nobody asked for. */
  #hasTls = false;
  #server: { readonly hostname: string; readonly port: number } | null = null;
  /** The socket hands what it reads to the wire, not to a stream: from the beginning, and once the handlers are set up. */
  #reads: 'stream' | 'handshake' | 'wire' = 'stream';

  override async dial(server: { hostname: string; port: number }): Promise<Socket> {
    const { openSocket, wire, tls } = this.options as Options;
    if (openSocket !== undefined) return (await openSocket(server as Server)) as Socket;
    this.#server = server;
    this.#reads = wire === undefined || tls != null || this.#hasTls ? 'stream' : 'handshake';
    const reading = this.#reads === 'stream' ? {} : { onread: this.#readFor(wire as Wire) };
    const socket = createConnection({ host: server.hostname, port: server.port, noDelay: true, ...reading });
    this.#dialled = socket;
    try {
      await once(socket, 'connect');
    } finally {
      this.#dialled = null;
    }
    socket.removeAllListeners();
    return socket;
  }

  /** Reads into one buffer; a stream makes a new one for each read, and its bytes are parsed in a later turn. */
  #readFor(wire: Wire): OnReadOpts {
    const buffer = Buffer.allocUnsafeSlow(readBytes);
    const callback = (count: number) => {
      if (this.isClosed) return false;
      const bytes = buffer.subarray(0, count);
      if (this.#reads === 'wire') wire.receive(bytes);
      else this.socket.emit('data', Buffer.from(bytes));
      return !this.isClosed;
    };
    return { buffer, callback };
  }

  override setupHandlers(): void {
    super.setupHandlers();
    const { wire } = this.options as Options;
    if (wire === undefined || this.#reads === 'stream') return;
    this.#reads = 'wire';
    for (const bytes of this.yields.splice(0)) wire.receive(bytes);
  }

  override send(frame: Uint8Array): void {
    if ((this.options as Options).wire === undefined) super.send(frame);
    else if (!this.isClosed && this.socket !== undefined) {
      this.socket.write(frame);
      if (this.socket.writableLength > unsentBytesMax)
        this.socket.destroy(new WireError(`the NATS server has not read ${this.socket.writableLength} bytes`));
    }
  }

  /** A server that did not answer in time is dialled no longer: the system itself would go on for minutes. */
  override close(error?: Error): Promise<void> {
    if (!this.connected) (this.#dialled ?? this.socket)?.destroy(error);
    return super.close(error);
  }

  override async peekInfo(): Promise<ServerInfo> {
    const info = await super.peekInfo();
    const { tls } = this.options;
    // Without a certificate the server would take the handshake, close, and be dialled again until the time is up.
    const { certFile } = (tls ?? {}) as TlsFiles;
    if ((info as { tls_verify?: boolean }).tls_verify && certFile === undefined && tls !== null)
      throw new Error('client certificate required');
    const hasTls = info.tls_required || info.tls_available;
    return hasTls && this.#reads === 'handshake' && tls !== null ? this.#dialForTls() : info;
  }

  /** Only a stream can be wrapped in TLS. */
  async #dialForTls(): Promise<ServerInfo> {
    this.socket.destroy();
    this.yields = [];
    this.#hasTls = true;
    this.socket = await this.dial(this.#server as { hostname: string; port: number });
    return super.peekInfo();
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
