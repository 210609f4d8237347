/** A TCP proxy on loopback that can hold back bytes one way or both, like a lossy network, or reset connections. */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

export type TcpProxy = {
  readonly port: number;
  /** Holds back bytes until `heal`, without closing connections. */
  cut(ways: { readonly toServer: boolean; readonly toClient: boolean }): void;
  heal(): void;
  /** Resets all connections. */
  reset(): void;
  close(): Promise<void>;
};

export async function openTcpProxy(targetPort: number): Promise<TcpProxy> {
  const pairs = new Set<{ readonly client: Socket; readonly server: Socket }>();
  let cut = { toServer: false, toClient: false };
  const listener = createServer((client) => {
    const server = connect(targetPort, '127.0.0.1');
    const pair = { client, server };
    pairs.add(pair);
    const end = () => {
      pairs.delete(pair);
      client.destroy();
      server.destroy();
    };
    for (const socket of [client, server]) socket.setNoDelay(true).on('error', end).on('close', end);
    client.on('data', (bytes) => server.write(bytes));
    server.on('data', (bytes) => client.write(bytes));
    apply();
  }).listen(0, '127.0.0.1');
  const apply = () => {
    for (const { client, server } of pairs) {
      if (cut.toServer) client.pause();
      else client.resume();
      if (cut.toClient) server.pause();
      else server.resume();
    }
  };
  const reset = () => {
    for (const { client, server } of pairs) {
      client.destroy();
      server.destroy();
    }
  };
  await once(listener, 'listening');
  return {
    port: (listener.address() as AddressInfo).port,
    reset,
    cut(ways) {
      cut = { ...ways };
      apply();
    },
    heal() {
      cut = { toServer: false, toClient: false };
      apply();
    },
    async close() {
      reset();
      await new Promise((done) => listener.close(done));
    },
  };
}
