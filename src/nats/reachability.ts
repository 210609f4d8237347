/**
 * Tracks whether a connection is up. While it is down, the library buffers every published message without a limit, so
 * callers must check first.
 */
import type { NatsConnection } from './connection.ts';

export type Reachability = {
  /** False while the connection is down and reconnecting. */
  isConnected(): boolean;
  /** Waits until the connection is up. @returns false after `timeoutMs` */
  connected(timeoutMs: number): Promise<boolean>;
};

/** `forMs`: time since the last change. `breaks`: number of disconnects since the connection was opened. */
export type ConnectionState = { readonly isConnected: boolean; readonly forMs: number; readonly breaks: number };

type Watched = Reachability & { state(): ConnectionState };

const reachabilities = new WeakMap<NatsConnection, Watched>();

export function reachabilityOf(nc: NatsConnection): Watched {
  const found = reachabilities.get(nc) ?? watchReachability(nc);
  reachabilities.set(nc, found);
  return found;
}

function watchReachability(nc: NatsConnection): Watched {
  let isConnected = true;
  let sinceMs = performance.now();
  let breaks = 0;
  const waiting = new Set<(isConnected: boolean) => void>();
  void (async () => {
    for await (const { type } of nc.status()) {
      // Each failed reconnect attempt emits another `disconnect`.
      if (type === 'disconnect' && isConnected) {
        isConnected = false;
        sinceMs = performance.now();
        breaks += 1;
      }
      if (type !== 'reconnect') continue;
      isConnected = true;
      sinceMs = performance.now();
      for (const done of waiting) done(true);
    }
  })();
  return {
    isConnected: () => isConnected,
    state: () => ({ isConnected, forMs: performance.now() - sinceMs, breaks }),
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
