/**
 * TCP-like connections between processes and the NATS server: bytes arrive in order, late, or not at all once an end is
 * gone. A cut link holds bytes back; if it is repaired in time, they arrive after all.
 */
import type { Transport } from '@nats-io/nats-core/internal';
import type { Random } from './random.ts';
import type { Process, Scheduler } from './scheduler.ts';

/** Latency and state of one direction of a link. */
/** `slowUntilMs`: when the last slow bytes have arrived. */
export type Route = { latencyMs: number; cut: boolean; slowUntilMs: number };

type End = { readonly onData: (bytes: Uint8Array) => void; readonly onClose: () => void };

type Pipe = { send(bytes: Uint8Array): void; close(): void; heal(): void; loseTail(): void };

export type Link = {
  readonly client: Process;
  readonly toServer: Pipe;
  readonly toClient: Pipe;
  readonly routes: { readonly toServer: Route; readonly toClient: Route };
};

export type Network = {
  readonly links: ReadonlySet<Link>;
  /** The NATS transport for a process. */
  createTransport(client: Process): Transport;
  routesOf(client: Process): Link['routes'];
  /** Holds back bytes in one or both directions. An end that times out in the meantime closes the connection. */
  cut(client: Process, ways: { readonly toServer: boolean; readonly toClient: boolean }): void;
  heal(client: Process): void;
  /** Resets the connection; both ends notice at once. */
  reset(client: Process): void;
  /** Kills the process: bytes not yet sent are lost. */
  drop(client: Process): void;
};

/** The server at the other end, or null. */
export type Listener = {
  readonly process: Process;
  accept(link: Link): { readonly onData: (bytes: Uint8Array) => void; readonly onClose: () => void };
};

/** @param onSend called with the bytes that a process sends */
export function createNetwork(
  scheduler: Scheduler,
  random: Random,
  listener: () => Listener | null,
  onSend: (client: Process, frame: Uint8Array) => void,
): Network {
  const links = new Set<Link>();
  const routes = new Map<Process, Link['routes']>();
  const routesOf = (client: Process) => {
    const known = routes.get(client);
    if (known !== undefined) return known;
    const made = { toServer: createRoute(), toClient: createRoute() };
    routes.set(client, made);
    return made;
  };
  const linksOf = (client: Process) => [...links].filter((link) => link.client === client);
  const connect = (client: Process, server: Listener, atClient: End): Link => {
    const of = routesOf(client);
    const ends: { server: End | null } = { server: null };
    const forget = () => links.delete(link);
    const toServer = createPipe(scheduler, random, server.process, of.toServer, {
      onData: (bytes) => ends.server?.onData(bytes),
      onClose() {
        forget();
        ends.server?.onClose();
      },
    });
    const toClient = createPipe(scheduler, random, client, of.toClient, {
      onData: atClient.onData,
      onClose() {
        forget();
        atClient.onClose();
      },
    });
    const link: Link = { client, toServer, toClient, routes: of };
    links.add(link);
    scheduler.after(server.process, latency(random, of.toServer), () => {
      ends.server = server.accept(link);
    });
    return link;
  };
  return {
    links,
    routesOf,
    createTransport: (client) => createTransport({ client, scheduler, listener, routesOf, connect, onSend }),
    cut(client, ways) {
      routesOf(client).toServer.cut = ways.toServer;
      routesOf(client).toClient.cut = ways.toClient;
    },
    heal(client) {
      const of = routesOf(client);
      of.toServer.cut = false;
      of.toClient.cut = false;
      for (const { toServer, toClient } of linksOf(client)) {
        toServer.heal();
        toClient.heal();
      }
    },
    reset(client) {
      for (const { toServer, toClient } of linksOf(client)) {
        for (const pipe of [toServer, toClient]) {
          pipe.loseTail();
          pipe.close();
        }
      }
    },
    drop(client) {
      for (const { toServer } of linksOf(client)) {
        toServer.loseTail();
        toServer.close();
      }
    },
  };
}

const latency = (random: Random, { latencyMs }: Route) => random.spread(latencyMs, latencyMs * 4);

/** Null in the queue marks its end. */
function createPipe(scheduler: Scheduler, random: Random, receiver: Process, route: Route, end: End): Pipe {
  const queue: (Uint8Array | null)[] = [];
  let lastAtMs = 0;
  let ended = false;
  let held = 0;
  const deliver = () => {
    if (route.cut) {
      held += 1;
      return;
    }
    if (queue.length === 0) return;
    const next = queue.shift();
    if (next !== null && next !== undefined) end.onData(next);
    else end.onClose();
  };
  const push = (bytes: Uint8Array | null) => {
    if (ended) return;
    if (bytes === null) ended = true;
    queue.push(bytes);
    lastAtMs = Math.max(lastAtMs, scheduler.nowMs + latency(random, route));
    scheduler.after(receiver, lastAtMs - scheduler.nowMs, deliver);
  };
  return {
    send: (bytes) => push(bytes),
    close: () => push(null),
    heal() {
      for (; held > 0; held -= 1) scheduler.after(receiver, 0, deliver);
    },
    loseTail() {
      if (!ended && queue.length > 0 && random.chance(0.5)) queue.splice(random.int(0, queue.length - 1));
    },
  };
}

type Connect = (client: Process, server: Listener, atClient: End) => Link;

type TransportOptions = {
  readonly client: Process;
  readonly scheduler: Scheduler;
  readonly listener: () => Listener | null;
  readonly routesOf: Network['routesOf'];
  readonly connect: Connect;
  readonly onSend: (client: Process, frame: Uint8Array) => void;
};

function createTransport({ client, scheduler, listener, routesOf, connect, onSend }: TransportOptions): Transport {
  let link: Link | null = null;
  let done = false;
  let wake = () => {};
  let closed: (error?: Error) => void = () => {};
  const closing = new Promise<Error | undefined>((resolve) => {
    closed = resolve;
  });
  const received: Uint8Array[] = [];
  let parts = 0;
  const end = () => {
    if (done) return;
    done = true;
    link?.toServer.close();
    wake();
    closed();
  };
  async function* iterate() {
    while (!done) {
      for (let next = received.shift(); next !== undefined; next = received.shift()) yield next;
      if (done) return;
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
  }
  /** Splits bytes at random, like a socket. */
  const receive = (bytes: Uint8Array) => {
    parts += 1;
    const cut = (parts * 7_919) % (bytes.length + 1);
    received.push(...[bytes.subarray(0, cut), bytes.subarray(cut)].filter(({ length }) => length > 0));
    wake();
  };
  return {
    lang: 'simulation',
    version: '0.0.0',
    get isClosed() {
      return done;
    },
    isEncrypted: () => false,
    connect: () =>
      new Promise((resolve, reject) => {
        // A dial to an unreachable address times out; without a listener it is refused at once.
        scheduler.after(client, routesOf(client).toServer.cut ? 1_000 : 1, () => {
          const server = listener();
          const isCut = routesOf(client).toServer.cut || routesOf(client).toClient.cut;
          if (server === null || isCut || done) return reject(new Error('connection refused'));
          let isOpen = false;
          link = connect(client, server, {
            onData(bytes) {
              if (done) return;
              if (!isOpen) resolve();
              isOpen = true;
              receive(bytes);
            },
            onClose() {
              if (!isOpen) reject(new Error('connection reset'));
              end();
            },
          });
        });
      }),
    [Symbol.asyncIterator]: iterate,
    send(frame) {
      if (done) return;
      onSend(client, frame);
      link?.toServer.send(frame.slice());
    },
    disconnect: end,
    async close() {
      end();
    },
    closed: () => closing as Promise<Error>,
    discard: () => {
      done = true;
      link?.toServer.close();
      wake();
    },
  };
}

const createRoute = (): Route => ({ latencyMs: 0.2, cut: false, slowUntilMs: 0 });
