/** The cost of a fleet for the process that serves it: many fleets of many workers, compared with one that is empty. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { NatsConnection } from '@nats-io/nats-core';
import { connect } from '@nats-io/transport-node';
import { type Figure, figure } from './figures.ts';
import type { Probed } from './probe.ts';
import { runAtOnce } from './samples.ts';
import { type ServiceProcess, startServiceProcess } from './service-process.ts';

const fleetsCount = 100;
const workersCount = 1_000;
const decisionsCount = 12_000;
const idleMs = 20_000;

export async function measureFleets(url: string, scale: number): Promise<Figure[]> {
  const fleets = Array.from({ length: fleetsCount * scale }, (_, index) => `bench-${index}`);
  const nc = await connect({ servers: url });
  const folder = mkdtempSync(join(tmpdir(), 'stopgate-bench-'));
  const serve = (...args: string[]) => startServiceProcess({ url, cwd: folder, args, http: 'off', probed: true });
  try {
    const empty = await withService(serve('--fleet', 'bench-empty'), ({ probe }) => probe());
    await withService(serve('--fleets', fleets.join()), () => register(nc, fleets));
    return await withService(serve('--fleets', 'bench-*'), async ({ probe }) => {
      const started = await probe();
      await pause(idleMs * scale);
      const idle = await probe();
      const one = await cpuOf(probe, () => decide(nc, fleets.slice(0, 1), decisionsCount * scale));
      const all = await cpuOf(probe, () => decide(nc, fleets, decisionsCount * scale));
      const of = (bytes: number) => bytes / fleets.length;
      return [
        figure('a fleet of 1,000 workers: heap', of(idle.heapBytes - empty.heapBytes), 'B'),
        figure(`${fleets.length} such fleets in one process: memory`, idle.rssBytes, 'B'),
        figure('a fleet of 1,000 workers: CPU of its start', of(started.cpuMs - empty.cpuMs), 'ms'),
        figure(
          `${fleets.length} such fleets, idle: part of a core`,
          ((idle.cpuMs - started.cpuMs) / (idleMs * scale)) * 100,
          '%',
          { atMost: 10 },
        ),
        figure('CPU of a decision, all in one of the fleets', one / (decisionsCount * scale), 'ms'),
        figure(`CPU of a decision, spread over ${fleets.length} fleets / all in one`, all / one, 'x'),
      ];
    });
  } finally {
    await nc.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function withService<Result>(
  service: ServiceProcess,
  use: (service: ServiceProcess) => Promise<Result>,
): Promise<Result> {
  try {
    await service.ready;
    return await use(service);
  } finally {
    await service.close();
  }
}

async function register(nc: NatsConnection, fleets: readonly string[]): Promise<void> {
  for (const fleet of fleets) {
    for (let index = 0; index < workersCount; index += 1)
      nc.publish(`stopgate.${fleet}.worker.w${index}.worker.registered`, '{"agent":"bench"}');
    // The service folds this request's attempt after all earlier entries, so they are stored then.
    await nc.request(`stopgate.${fleet}.decide.w0`, '{}', { timeout: 30_000 });
  }
}

async function cpuOf(probe: () => Promise<Probed>, use: () => Promise<void>): Promise<number> {
  await use(); // warm
  const before = await probe();
  await use();
  return (await probe()).cpuMs - before.cpuMs;
}

function decide(nc: NatsConnection, fleets: readonly string[], total: number): Promise<void> {
  return runAtOnce(total, (index) => {
    const worker = `w${Math.floor(index / fleets.length) % workersCount}`;
    const subject = `stopgate.${fleets[index % fleets.length]}.decide.${worker}`;
    return nc.request(subject, '{"output":"done"}', { timeout: 30_000 });
  });
}
