/**
 * The nats-server of this vitest worker, lent to one test or file at a time. It comes empty, so that each has the fleet
 * `main` to itself, and it goes back only when nobody is connected any more: a connection that was left open fails the
 * file, and with it whatever lives by it (subscriptions, consumers, replicas).
 */
import { jetstreamManager } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import { inject } from 'vitest';
import { readEnvironment } from '../../src/config/environment.ts';
import { type NatsServer, type NatsServerOptions, startNatsServer } from './nats-server.ts';
import { unclosed } from './unclosed.ts';

type Shared = { readonly url: string; readonly monitor: string; isLent: boolean };
type Connection = { readonly name?: string; readonly ip: string; readonly port: number };

const closeTimeoutMs = 5_000;
const title = "the worker's nats-server";
let shared: Shared | null | undefined;

/** This worker's server; one of its own where that is lent already, or where `options` are given (`{}` will do). */
export async function openNats(options?: NatsServerOptions): Promise<NatsServer> {
  if (shared === undefined) shared = findShared();
  if (options !== undefined || shared === null || shared.isLent) return startNatsServer(options);
  shared.isLent = true;
  unclosed.add(title);
  return lend(shared);
}

function findShared(): Shared | null {
  const found = inject('natsServers')?.[Number(readEnvironment().VITEST_POOL_ID) - 1];
  return found === undefined ? null : { ...found, isLent: false };
}

function lend(server: Shared): NatsServer {
  const { url, monitor } = server;
  const refuse = (): never => {
    throw new Error('this server is shared: openNats({}) gives one that may be killed');
  };
  let isBack = false;
  return {
    ...{ url, monitor, port: Number(new URL(url).port), kill: refuse, restart: refuse },
    get pid(): number {
      return refuse();
    },
    get storeDir(): string {
      return refuse();
    },
    async stop() {
      if (isBack) return;
      isBack = true;
      unclosed.delete(title);
      const left = await openConnections(monitor);
      if (left.length > 0) {
        shared = null; // for who comes next it would not be empty
        throw new Error(`still connected to NATS: ${left.map(({ name, port }) => name ?? `port ${port}`).join(', ')}`);
      }
      await empty(url);
      server.isLent = false;
    },
  };
}

/** Those that do not go within a while. */
async function openConnections(monitor: string): Promise<readonly Connection[]> {
  for (const signal = AbortSignal.timeout(closeTimeoutMs); ; ) {
    const { connections } = (await (await fetch(`${monitor}/connz`)).json()) as { connections: readonly Connection[] };
    if (connections.length === 0 || signal.aborted) return connections;
    await new Promise((done) => setTimeout(done, 5));
  }
}

async function empty(url: string): Promise<void> {
  const nc = await connect({ servers: url });
  const { streams } = await jetstreamManager(nc);
  for await (const name of streams.names()) await streams.delete(name);
  await nc.close();
}
