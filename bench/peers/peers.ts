/** All peers, in the order of the table, and how to open them. */
import type { NatsConnection } from '@nats-io/nats-core';
import { cpuUsOf } from '../process-cpu.ts';
import { openService } from './child-server.ts';
import {
  attempt,
  type NatsPeerContext,
  openBare,
  openFloor,
  openKeyValue,
  openStopgate,
  timeout,
  toolEvent,
} from './nats-peers.ts';
import { type Peer, PeerMissing } from './peer.ts';
import { openDatabase, openPostgres } from './postgres.ts';
import { openRestate } from './restate.ts';
import { openShell } from './shell.ts';

type Postgres = Awaited<ReturnType<typeof openPostgres>>;
/** Both Postgres peers share one server. */
type SharedPeerContext = NatsPeerContext & { postgres(): Promise<Postgres> };

const everyCommit = 'fsync at each commit';

const openers: Readonly<Record<string, (context: SharedPeerContext) => Promise<Peer>>> = {
  floor: openFloor,
  bare: openBare(false),
  'bare-fast': openBare(true),
  stopgate: openStopgate(false),
  'stopgate-fast': openStopgate(true),
  kv: openKeyValue,
  async postgres(context) {
    const { url, cpuUs } = await context.postgres();
    const { call, close } = openDatabase(context.cache, url);
    context.onClose(close);
    return {
      name: 'Postgres, called directly',
      durability: everyCommit,
      report: (worker) => call('report', worker, toolEvent),
      stop: (worker) => call('stop', worker, attempt),
      cpuUs: () => ({ service: 0, store: cpuUs() }),
    };
  },
  async 'postgres-nats'(context) {
    const { url, cpuUs } = await context.postgres();
    const pid = await openService(context, './postgres-service.js', context.url, url, context.cache);
    const ask = (nc: NatsConnection, call: string, worker: string, data: string) =>
      nc.request(`peer.postgres.${call}.nats-${worker}`, data, { timeout });
    return {
      name: 'Postgres behind NATS',
      durability: everyCommit,
      report: (worker) => ask(context.nc, 'report', worker, toolEvent),
      stop: (worker) => ask(context.nc, 'stop', worker, attempt),
      cpuUs: () => ({ service: cpuUsOf(pid), store: cpuUs() }),
    };
  },
  restate: openRestate,
  shell: openShell,
};
export const peerNames = Object.keys(openers);

export type Opened = { readonly peers: ReadonlyMap<string, Peer>; readonly missing: ReadonlyMap<string, string> };

/** @param onMissing called at once, since other installations may take minutes */
export async function openPeers(
  names: readonly string[],
  context: NatsPeerContext,
  onMissing: (text: string) => void,
): Promise<Opened> {
  let server: Promise<Postgres> | undefined;
  const postgres = () => {
    server ??= openPostgres(context);
    return server;
  };
  const peers = new Map<string, Peer>();
  const missing = new Map<string, string>();
  for (const name of names) {
    try {
      const peer = await openers[name]?.({ ...context, postgres });
      if (peer !== undefined) peers.set(name, peer);
    } catch (error) {
      if (!(error instanceof PeerMissing)) throw error;
      missing.set(name, error.message);
      onMissing(`${name} is left out: ${error.message}`);
    }
  }
  return { peers, missing };
}
