/** The axes along which cost may grow, and the measurement of a decision at one size. */
import { setTimeout as pause } from 'node:timers/promises';
import { jetstream, jetstreamManager } from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/nats-core';
import { connect } from '@nats-io/transport-node';
import { quantile } from '../figures.ts';
import { cpuUsOf } from '../process-cpu.ts';
import { sampleInTurn } from '../samples.ts';
import { openScene, type Scene } from '../scene.ts';
import { startServiceProcess } from '../service-process.ts';

export type Size = {
  readonly workers: number;
  readonly entries: number;
  readonly replicas: number;
  readonly fleets: number;
};

/** The sizes to try on each axis, with the others as in `ordinary`. `large` takes minutes and gigabytes. */
export const axes: Readonly<
  Record<keyof Size, { readonly sizes: readonly number[]; readonly large?: readonly number[] }>
> = {
  workers: { sizes: [10, 1_000, 100_000] },
  entries: { sizes: [10_000, 1_000_000], large: [10_000_000] },
  replicas: { sizes: [1, 2, 4] },
  fleets: { sizes: [1, 10, 100] },
};
export type Axis = keyof typeof axes;
const ordinary: Size = { workers: 1_000, entries: 0, replicas: 1, fleets: 1 };

/** Times in ms. CPU in microseconds of all replicas together. The floor is an echo and a publish in the same turns. */
export type Point = {
  readonly axis: Axis;
  readonly size: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly floorP50Ms: number;
  readonly floorP99Ms: number;
  readonly serviceUs: number;
  readonly serverUs: number;
  /** Time to store and fold the entries. */
  readonly fillMs: number;
  /** Load of the machine over the last minute. */
  readonly load: number;
};

const rounds = 40;
const perRound = 50;
const warmUps = 1_000;
const restMs = 10;
const chunk = 20_000;
const timeout = 60_000;
const attempt = '{"output":"done"}';

export async function measurePoint(axis: Axis, size: number, load: () => number): Promise<Point> {
  const all: Size = { ...ordinary, [axis]: size };
  const fleets = Array.from({ length: all.fleets }, (_, index) => (all.fleets === 1 ? 'main' : `growth-${index}`));
  const scene = await openScene({ args: all.fleets === 1 ? [] : ['--fleets', fleets.join()] });
  const others = Array.from({ length: all.replicas - 1 }, (_, index) =>
    startServiceProcess({ url: scene.url, cwd: scene.folder, args: ['--replica', `other-${index}`] }),
  );
  const nc = await connect({ servers: scene.url });
  try {
    for (const { ready } of others) await ready;
    const startedMs = performance.now();
    await fill(nc, fleets, all);
    const fillMs = performance.now() - startedMs;
    const services = [scene.pids.service, ...others.map(({ pid }) => pid)];
    return {
      axis,
      size,
      fillMs,
      load: load(),
      ...(await measure({ nc, scene, fleets, services, workers: all.workers })),
    };
  } finally {
    await nc.close();
    for (const each of others) await each.close();
    await scene.close();
  }
}

/** Publishes all workers, then their entries in turn. Resolves once they are folded. */
async function fill(nc: NatsConnection, fleets: readonly string[], { workers, entries }: Size): Promise<void> {
  const fleetOf = (index: number) => fleets[index % fleets.length];
  const total = Math.max(workers, entries);
  const subjects = Array.from({ length: workers }, (_, index) => `stopgate.${fleetOf(index)}.worker.w${index}`);
  for (let from = 0; from < total; from += chunk) {
    for (let index = from; index < Math.min(total, from + chunk); index += 1) {
      const worker = subjects[index % workers];
      if (index < workers) nc.publish(`${worker}.worker.registered`, '{"agent":"bench"}');
      else nc.publish(`${worker}.heartbeat.sent`, '{}');
    }
    await nc.flush();
    // Wait until they are stored: a server drops messages that it cannot store, and single ones are not acknowledged.
    await waitUntilStored(nc, fleets[0] ?? '', Math.floor(Math.min(total, from + chunk) / fleets.length));
  }
  for (const fleet of fleets) {
    // The service refuses requests while it is behind.
    while (!(await isDecided(nc, `stopgate.${fleet}.decide.w${fleets.indexOf(fleet)}`))) await pause(200);
  }
}

async function waitUntilStored(nc: NatsConnection, fleet: string, count: number): Promise<void> {
  const manager = await jetstreamManager(nc, { checkAPI: false });
  while ((await manager.streams.info(`STOPGATE_${fleet}`)).state.messages < count) await pause(5);
}

async function isDecided(nc: NatsConnection, subject: string): Promise<boolean> {
  const reply = await nc.request(subject, attempt, { timeout }).catch(() => null);
  return reply !== null && (reply.headers?.get('Nats-Service-Error-Code') ?? '') === '';
}

type Measuring = {
  readonly nc: NatsConnection;
  readonly scene: Scene;
  readonly fleets: readonly string[];
  readonly services: readonly number[];
  readonly workers: number;
};
type Costs = Omit<Point, 'axis' | 'size' | 'fillMs' | 'load'>;

async function measure({ nc, scene, fleets, services, workers }: Measuring): Promise<Costs> {
  const js = jetstream(nc);
  await (await jetstreamManager(nc)).streams.add({ name: 'BENCH', subjects: ['bench.raw'], storage: 'file' });
  let count = 0;
  const operations = {
    async floor() {
      await nc.request('bench.echo', attempt, { timeout });
      await js.publish('bench.raw', attempt, { timeout });
    },
    decide() {
      count += 1;
      // Spread widely, so that all parts of a large fleet are touched.
      const index = (count * 7_919) % workers;
      return nc.request(`stopgate.${fleets[index % fleets.length]}.decide.w${index}`, attempt, { timeout });
    },
  };
  const cpu = { service: 0, server: 0 };
  const took = await sampleInTurn(operations, { rounds, perRound, warmUps }, async (name, moment) => {
    if (name !== 'decide') return;
    if (moment === 'after') await pause(restMs);
    const sign = moment === 'after' ? 1 : -1;
    cpu.service += sign * services.reduce((sum, pid) => sum + cpuUsOf(pid), 0);
    cpu.server += sign * cpuUsOf(scene.pids.server);
  });
  return {
    p50Ms: quantile(took.decide, 0.5),
    p99Ms: quantile(took.decide, 0.99),
    floorP50Ms: quantile(took.floor, 0.5),
    floorP99Ms: quantile(took.floor, 0.99),
    serviceUs: cpu.service / (rounds * perRound),
    serverUs: cpu.server / (rounds * perRound),
  };
}
