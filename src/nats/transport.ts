/** Connects to a NATS server over TCP, or through a WebSocket, for networks that let only HTTP pass. */
import type { ConnectionOptions, NatsConnection, WsSocketFactory } from '@nats-io/nats-core';
import { connect, wsconnect } from '@nats-io/transport-node';
import { AppError } from '../errors.ts';
import { isWebSocketUrl, readTls, type TlsFiles } from './credentials.ts';

type Kind = 'TCP' | 'a WebSocket';

/**
 * How many connections of each kind this process has. The library keeps one transport for the whole process, and every
 * reconnect uses it, so connections of both kinds cannot exist side by side.
 */
const open: Record<Kind, number> = { TCP: 0, 'a WebSocket': 0 };

/** @throws AppError input.bad: this process is connected over the other kind; otherwise what the library throws */
export async function connectToNats(options: ConnectionOptions): Promise<NatsConnection> {
  const [first = ''] = [options.servers ?? []].flat();
  const kind: Kind = isWebSocketUrl(first) ? 'a WebSocket' : 'TCP';
  const other: Kind = kind === 'TCP' ? 'a WebSocket' : 'TCP';
  if (open[other] > 0)
    throw new AppError(
      'input.bad',
      `${first}: this process is connected to NATS over ${other}; use the same kind of address, or another process`,
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

/** @param protocol of the first server, and so of those that a server names later by host and port */
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
  // The library asks for the browser's type, and uses what both have.
  return wsconnect({ ...options, wsFactory: wsFactory as unknown as WsSocketFactory });
}
