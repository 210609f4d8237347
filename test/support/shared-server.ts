/**
 * nats-servers shared by the whole run, each lent to one test or file at a time. A lent server is empty, so every test
 * has the fleet `main` to itself. It can be returned only without open connections: a connection that was left open,
 * and so every leaked subscription, consumer or replica, fails the file. Servers are not assigned by vitest's worker
 * number, because two workers may have the same number at the same time.
 */
import { mkdir, rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import { jetstreamManager } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import { inject } from 'vitest';
import { type NatsServer, type NatsServerOptions, startNatsServer } from './nats-server.ts';
import { unclosed } from './unclosed.ts';

type Shared = { readonly url: string; readonly monitor: string };
type Connection = { readonly name?: string; readonly ip: string; readonly port: number };

const closeTimeoutMs = 20_000;
const title = 'the shared nats-server';
let hasLoan = false;

/**
 * Borrows a shared server. Starts a separate one if this worker already has one, or if `options` are given (even `{}`).
 */
export async function openNats(options?: NatsServerOptions): Promise<NatsServer> {
  const shared = hasLoan || options !== undefined ? undefined : inject('natsServers');
  if (shared === undefined) return startNatsServer(options);
  hasLoan = true;
  for (const [index, server] of shared.servers.entries()) {
    const loan = join(shared.loans, String(index));
    if (await take(loan)) return lend(server, loan);
  }
  hasLoan = false;
  return startNatsServer();
}

/** Returns false if another worker has it: creating a folder succeeds in only one process. */
async function take(loan: string): Promise<boolean> {
  try {
    await mkdir(loan);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

function lend(server: Shared, loan: string): NatsServer {
  const { url, monitor } = server;
  const refuse = (): never => {
    throw new Error('this server is shared: openNats({}) gives one that may be killed');
  };
  unclosed.add(title);
  let isBack = false;
  return {
    url,
    monitor,
    port: Number(new URL(url).port),
    kill: refuse,
    restart: refuse,
    get pid(): number {
      return refuse();
    },
    get storeDir(): string {
      return refuse();
    },
    async stop() {
      if (isBack) return;
      isBack = true;
      hasLoan = false;
      unclosed.delete(title);
      const left = await openConnections(monitor);
      // Do not lend it again, because it is not empty.
      if (left.length > 0)
        throw new Error(`still connected to NATS: ${left.map(({ name, port }) => name ?? `port ${port}`).join(', ')}`);
      await empty(url);
      await rmdir(loan);
    },
  };
}

/** Returns the connections that are still open after a while. */
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
