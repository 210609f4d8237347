/** The peers on the bench's NATS server: the floor, the bare path, stopgate, and a hand-written key-value bucket. */
import { type JetStreamClient, jetstream, jetstreamManager } from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/nats-core';
import { createFastPath } from '../fast-path.ts';
import { cpuUsOf } from '../process-cpu.ts';
import type { Scene } from '../scene.ts';
import { openService } from './child-server.ts';
import type { Peer, PeerContext } from './peer.ts';

export const attempt = '{"output":"done"}';
export const toolEvent = '{"tool":"Bash","ok":true}';
export const timeout = 30_000;
/**
 * The server's default `sync_interval`. A record survives a crash of the process, but not always one of the machine.
 */
const natsFile = 'file, fsync every 2 min';

/** `scene` has the server, the service and the echo responder. */
export type NatsPeerContext = PeerContext & { readonly nc: NatsConnection; readonly scene: Scene };

type Opened = (context: NatsPeerContext) => Promise<Peer>;

const request = (nc: NatsConnection, subject: string, data: string) => nc.request(subject, data, { timeout });
const reportRaw = (js: JetStreamClient) => () => js.publish('bench.raw', toolEvent, { timeout });
const cpuOf = (scene: Scene, pid: number) => () => ({
  service: cpuUsOf(pid),
  store: cpuUsOf(scene.pids.server),
});

export const openFloor: Opened = async ({ nc, scene }) => {
  const js = jetstream(nc);
  await (await jetstreamManager(nc)).streams.add({ name: 'BENCH', subjects: ['bench.raw'], storage: 'file' });
  return {
    name: 'floor: echo + publish',
    durability: natsFile,
    report: reportRaw(js),
    async stop() {
      await request(nc, 'bench.echo', attempt);
      await js.publish('bench.raw', attempt, { timeout });
    },
    cpuUs: cpuOf(scene, scene.pids.echo),
  };
};

/** Turns the echo responder into the bare path too. It answers with the bytes of a decision of stopgate. */
export async function openBareResponder({ nc }: NatsPeerContext): Promise<void> {
  const decision = await request(nc, 'stopgate.main.decide.bare', attempt);
  await nc.request('bench.bare.open', decision.data, { timeout });
}

/** @param isFast use the fast path instead of a request */
export const openBare =
  (isFast: boolean): Opened =>
  async ({ nc, scene }) => {
    const publishFast = createFastPath(nc);
    return {
      name: isFast ? 'bare path, fast' : 'bare path',
      durability: natsFile,
      report: reportRaw(jetstream(nc)),
      stop: (worker) =>
        isFast ? publishFast(`bench.bare.log.${worker}`, worker) : request(nc, `bench.bare.decide.${worker}`, attempt),
      cpuUs: cpuOf(scene, scene.pids.echo),
    };
  };

export const openStopgate =
  (isFast: boolean): Opened =>
  async ({ nc, scene }) => {
    const js = jetstream(nc);
    const publishFast = createFastPath(nc);
    // Each of the two has its own workers.
    const idOf = (worker: string) => `${isFast ? 'fast' : 'asked'}-${worker}`;
    return {
      name: isFast ? 'stopgate, fast path' : 'stopgate',
      durability: natsFile,
      report: (worker) => js.publish(`stopgate.main.worker.${idOf(worker)}.tool.used`, toolEvent, { timeout }),
      stop: (worker) =>
        isFast
          ? publishFast(`stopgate.main.worker.${idOf(worker)}.stop.attempted`, idOf(worker))
          : request(nc, `stopgate.main.decide.${idOf(worker)}`, attempt),
      cpuUs: cpuOf(scene, scene.pids.service),
    };
  };

export const openKeyValue: Opened = async (context) => {
  const { nc, scene, url } = context;
  const pid = await openService(context, './kv-service.js', url);
  return {
    name: 'NATS KV, compare and set',
    durability: natsFile,
    report: reportRaw(jetstream(nc)),
    stop: (worker) => request(nc, `peer.kv.stop.${worker}`, attempt),
    cpuUs: cpuOf(scene, pid),
  };
};
