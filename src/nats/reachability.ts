/**
 * Whether a connection's server can be reached: while it cannot, the library keeps everything that is published,
 * without limit.
 */
import type { NatsConnection } from './connection.ts';

export type Reachability = {
  /** False while the connection is broken; it reconnects by itself. */
  isConnected(): boolean;
  /** Waits until it is connected again. @returns false: not within `timeoutMs` */
  connected(timeoutMs: number): Promise<boolean>;
};

const reachabilities = new WeakMap<NatsConnection, Reachability>();

export function reachabilityOf(nc: NatsConnection): Reachability {
  const found = reachabilities.get(nc) ?? watchReachability(nc);
  reachabilities.set(nc, found);
  return found;
}

function watchReachability(nc: NatsConnection): Reachability {
  let isConnected = true;
  const waiting = new Set<(isConnected: boolean) => void>();
  void (async () => {
    for await (const { type } of nc.status()) {
      if (type === 'disconnect') isConnected = false;
      if (type !== 'reconnect') continue;
      isConnected = true;
      for (const done of waiting) done(true);
    }
  })();
  return {
    isConnected: () => isConnected,
    connected(timeoutMs) {
      if (isConnected) return Promise.resolve(true);
      return new Promise((resolve) => {
        const done = (result: boolean) => {
          clearTimeout(timer);
          waiting.delete(done);
          resolve(result);
        };
        const timer = setTimeout(() => done(false), timeoutMs);
        waiting.add(done);
      });
    },
  };
}
