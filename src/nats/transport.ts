/** Connects to a NATS server over TCP, or over WebSocket for networks that only let HTTP through. */
import type { ConnectionOptions, NatsConnection, WsSocketFactory } from '@nats-io/nats-core';
import { connect, wsconnect } from '@nats-io/transport-node';
import { AppError } from '../errors.ts';
import { isWebSocketUrl, readTls, type TlsFiles } from './credentials.ts';

type Kind = 'TCP' | 'a WebSocket';

/**
 * Number of open connections of each kind. The library has one transport per process, which every reconnect uses, so
 * both kinds cannot be open at the same time.
 */
const open: Record<Kind, number> = { TCP: 0, 'a WebSocket': 0 };

/** @throws AppError input.bad if this process is connected over the other kind; otherwise the library's errors */
export async function connectToNats(options: ConnectionOptions): Promise<NatsConnection> {
  const [first = ''] = [options.servers ?? []].flat();
  const kind: Kind = isWebSocketUrl(first) ? 'a WebSocket' : 'TCP';
  const other: Kind = kind === 'TCP' ? 'a WebSocket' : 'TCP';
  if (open[other] > 0)
    throw new AppError(
      'input.bad',
      `${first}: this process is already connected to NATS over ${other}; use the same kind of address, or another process`,
    );
  open[kind] += 1;
  const release = () => {
    open[kind] -= 1;
  };
  try {
    const nc = await (kind === 'TCP' ? connect(options) : connectThroughWebSocket(options, new URL(first).protocol));
    void nc.closed().then(release);
    return nc;
  } catch (error) {
    release();
    throw error;
  }
}

/** @param protocol the first server's, also used for servers discovered later, which have only host and port */
function connectThroughWebSocket({ tls, ...options }: ConnectionOptions, protocol: string): Promise<NatsConnection> {
  const wsFactory = async (server: string) => {
    const { WebSocket } = await import('ws');
    const url = isWebSocketUrl(server) ? server : `${protocol}//${server}`;
    const socket = new WebSocket(url, {
      ...readTls((tls ?? {}) as TlsFiles),
      perMessageDeflate: false,
      handshakeTimeout: options.timeout,
    });
    return { socket, encrypted: url.startsWith('wss:') };
  };
  // The library's type is the browser's WebSocket, but it uses only the part that `ws` has too.
  return wsconnect({ ...options, wsFactory: wsFactory as unknown as WsSocketFactory });
}
